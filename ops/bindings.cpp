// SPDX-License-Identifier: Apache-2.0
#include "ops/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "jit/ir/spelling.h"
#include "ops/foreign.h"

namespace hone::ops {
namespace {

constexpr int64_t kMaxDim = int64_t{1} << 47;
constexpr int64_t kMaxParam = int64_t{1} << 31;
constexpr size_t kMaxPoints = 64;  // values after `at`

/// A piece of the problem's text and where it lies.
struct Word {
  std::string_view text;
  int begin = 0;
  Span span() const { return {begin, begin + static_cast<int>(text.size())}; }
  Word from(size_t at, size_t count = std::string_view::npos) const {
    return {text.substr(at, count), begin + static_cast<int>(at)};
  }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class BindingParser {
 public:
  BindingParser(const Definition& d, Diagnostics& diagnostics, int begin)
      : d_(d), diagnostics_(diagnostics), text_(diagnostics.source().text), at_(begin) {
    b_.dims.resize(d.dims.size());
    b_.types.resize(d.params.size());
    b_.ints.resize(d.params.size());
    b_.layouts.resize(d.args.size());
    dim_spans_.resize(d.dims.size());
  }

  Bindings run() {
    for (Word w = next(); !w.text.empty(); w = next()) parse_words(w);
    const bool sure = !diagnostics_.failed();
    std::vector<std::string> missing;
    for (size_t i = 0; i < d_.dims.size(); ++i) {
      if (!b_.dims[i]) missing.push_back(d_.dims[i]);
      if (b_.dims[i] && b_.dims[i]->lo < b_.dims[i]->hi) check_range(i);
    }
    if (!missing.empty()) tell_missing(missing, sure);
    return std::move(b_);
  }

 private:
  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
  }

  /// A dim that is known only at the call can be told from a tensor's shape.
  void check_range(size_t i) {
    const std::string& name = d_.dims[i];
    for (const Argument& a : d_.args) {
      for (const Term& t : a.shape) {
        if (t.kind == Term::kName && t.name == name) return;
      }
    }
    error(dim_spans_[i],
          "no tensor has an extent that is just `{}`, so a call cannot tell it; give it a value",
          name);
  }

  /// Every dim is given; one that is not may be what another word was meant to be.
  void tell_missing(const std::vector<std::string>& names, bool sure) {
    const int end = static_cast<int>(text_.size());
    const std::string message = fmt::format(
        "the dim{} `{}` {} not given; add `{}=128`, or a range known at the call, `{}=1..512`",
        names.size() > 1 ? "s" : "", fmt::join(names, "`, `"), names.size() > 1 ? "are" : "is",
        names[0], names[0]);
    if (sure) {
      diagnostics_.error({end, end}, message);
    } else {
      diagnostics_.consequence({end, end}, message);
    }
  }

  Word peek() const {
    int from = at_;
    const int size = static_cast<int>(text_.size());
    while (from < size && is_space(text_[from])) ++from;
    int to = from;
    while (to < size && !is_space(text_[to])) ++to;
    return {text_.substr(from, to - from), from};
  }

  Word next() {
    const Word w = peek();
    at_ = w.span().end;
    return w;
  }

  std::optional<int64_t> number(Word w, std::string_view what = "an integer is expected here") {
    int64_t value = 0;
    const char* end = w.text.data() + w.text.size();
    const auto [stop, ec] = std::from_chars(w.text.data(), end, value);
    if (ec == std::errc() && stop == end && !w.text.empty()) return value;
    error(w.span(), "{}", what);
    return std::nullopt;
  }

  std::vector<Word> split(Word w) const {
    std::vector<Word> parts;
    size_t from = 0;
    for (size_t i = 0; i <= w.text.size(); ++i) {
      if (i < w.text.size() && w.text[i] != ',') continue;
      parts.push_back(w.from(from, i - from));
      from = i + 1;
    }
    return parts;
  }

  /// Where a comma ends a binding, as in `M=64,N=64` or `M=64,`: bindings have spaces between.
  static size_t comma_between(std::string_view text) {
    if (text.starts_with("numerics=")) return text.ends_with(',') ? text.size() - 1 : text.npos;
    for (size_t i = text.find(','); i != text.npos; i = text.find(',', i + 1)) {
      const std::string_view rest = text.substr(i + 1, text.find(',', i + 1) - i - 1);
      const bool in_strides = text.find('(') < i && text.find(')') > i;
      if (in_strides) continue;
      if (text.size() == i + 1 || rest.find_first_of("=@") != rest.npos) return i;
    }
    return text.npos;
  }

  void parse_words(Word w) {
    const size_t comma = comma_between(w.text);
    const Word first = w.from(0, comma);
    if (!first.text.empty()) parse_word(first);
    if (comma == w.text.npos) return;
    error(w.from(comma, 1).span(), "bindings have spaces between; leave the `,` out");
    const Word rest = w.from(comma + 1);
    if (!rest.text.empty()) parse_words(rest);
  }

  /// Takes a dim as given that a wrong word was meant to give.
  void presume(std::string_view key) {
    const std::string meant = ir::nearest_word(key, d_.dims);
    for (size_t i = 0; i < d_.dims.size(); ++i) {
      if ((d_.dims[i] == key || d_.dims[i] == meant) && !b_.dims[i]) b_.dims[i] = ir::Dim{};
    }
  }

  /// `M = 64`, `M =64` and `M= 64`: says so, and takes all of it.
  bool is_spaced(Word w) {
    const Word after = peek();
    const bool sign_follows = after.text.starts_with("=") && w.text.find('=') == w.text.npos;
    const bool value_follows = w.text.ends_with('=') && !after.text.empty() &&
                               after.text.find_first_of("=@") == after.text.npos;
    if (!sign_follows && !value_follows) return false;
    const Word last = after.text == "=" ? (next(), next()) : next();
    const Word key = w.from(0, w.text.find('='));
    const Word value = last.from(last.text.starts_with("=") ? 1 : 0);
    error({w.begin, last.span().end}, "no spaces stand around `=`; write `{}={}`", key.text,
          value.text);
    presume(key.text);
    return true;
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> words = {"const", "cold", "align", "numerics"};
    words.insert(words.end(), d_.dims.begin(), d_.dims.end());
    for (const Param& p : d_.params) words.push_back(p.name);
    return words;
  }

  void parse_word(Word w) {
    if (is_spaced(w)) return;
    const size_t at = w.text.find_first_of("=@");
    if (at == std::string_view::npos) {
      const size_t colon = w.text.find(':');
      error(w.span(), "a binding is `KEY=value` or `TENSOR@dims`{}; {}",
            colon == w.text.npos
                ? ""
                : fmt::format(", as in `{}={}`", w.text.substr(0, colon), w.text.substr(colon + 1)),
            accepted());
      presume(w.text.substr(0, colon));
      return;
    }
    const Word key = w.from(0, at), value = w.from(at + 1);
    if (w.text[at] == '@') return parse_order(key, value);
    const size_t dot = key.text.find('.');
    if (dot != std::string_view::npos) return parse_property(key, dot, value);
    if (key.text == "const") return parse_const(value);
    if (key.text == "cold") return parse_cold(value);
    if (key.text == "align") return parse_align_all(value);
    if (key.text == "numerics") return parse_numerics(value);
    for (size_t i = 0; i < d_.dims.size(); ++i) {
      if (d_.dims[i] == key.text) return parse_dim(i, w, value);
    }
    for (size_t i = 0; i < d_.params.size(); ++i) {
      if (d_.params[i].name == key.text) return parse_param(i, w, value);
    }
    const std::string_view plain = key.text.substr(std::min(key.text.find_first_not_of('-'), at));
    const std::vector<std::string> words = keys();
    const bool dashed = std::find(words.begin(), words.end(), plain) != words.end();
    error(key.span(), "`{}` has nothing named `{}`{}; {}", d_.name, key.text,
          dashed ? fmt::format("; did you mean `{}`?", plain) : ir::did_you_mean(plain, words),
          accepted());
    presume(plain);
  }

  std::string accepted() const {
    std::string names;
    for (const std::string& dim : d_.dims) names += dim + "= ";
    for (const Param& p : d_.params) names += p.name + "= ";
    return "accepted here: " + names +
           "const= cold= align= numerics= TENSOR@dims TENSOR.stride= "
           "TENSOR.align=";
  }

  void parse_dim(size_t i, Word all, Word value) {
    if (b_.dims[i]) return error(all.span(), "`{}` is given twice", d_.dims[i]);
    ir::Dim dim;
    dim.name = d_.dims[i];
    const size_t dots = value.text.find("..");
    constexpr std::string_view kWhat = "a dim is an integer or a range `lo..hi`";
    const auto lo = number(dots == std::string_view::npos ? value : value.from(0, dots), kWhat);
    const auto hi = dots == std::string_view::npos ? lo : number(value.from(dots + 2), kWhat);
    b_.dims[i] = dim;  // given, be it wrongly
    if (!lo || !hi) return;
    if (*lo < 0 || *hi < *lo || *hi > kMaxDim) {
      return error(value.span(),
                   "a dim is 0 or more and at most 2^47, and a range `lo..hi` "
                   "(both included) does not decrease");
    }
    dim.lo = *lo;
    dim.hi = *hi;
    if (peek().text == "at") {
      next();
      Word list = next();
      while (list.text.ends_with(',') && !peek().text.empty()) {
        list.text = text_.substr(list.begin, next().span().end - list.begin);
      }
      parse_points(dim, list);
    }
    b_.dims[i] = std::move(dim);
    dim_spans_[i] = all.span();
  }

  void parse_points(ir::Dim& dim, Word list) {
    if (list.text.find_first_of(" \t\n") != list.text.npos) {
      return error(list.span(), "no spaces stand in a list; write `at 1,8,64`");
    }
    for (const Word& part : split(list)) {
      const auto point = number(part);
      if (!point) return;
      if (*point < dim.lo || *point > dim.hi) {
        return error(part.span(), "{} lies outside of {}={}..{}", *point, dim.name, dim.lo, dim.hi);
      }
      dim.at.push_back(*point);
    }
    std::sort(dim.at.begin(), dim.at.end());
    dim.at.erase(std::unique(dim.at.begin(), dim.at.end()), dim.at.end());
    if (dim.at.size() > kMaxPoints) error(list.span(), "at most 64 values stand after `at`");
    if (dim.lo == dim.hi) dim.at.clear();
  }

  void parse_param(size_t i, Word all, Word value) {
    const Param& p = d_.params[i];
    if (b_.types[i] || b_.ints[i]) return error(all.span(), "`{}` is given twice", p.name);
    if (p.is_type) {
      b_.types[i] = dtype_named(value.text);
      if (b_.types[i]) return;
      return error(value.span(), "`{}` is a dtype: {} are accepted{}", p.name,
                   spaced(dtype_words()), dtype_hint(value.text));
    }
    const auto v = number(value);
    if (!v) return;
    if (*v > kMaxParam || *v < -kMaxParam) {
      return error(value.span(), "an integer parameter lies within -2^31..2^31");
    }
    b_.ints[i] = *v;
  }

  /// The argument of that name, which must be a tensor.
  int tensor(Word name) {
    for (size_t i = 0; i < d_.args.size(); ++i) {
      if (d_.args[i].name == name.text && !d_.args[i].scalar) return static_cast<int>(i);
    }
    std::vector<std::string> names;
    for (const Argument& a : d_.args) {
      if (!a.scalar) names.push_back(a.name);
    }
    error(name.span(), "`{}` has no tensor `{}`; tensors are {}{}", d_.name, name.text,
          spaced(names), ir::did_you_mean(name.text, names));
    return -1;
  }

  void parse_const(Word value) {
    for (const Word& part : split(value)) {
      const int i = tensor(part);
      if (i < 0) continue;
      if (d_.args[i].role == ir::Role::kInput) {
        b_.layouts[i].constant = true;
      } else {
        error(part.span(), "`{}` is written and cannot be constant", part.text);
      }
    }
  }

  /// Names of tensors that are read.
  std::vector<std::string> readable() const {
    std::vector<std::string> names;
    for (const Argument& a : d_.args) {
      if (!a.scalar && a.role != ir::Role::kOutput) names.push_back(a.name);
    }
    return names;
  }

  void parse_cold(Word value) {
    for (const Word& part : split(value)) {
      const int i = tensor(part);
      if (i < 0) continue;
      if (d_.args[i].role != ir::Role::kOutput) {
        b_.layouts[i].cold = true;
        continue;
      }
      const std::vector<std::string> names = readable();
      error(part.span(), "`{}` is not read, and `cold=` says where tensors are read from{}",
            part.text, names.empty() ? "" : "; it takes " + spaced(names));
    }
  }

  std::optional<int64_t> alignment(Word value) {
    const auto bytes = number(value);
    if (!bytes) return std::nullopt;
    if (*bytes < 1 || *bytes > 4096 || (*bytes & (*bytes - 1)) != 0) {
      error(value.span(), "an alignment is a power of two of bytes, 1 to 4096");
      return std::nullopt;
    }
    return bytes;
  }

  void parse_align_all(Word value) {
    const auto bytes = alignment(value);
    if (!bytes) return;
    for (size_t i = 0; i < d_.args.size(); ++i) {
      if (!d_.args[i].scalar && b_.layouts[i].align == 0) b_.layouts[i].align = *bytes;
    }
  }

  void parse_property(Word key, size_t dot, Word value) {
    const int i = tensor(key.from(0, dot));
    if (i < 0) return;
    const Word property = key.from(dot + 1);
    if (property.text == "stride") return parse_strides(i, value);
    if (property.text != "align") {
      return error(property.span(), "a tensor has `.stride=(...)` and `.align=bytes`");
    }
    if (const auto bytes = alignment(value)) b_.layouts[i].align = *bytes;
  }

  void parse_strides(int i, Word value) {
    TensorLayout& layout = b_.layouts[i];
    const size_t rank = d_.args[i].shape.size();
    if (value.text.size() < 2 || value.text.front() != '(' || value.text.back() != ')') {
      return error(value.span(),
                   "strides are `(...)`: one per dim, in elements, `?` for one given "
                   "at the call, no spaces");
    }
    if (!layout.order.empty() || !layout.strides.empty()) {
      return error(value.span(), "the storage of `{}` is given twice", d_.args[i].name);
    }
    const auto parts = split(value.from(1, value.text.size() - 2));
    if (parts.size() != rank) {
      return error(value.span(), "`{}` has {} dims and {} strides are given", d_.args[i].name, rank,
                   parts.size());
    }
    for (const Word& part : parts) {
      const auto stride = part.text == "?" ? kOpenStride : number(part);
      if (!stride) return;
      if (part.text != "?" && (*stride < 0 || *stride > kMaxDim)) {
        return error(part.span(), "a stride is 0 or more and at most 2^47 elements");
      }
      layout.strides.push_back(*stride);
    }
    layout.strides_span = value.span();
  }

  void parse_order(Word name, Word value) {
    const int i = tensor(name);
    if (i < 0) return;
    const Argument& a = d_.args[i];
    TensorLayout& layout = b_.layouts[i];
    if (!layout.order.empty() || !layout.strides.empty()) {
      return error(value.span(), "the storage of `{}` is given twice", a.name);
    }
    std::string names;
    for (size_t k = 0; k < a.shape.size(); ++k) names += (k ? "," : "") + axis_name(a, k);
    for (const Word& part : split(value)) {
      int dim = -1;
      for (size_t k = 0; k < a.shape.size(); ++k) {
        if (part.text == axis_name(a, k) || part.text == fmt::format("d{}", k)) {
          dim = static_cast<int>(k);
        }
      }
      if (dim < 0 || std::count(layout.order.begin(), layout.order.end(), dim)) {
        return error(part.span(), "the dims of `{}` are {}; each stands once, outermost first",
                     a.name, names);
      }
      layout.order.push_back(dim);
    }
    if (layout.order.size() != a.shape.size()) {
      error(value.span(), "all dims of `{}` stand here: {}", a.name, names);
    }
  }

  /// Is `text` of the form of a numerics class: `S:order` for sums of this op, joined by `;`?
  bool is_class(std::string_view text) const {
    for (bool more = true; more;) {
      const size_t end = text.find(';');
      const std::string_view part = text.substr(0, end);
      const std::string_view stage = part.substr(0, part.find(':'));
      const std::string_view statement = stage.substr(0, stage.find('.'));
      const auto named = [&](const Statement& s) { return s.name == statement; };
      if (stage.size() == part.size() ||
          std::none_of(d_.statements.begin(), d_.statements.end(), named)) {
        return false;
      }
      more = end != text.npos;
      if (more) text.remove_prefix(end + 1);
    }
    return true;
  }

  void parse_numerics(Word value) {
    const std::vector<std::string> words = {"any", "seq", "exact", "normwise"};
    const bool known = std::find(words.begin(), words.end(), value.text) != words.end();
    if (!known && !is_class(value.text)) {
      error(value.span(),
            "`numerics=` takes `any` (the default), `seq` (every sum in the order of its "
            "definition), `normwise` (errors are small beside the largest elements), or a class "
            "that `hone run` prints, such as `{}:seq`{}",
            d_.statements.empty() ? "Y" : d_.statements.back().name,
            ir::did_you_mean(value.text, words));
      return;
    }
    b_.numerics = value.text;
  }

  const Definition& d_;
  Diagnostics& diagnostics_;
  std::string_view text_;
  int at_;
  Bindings b_;
  std::vector<Span> dim_spans_;
};

}  // namespace

Bindings parse_bindings(const Definition& d, Diagnostics& diagnostics, int begin) {
  return BindingParser(d, diagnostics, begin).run();
}

}  // namespace hone::ops
