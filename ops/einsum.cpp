// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "ops/parser.h"

namespace hone::ops {
namespace {

constexpr std::string_view kWord = "einsum";
constexpr std::string_view kBlanks = " \t\r\n";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The letters of one tensor, and where each stands.
struct Letters {
  std::string text;
  std::vector<int> at;
  Span span;
};

/// Reads `ij,jk->ik`, with spaces anywhere, to the first word with `=` or to the quote that closes.
class Reader {
 public:
  Reader(Diagnostics& diagnostics, size_t begin)
      : diagnostics_(diagnostics), text_(diagnostics.source().text), at_(begin) {}

  bool read() {
    skip_spaces();
    quoted_ = at_ < text_.size() && text_[at_] == '"';
    if (quoted_) ++at_;
    end_ = end_of_letters();
    const size_t begin = at_;
    operands.emplace_back();
    for (; at_ < end_; ++at_) {
      if (!read_sign()) return false;
    }
    for (Letters& l : operands) {
      if (l.text.empty()) l.span = {static_cast<int>(begin), static_cast<int>(end_)};
    }
    if (quoted_) ++at_;
    return true;
  }

  std::vector<Letters> operands;
  Letters result;
  bool has_result = false;
  /// Where what follows begins.
  int end() const { return static_cast<int>(at_); }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && kBlanks.find(text_[at_]) != kBlanks.npos) ++at_;
  }

  size_t end_of_letters() const {
    if (quoted_) return std::min(text_.find('"', at_), text_.size());
    const size_t binding = text_.find('=', at_);
    if (binding == text_.npos) return text_.size();
    const size_t word = text_.find_last_of(kBlanks, binding);
    return word == text_.npos || word < at_ ? at_ : word;
  }

  bool read_sign() {
    const char c = text_[at_];
    const Span here = {static_cast<int>(at_), static_cast<int>(at_) + 1};
    Letters& now = has_result ? result : operands.back();
    if (is_letter(c)) {
      now.text += c;
      now.at.push_back(here.begin);
      now.span = now.text.size() == 1 ? here : cover(now.span, here);
    } else if (c == ',' && !has_result) {
      operands.emplace_back();
    } else if (c == '-' && at_ + 1 < end_ && text_[at_ + 1] == '>' && !has_result) {
      has_result = true;
      ++at_;
    } else if (kBlanks.find(c) == kBlanks.npos) {
      const std::string_view hint =
          c == '.' ? "; there is no `...`: give each dim a letter" : std::string_view();
      return error(here,
                   fmt::format("letters, `,` and one `->` stand here, as in `ij,jk->ik`{}", hint));
    }
    return true;
  }

  bool error(Span span, std::string message) {
    diagnostics_.error(span, std::move(message), ErrorCode::kSyntax);
    return false;
  }

  Diagnostics& diagnostics_;
  const std::string_view text_;
  size_t at_;
  size_t end_ = 0;
  bool quoted_ = false;
};

/// Without `->` the letters that stand once, in the order of the alphabet, capitals first.
std::string implicit_result(const std::vector<Letters>& operands) {
  std::map<char, int> count;
  for (const Letters& l : operands) {
    for (const char c : l.text) ++count[c];
  }
  std::string out;
  for (const auto& [letter, times] : count) {
    if (times == 1) out += letter;
  }
  return out;
}

bool check(const Reader& r, Diagnostics& diagnostics) {
  std::string all;
  for (const Letters& l : r.operands) all += l.text;
  const auto error = [&](Span span, std::string message) {
    diagnostics.error(span, std::move(message));
    return false;
  };
  for (size_t i = 0; i < r.result.text.size(); ++i) {
    const char c = r.result.text[i];
    const Span here = {r.result.at[i], r.result.at[i] + 1};
    if (all.find(c) == all.npos) {
      return error(here, fmt::format("no operand has `{}`; the result has letters of theirs", c));
    }
    if (r.result.text.find(c) < i) {
      return error(here, fmt::format("`{}` stands twice in the result", c));
    }
  }
  for (const Letters& l : r.operands) {
    if (l.text.size() > kMaxRank) return error(l.span, "a tensor has at most 12 dims");
  }
  if (r.operands.size() >= kMaxArgs)
    return error(r.operands.back().span, "an op takes 128 arguments");
  return true;
}

/// Letter `b` is index `b` and dim `B`; a capital `B`, that both may stand in a text, `bb` and
/// `BB`.
std::string index_of(char c) {
  return c >= 'a' ? std::string(1, c) : std::string(2, static_cast<char>(c - 'A' + 'a'));
}
std::string dim_of(char c) {
  return c >= 'a' ? std::string(1, static_cast<char>(c - 'a' + 'A')) : std::string(2, c);
}

std::string joined(const std::string& letters, std::string (*name)(char)) {
  std::string out;
  for (const char c : letters) out += (out.empty() ? "" : ",") + name(c);
  return out;
}

std::string op_text(const std::vector<Letters>& operands, const std::string& result) {
  std::string summed, arguments, product;
  bool has_t = false;
  for (const Letters& l : operands) {
    for (const char c : l.text) {
      has_t |= c == 't';
      if ((result + summed).find(c) == std::string::npos) summed += c;
    }
  }
  const std::string type = has_t ? "TYPE" : "T";
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& letters = operands[i].text;
    arguments += fmt::format("{}X{}: {}[{}]", i ? ", " : "", i + 1, type, joined(letters, dim_of));
    product += fmt::format("{}X{}[{}]", i ? "*" : "", i + 1, joined(letters, index_of));
  }
  if (!summed.empty()) product = fmt::format("sum[{}]({})", joined(summed, index_of), product);
  return fmt::format("op einsum<{}=f32>({}) -> (Y1: {}[{}]) {{ Y1[{}] = {} }}", type, arguments,
                     type, joined(result, dim_of), joined(result, index_of), product);
}

}  // namespace

bool is_einsum(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(begin);
  return rest.starts_with(kWord) && rest.size() > kWord.size() &&
         kBlanks.find(rest[kWord.size()]) != kBlanks.npos;
}

std::string op_of_einsum(Diagnostics& diagnostics, int* end) {
  const std::string& text = diagnostics.source().text;
  Reader reader(diagnostics, text.find(kWord) + kWord.size());
  if (!reader.read()) return {};
  *end = reader.end();
  if (!check(reader, diagnostics)) return {};
  return op_text(reader.operands,
                 reader.has_result ? reader.result.text : implicit_result(reader.operands));
}

}  // namespace hone::ops
