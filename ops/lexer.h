// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "ops/source.h"

namespace hone::ops {

/// One word of the language.
struct Token {
  enum Kind : uint8_t { kName, kInt, kFloat, kSymbol, kWrong, kEnd } kind = kEnd;
  bool first_on_line = false;  ///< a newline stands before it
  Span span;
  std::string_view text;
  int64_t i = 0;
  double f = 0;
  const char* wrong = nullptr;  ///< of kWrong: why it is no word of the language

  /// True for the symbol or word `what`.
  bool is(std::string_view what) const { return kind < kWrong && text == what; }
};

/// Splits a source into tokens, on demand. Comments run from `#` to the end of the line.
class Lexer {
 public:
  Lexer(std::string_view text, int begin) : text_(text), at_(begin) {}

  /// The next token; kEnd at the end of the text.
  Token next();

 private:
  bool skip_space();
  void lex_number(Token& token);
  void lex_symbol(Token& token);

  std::string_view text_;
  int at_;
};

/// Longest name that the language takes.
inline constexpr int kMaxName = 64;

/// True for words that cannot name anything: dtypes, reductions, and the words of the grammar.
bool is_reserved(std::string_view word);

/// True for sum max min prod any all argmax argmin.
bool is_reduction(std::string_view word);

}  // namespace hone::ops
