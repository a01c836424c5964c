// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/lexer.h"
#include "ops/scalar_functions.h"
#include "ops/syntax.h"

namespace hone::ops {

/// Limits that keep a hostile text from costing more than its size.
inline constexpr int kMaxText = 1 << 20;    ///< bytes of one text
inline constexpr int kMaxDepth = 200;       ///< of an expression's tree
inline constexpr int kMaxRank = 12;         ///< dims of a tensor, indices of a reduction
inline constexpr int kMaxArgs = 128;        ///< arguments and outputs of an op
inline constexpr int kMaxParams = 32;       ///< parameters in `<...>`
inline constexpr int kMaxStatements = 512;  ///< of an op
inline constexpr int kMaxTerms = 4096;      ///< of an op: names, numbers, operators, calls

/// The same of a graph, which has a tensor for each weight and a statement for each use of an op.
inline constexpr int kMaxGraphArgs = 1 << 14;
inline constexpr int kMaxGraphStatements = 1 << 14;

/// Recursive descent over one source. After an error every token is the end of the text, so that
/// all rules unwind by themselves. Parsing then goes on at the next argument, statement or op.
class Parser {
 public:
  /// `functions` are those that stand before, and come to be all.
  Parser(Diagnostics& diagnostics, int begin, ScalarFunctions& functions);

  /// Functions, and then `op name<params>(arguments) -> (outputs) { statements }`, and past its
  /// end, also after errors.
  Definition parse_op();
  /// An expression.
  Term parse_term() { return parse_infix(1); }
  /// Goes on at the next `op` or `case` that begins a line.
  void skip_to_op();
  /// The next token, not yet taken.
  const Token& peek() const { return token_; }
  /// True behind an error that was not skipped.
  bool stuck() const { return stuck_; }
  /// Takes the next token.
  Token take();
  /// Takes the next token if it is `text`.
  bool accept(std::string_view text);
  /// Where the last taken token ends.
  int position() const { return last_end_; }

 private:
  friend class FunctionParser;
  friend class GraphParser;
  friend class UseParser;

  void advance();
  void fail(Span span, std::string message);
  void expected(std::string_view what, std::string_view hint = {});
  std::string advice() const;
  bool at_op() const;
  bool resume();
  void recover_argument(bool outputs);
  void recover_header();
  void recover_statement();
  bool at_statement() const;
  bool expect(std::string_view text, std::string_view what);
  std::string parse_name(std::string_view what, Span* span);
  std::string parse_type(Span* span);

  void parse_params(Definition& d);
  void parse_arguments(Definition& d, bool outputs);
  Argument parse_argument(bool outputs);
  void parse_statements(Definition& d);
  Statement parse_statement();
  void parse_left(Left& left);
  Range parse_left_index();
  Range parse_range();

  bool in_graph_ = false;
  int terms_ = 0;

  Term parse_infix(int strength);
  Term parse_prefix();
  Term parse_atom();
  Term parse_named();
  Term parse_access(Token name);
  Term no_reduction(Token name, Term t);
  Term parse_reduction(Token name);
  Term parse_cast(Token name);
  std::vector<Term> parse_list(std::string_view close, size_t most, std::string_view what);
  Term finish(Term term, int begin);

  Diagnostics& diagnostics_;
  ScalarFunctions& functions_;
  Lexer lexer_;
  Token token_;
  Token last_;  // taken last
  int last_end_ = 0;
  int nesting_ = 0;
  int depth_ = 0;              // brackets that are open
  bool in_condition_ = false;  // of `where`, whose `else` is no read's
  bool stuck_ = false;         // by an error, until parsing goes on at `resume_`
  Token resume_;
};

/// The part of the parser that knows functions of the text's own.
class FunctionParser {
 public:
  explicit FunctionParser(Parser& parser) : p_(parser) {}

  /// `fn name(parameters) = value`.
  void parse();
  /// A call from `begin` on, written out where it is of such a function.
  Term called(Term call, int begin);

 private:
  void parse_params(ScalarFunction& f);

  Parser& p_;
};

/// The part of the parser that knows uses of ops with parameters: `conv2d<S=2>(X, F, b)`.
class UseParser {
 public:
  explicit UseParser(Parser& parser) : p_(parser) {}

  /// Does one stand here?
  bool is_next() const;
  /// The call; its parameters go into the statement.
  Term parse(Statement& s);

 private:
  Given parse_given();

  Parser& p_;
};

}  // namespace hone::ops
