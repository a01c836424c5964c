// SPDX-License-Identifier: Apache-2.0
#include "ops/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "include/hone/dtype.h"
#include "ops/foreign.h"

namespace hone::ops {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return starts_name(c) || is_digit(c); }

constexpr std::array<std::string_view, 12> kWords = {
    "op", "case", "fn", "inout", "in", "for", "where", "else", "inf", "nan", "true", "false"};
constexpr std::array<std::string_view, 12> kPairs = {
    "->", "..", "+=", "*=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>"};
// Signs of other languages, read as one so that an error can name them.
constexpr std::array<std::string_view, 8> kForeignPairs = {
    "**", "//", "-=", "/=", "%=", ":=", "<>", "=>"};

/// `max=` or `min=`, not `max==`.
bool is_assigned(std::string_view text) {
  const bool extreme = text.starts_with("max=") || text.starts_with("min=");
  return extreme && !text.substr(4).starts_with("=");
}

bool is_pair(std::string_view pair) {
  return std::find(kPairs.begin(), kPairs.end(), pair) != kPairs.end() ||
         std::find(kForeignPairs.begin(), kForeignPairs.end(), pair) != kForeignPairs.end();
}

}  // namespace

bool is_reduction(std::string_view word) {
  const std::vector<std::string>& words = reduction_words();
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_reserved(std::string_view word) {
  // Names like `i2` have long been those of indices, and no type stands where they do.
  const auto type = dtype_named(word);
  return is_reduction(word) || (type && !is_packed(*type)) ||
         std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

bool Lexer::skip_space() {
  bool newline = false;
  const int size = static_cast<int>(text_.size());
  while (at_ < size) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < size && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      newline |= c == '\n';
      ++at_;
    } else {
      break;
    }
  }
  return newline;
}

Token Lexer::next() {
  Token token;
  token.first_on_line = skip_space();
  token.span = {at_, at_};
  const int size = static_cast<int>(text_.size());
  if (at_ >= size) return token;
  const char c = text_[at_];
  if (is_assigned(text_.substr(at_))) {
    token.kind = Token::kSymbol;
    token.span.end = at_ += 4;
  } else if (starts_name(c)) {
    while (at_ < size && in_name(text_[at_])) ++at_;
    token.kind = Token::kName;
    token.span.end = at_;
    if (at_ - token.span.begin > kMaxName) {
      token.kind = Token::kWrong;
      token.wrong = "this name is longer than 64 characters";
    }
  } else if (is_digit(c)) {
    lex_number(token);
  } else {
    lex_symbol(token);
  }
  token.text = text_.substr(token.span.begin, token.span.end - token.span.begin);
  return token;
}

void Lexer::lex_number(Token& token) {
  const int begin = at_, size = static_cast<int>(text_.size());
  const auto digits = [&] {
    while (at_ < size && is_digit(text_[at_])) ++at_;
  };
  token.kind = Token::kInt;
  digits();
  // `0..N` is a range: a point belongs to the number only before a digit.
  if (at_ + 1 < size && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
    token.kind = Token::kFloat;
    ++at_;
    digits();
  }
  if (at_ < size && (text_[at_] == 'e' || text_[at_] == 'E')) {
    int exponent = at_ + 1;
    if (exponent < size && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < size && is_digit(text_[exponent])) {
      token.kind = Token::kFloat;
      at_ = exponent;
      digits();
    }
  }
  token.span.end = at_;
  const char* first = text_.data() + begin;
  const char* last = text_.data() + at_;
  const auto result = token.kind == Token::kInt ? std::from_chars(first, last, token.i)
                                                : std::from_chars(first, last, token.f);
  if (result.ec != std::errc()) {
    token.kind = Token::kWrong;
    token.wrong = "this number is out of range";
  } else if (at_ < size && in_name(text_[at_])) {
    token.kind = Token::kWrong;
    token.wrong = "a number ends here, a name cannot follow at once";
    token.span.end = ++at_;
  }
}

void Lexer::lex_symbol(Token& token) {
  token.kind = Token::kSymbol;
  constexpr std::string_view kSigns = "()[]{}<>,;:=+-*/%!@?|&^~";
  if (is_pair(text_.substr(at_, 2))) {
    at_ += 2;
  } else if (kSigns.find(text_[at_]) != std::string_view::npos) {
    at_ += 1;
  } else {
    token.kind = Token::kWrong;
    token.wrong = "this character is not part of the language";
    // A character of several bytes is one.
    do {
      ++at_;
    } while (at_ < static_cast<int>(text_.size()) && (text_[at_] & 0xc0) == 0x80);
  }
  token.span.end = at_;
}

}  // namespace hone::ops
