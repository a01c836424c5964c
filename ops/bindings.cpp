// SPDX-License-Identifier: Apache-2.0
#include "ops/bindings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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
    for (Word w = next(); !w.text.empty() && !diagnostics_.failed(); w = next()) parse_word(w);
    for (size_t i = 0; i < d_.dims.size() && !diagnostics_.failed(); ++i) check_dim(i);
    return std::move(b_);
  }

 private:
  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
  }

  /// Every dim is given, and one that is known only at the call can be told from a tensor's shape.
  void check_dim(size_t i) {
    const std::string& name = d_.dims[i];
    if (!b_.dims[i]) {
      const int end = static_cast<int>(text_.size());
      error({end, end},
            "the dim `{}` is not given; add `{}=128`, or a range known at the call, `{}=1..512`",
            name, name, name);
    } else if (b_.dims[i]->lo < b_.dims[i]->hi) {
      for (const Argument& a : d_.args) {
        for (const Term& t : a.shape) {
          if (t.kind == Term::kName && t.name == name) return;
        }
      }
      error(dim_spans_[i],
            "no tensor has an extent that is just `{}`, so a call cannot tell it; give it a value",
            name);
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

  std::optional<int64_t> number(Word w) {
    int64_t value = 0;
    const char* end = w.text.data() + w.text.size();
    const auto [stop, ec] = std::from_chars(w.text.data(), end, value);
    if (ec == std::errc() && stop == end && !w.text.empty()) return value;
    error(w.span(), "an integer is expected here");
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

  void parse_word(Word w) {
    const size_t at = w.text.find_first_of("=@");
    if (at == std::string_view::npos) {
      error(w.span(), "a binding is `KEY=value` or `TENSOR@dims`; {}", accepted());
      return;
    }
    const Word key = w.from(0, at), value = w.from(at + 1);
    if (w.text[at] == '@') return parse_order(key, value);
    const size_t dot = key.text.find('.');
    if (dot != std::string_view::npos) return parse_property(key, dot, value);
    if (key.text == "const") return parse_const(value);
    if (key.text == "align") return parse_align_all(value);
    if (key.text == "numerics") return parse_numerics(value);
    for (size_t i = 0; i < d_.dims.size(); ++i) {
      if (d_.dims[i] == key.text) return parse_dim(i, w, value);
    }
    for (size_t i = 0; i < d_.params.size(); ++i) {
      if (d_.params[i].name == key.text) return parse_param(i, w, value);
    }
    error(key.span(), "`{}` has nothing named `{}`; {}", d_.name, key.text, accepted());
  }

  std::string accepted() const {
    std::string names;
    for (const std::string& dim : d_.dims) names += dim + "= ";
    for (const Param& p : d_.params) names += p.name + "= ";
    return "accepted here: " + names +
           "const= align= numerics= TENSOR@dims TENSOR.stride= "
           "TENSOR.align=";
  }

  void parse_dim(size_t i, Word all, Word value) {
    if (b_.dims[i]) return error(all.span(), "`{}` is given twice", d_.dims[i]);
    ir::Dim dim;
    dim.name = d_.dims[i];
    const size_t dots = value.text.find("..");
    const auto lo = number(dots == std::string_view::npos ? value : value.from(0, dots));
    const auto hi = dots == std::string_view::npos ? lo : number(value.from(dots + 2));
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
      parse_points(dim, next());
    }
    b_.dims[i] = std::move(dim);
    dim_spans_[i] = all.span();
  }

  void parse_points(ir::Dim& dim, Word list) {
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
      return error(value.span(),
                   "`{}` is a dtype: f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool are accepted", p.name);
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
    std::string names;
    for (const Argument& a : d_.args) names += a.scalar ? "" : " " + a.name;
    error(name.span(), "`{}` has no tensor `{}`; tensors are{}", d_.name, name.text, names);
    return -1;
  }

  void parse_const(Word value) {
    for (const Word& part : split(value)) {
      const int i = tensor(part);
      if (i < 0) return;
      if (d_.args[i].role != ir::Role::kInput) {
        return error(part.span(), "`{}` is written and cannot be constant", part.text);
      }
      b_.layouts[i].constant = true;
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

  void parse_numerics(Word value) {
    if (value.text.empty()) {
      error(value.span(), "`numerics=` takes `any`, `seq` or the text of a class");
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

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& p : parts) out += (out.empty() ? "" : ",") + p;
  return out;
}

void print_layouts(const Definition& d, const Bindings& b, std::string& out) {
  std::vector<std::string> constants;
  bool one_align = true;
  int64_t align = -1;
  for (size_t i = 0; i < d.args.size(); ++i) {
    const Argument& a = d.args[i];
    const TensorLayout& l = b.layouts[i];
    if (a.scalar) continue;
    one_align &= align < 0 || align == l.align;
    align = l.align;
    if (l.constant) constants.push_back(a.name);
    std::vector<std::string> parts;
    for (const int dim : l.order) parts.push_back(axis_name(a, dim));
    if (!parts.empty()) out += " " + a.name + "@" + joined(parts);
    parts.clear();
    for (const int64_t s : l.strides) parts.push_back(s == kOpenStride ? "?" : std::to_string(s));
    if (!parts.empty()) out += " " + a.name + ".stride=(" + joined(parts) + ")";
  }
  for (size_t i = 0; i < d.args.size(); ++i) {
    if (one_align || b.layouts[i].align == 0) continue;
    out += fmt::format(" {}.align={}", d.args[i].name, b.layouts[i].align);
  }
  if (!constants.empty()) out += " const=" + joined(constants);
  if (one_align && align > 0) out += fmt::format(" align={}", align);
}

}  // namespace

std::string axis_name(const Argument& a, size_t i) {
  const auto symbol = [&](size_t k) {
    return a.shape[k].kind == Term::kName ? a.shape[k].name : std::string();
  };
  bool unique = !symbol(i).empty();
  for (size_t k = 0; k < a.shape.size(); ++k) unique &= k == i || symbol(k) != symbol(i);
  return unique ? symbol(i) : fmt::format("d{}", i);
}

Bindings parse_bindings(const Definition& d, Diagnostics& diagnostics, int begin) {
  return BindingParser(d, diagnostics, begin).run();
}

std::string print(const Definition& d, const Bindings& b) {
  std::string out;
  for (const auto& dim : b.dims) {
    out += " " + dim->name + "=" + std::to_string(dim->lo);
    if (dim->lo == dim->hi) continue;
    out += ".." + std::to_string(dim->hi);
    std::vector<std::string> points;
    for (const int64_t p : dim->at) points.push_back(std::to_string(p));
    if (!points.empty()) out += " at " + joined(points);
  }
  for (size_t i = 0; i < d.params.size(); ++i) {
    const Param& p = d.params[i];
    if (b.types[i] && *b.types[i] != p.type) {
      out += fmt::format(" {}={}", p.name, name_of(*b.types[i]));
    }
    if (b.ints[i] && *b.ints[i] != p.value) out += fmt::format(" {}={}", p.name, *b.ints[i]);
  }
  print_layouts(d, b, out);
  if (b.numerics != "any") out += " numerics=" + b.numerics;
  return out;
}

Binding binding_of(const Definition& d, const Bindings& b) {
  Binding out;
  for (size_t i = 0; i < d.params.size(); ++i) {
    out.types.push_back(b.types[i].value_or(d.params[i].type));
    out.ints.push_back(ir::make_int(b.ints[i].value_or(d.params[i].value)));
  }
  for (const auto& dim : b.dims) {
    if (dim->lo == dim->hi) {
      out.dims.push_back(ir::make_int(dim->lo));
    } else {
      out.dims.push_back(ir::make_dim(dim->name));
      out.ranged.push_back(*dim);
    }
  }
  return out;
}

}  // namespace hone::ops
