// SPDX-License-Identifier: Apache-2.0
#include "ops/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ops/foreign.h"

namespace hone::ops {
namespace {

constexpr Assign kCombining[] = {Assign::kAdd, Assign::kMul, Assign::kMax, Assign::kMin};

bool is_assign(std::string_view sign) {
  return std::any_of(std::begin(kCombining), std::end(kCombining),
                     [&](Assign a) { return row_of(a).text == sign; });
}

/// A plain name that `for` has a range of is an index of terms, so on the left it is a position.
void place_by(Statement& s, const Range& loop) {
  for (Range& r : s.indices) {
    if (r.name.empty() || r.name != loop.name) continue;
    Term at;
    at.kind = Term::kName;
    at.name = std::exchange(r.name, {});
    at.span = r.span;
    r.at.push_back(std::move(at));
  }
}

}  // namespace

Parser::Parser(Diagnostics& diagnostics, int begin, ScalarFunctions& functions)
    : diagnostics_(diagnostics),
      functions_(functions),
      lexer_(diagnostics.source().text, begin),
      last_end_(begin) {
  advance();
}

void Parser::advance() {
  token_ = lexer_.next();
  if (token_.kind == Token::kWrong) fail(token_.span, token_.wrong);
}

void Parser::fail(Span span, std::string message) {
  if (stuck_) return;
  diagnostics_.error(span, std::move(message), ErrorCode::kSyntax);
  stuck_ = true;
  resume_ = token_;
  token_ = Token{};
  token_.span = resume_.span;
}

/// What to write instead of a word of another language, here or just before.
std::string Parser::advice() const {
  std::string_view found = advice_on_sign(token_.text);
  if (found.empty() && last_.kind == Token::kName) found = advice_on_sign(last_.text);
  return found.empty() ? "" : fmt::format("; {}", found);
}

void Parser::expected(std::string_view what, std::string_view hint) {
  if (stuck_) return;
  const std::string found =
      token_.kind == Token::kEnd ? "the text ends" : fmt::format("`{}` stands", token_.text);
  fail(token_.span, fmt::format("{} here where {} is expected{}{}", found, what, hint, advice()));
}

Token Parser::take() {
  if (stuck_) return token_;
  last_ = token_;
  last_end_ = last_.span.end;
  if (last_.is("(") || last_.is("[")) ++depth_;
  if (last_.is(")") || last_.is("]")) --depth_;
  advance();
  return last_;
}

bool Parser::at_op() const {
  return token_.first_on_line && (token_.is("op") || token_.is("case") || token_.is("fn"));
}

/// Reads on behind an error; false when nothing can be.
bool Parser::resume() {
  if (!stuck_ || diagnostics_.full()) return false;
  stuck_ = false;
  in_condition_ = false;
  nesting_ = 0;
  token_ = resume_;
  return true;
}

void Parser::skip_to_op() {
  if (stuck_ && !resume()) {
    last_end_ = static_cast<int>(diagnostics_.source().text.size());
    return;
  }
  while (token_.kind != Token::kEnd && !at_op()) token_ = lexer_.next();
  last_end_ = token_.span.begin;
}

/// Skips to the `,` or `)` behind a bad argument, or to what follows all of them.
void Parser::recover_argument(bool outputs) {
  if (!resume()) return;
  while (token_.kind != Token::kEnd && !token_.is("{") && !at_op()) {
    if (token_.is("->") && !outputs) break;
    if (depth_ <= 1 && (token_.is(",") || token_.is(")"))) break;
    if (token_.is("(") || token_.is("[")) ++depth_;
    if (token_.is(")") || token_.is("]")) --depth_;
    token_ = lexer_.next();
  }
  depth_ = 1;
}

/// Skips to the statements.
void Parser::recover_header() {
  if (!resume()) return;
  while (token_.kind != Token::kEnd && !token_.is("{") && !at_op()) token_ = lexer_.next();
}

/// Is what stands here the left side of a statement: a name, indices in brackets, `=`?
bool Parser::at_statement() const {
  if (token_.kind != Token::kName || is_reserved(token_.text)) return false;
  Lexer ahead = lexer_;
  Token t = ahead.next();
  if (t.is(":")) {
    ahead.next();
    t = ahead.next();
  }
  int depth = 0;
  for (; t.kind != Token::kEnd && !t.first_on_line && !t.is(";") && !t.is("}"); t = ahead.next()) {
    if (depth == 0 && (t.is("else") || t.is(","))) {  // `else skip`, another result
      ahead.next();
      continue;
    }
    if (depth == 0 && !t.is("[")) return t.is("=") || is_assign(t.text);
    depth += t.is("[") ? 1 : t.is("]") ? -1 : 0;
  }
  return false;
}

/// Skips to the end of a bad statement: `;`, `}`, or a line that begins another one.
void Parser::recover_statement() {
  if (!resume()) return;
  while (token_.kind != Token::kEnd && !token_.is(";") && !token_.is("}") && !at_op()) {
    if (token_.first_on_line && at_statement()) break;
    token_ = lexer_.next();
  }
}

bool Parser::accept(std::string_view text) {
  if (!token_.is(text)) return false;
  take();
  return true;
}

bool Parser::expect(std::string_view text, std::string_view what) {
  if (accept(text)) return true;
  expected(what);
  return false;
}

std::string Parser::parse_name(std::string_view what, Span* span) {
  if (token_.kind != Token::kName) {
    expected(what);
    return {};
  }
  if (is_reserved(token_.text)) {
    fail(token_.span, fmt::format("`{}` is a word of the language and cannot name anything; {} is "
                                  "expected",
                                  token_.text, what));
    return {};
  }
  *span = token_.span;
  return std::string(take().text);
}

std::string Parser::parse_type(Span* span) {
  if (token_.kind != Token::kName) {
    expected("a dtype (" + spaced(dtype_words()) + ") or a dtype parameter");
    return {};
  }
  *span = token_.span;
  return std::string(take().text);
}

Definition Parser::parse_op() {
  Definition d;
  while (token_.is("fn")) FunctionParser(*this).parse();
  expect("op", "`op`");
  d.name = parse_name("the op's name", &d.span);
  parse_params(d);
  parse_arguments(d, false);
  if (accept("->")) parse_arguments(d, true);
  if (stuck_) {
    d.headless = true;
    recover_header();
  }
  parse_statements(d);
  return d;
}

void Parser::parse_params(Definition& d) {
  if (!accept("<")) return;
  do {
    Param p;
    p.name = parse_name("a parameter `NAME=default`", &p.span);
    if (dtype_named(p.name)) {
      fail(p.span, fmt::format("`{}` is a dtype and names no parameter", p.name));
    }
    expect("=", "`=` and a default, as in `T=f32` or `S=1`");
    const bool negative = accept("-");
    if (token_.kind == Token::kInt) {
      p.value = negative ? -token_.i : token_.i;
      take();
    } else if (const auto type = dtype_named(token_.text); type && !negative) {
      p.is_type = true;
      p.type = *type;
      take();
    } else {
      expected("a dtype or an integer as default", dtype_hint(token_.text));
    }
    d.params.push_back(std::move(p));
    if (d.params.size() > kMaxParams) fail(d.params.back().span, "an op takes 32 parameters");
  } while (accept(","));
  expect(">", "`,` or `>`");
}

void Parser::parse_arguments(Definition& d, bool outputs) {
  if (!expect("(", outputs ? "`(` and the outputs" : "`(` and the arguments")) return;
  if (accept(")")) return;
  do {
    d.args.push_back(parse_argument(outputs));
    if (in_graph_) terms_ = 0;
    const size_t most = in_graph_ ? kMaxGraphArgs : kMaxArgs;
    if (d.args.size() > most) {
      fail(d.args.back().span,
           fmt::format("{} takes {} arguments", in_graph_ ? "a graph" : "an op", most));
    }
    if (!stuck_ && !token_.is(",") && !token_.is(")")) expected("`,` or `)`");
    if (stuck_ && d.args.size() <= most) {
      d.headless = d.args.back().broken = true;
      recover_argument(outputs);
    }
  } while (accept(","));
  if (!accept(")")) d.headless = true;
}

Argument Parser::parse_argument(bool outputs) {
  Argument a;
  if (outputs) {
    a.role = ir::Role::kOutput;
  } else if (in_graph_) {
    a.constant = accept("const");
  } else if (accept("inout")) {
    a.role = ir::Role::kInOut;
  }
  a.name = parse_name("an argument `name: type[dims]`", &a.span);
  a.inferred = outputs && in_graph_ && (token_.is(",") || token_.is(")"));
  if (a.inferred) return a;
  expect(":", "`:` and a type");
  a.type = parse_type(&a.type_span);
  if (accept("[")) {
    a.shape = parse_list("]", kMaxRank, "an extent");
  } else if (a.role == ir::Role::kInput) {
    a.scalar = true;
  } else {
    expected("`[` and a shape (`[]` for a single element, scalars being inputs)");
  }
  return a;
}

void Parser::parse_statements(Definition& d) {
  if (!expect("{", d.args.empty() || token_.kind == Token::kEnd ? "`->` or `{`" : "`{`")) {
    d.headless = true;
    return;
  }
  while (accept(";")) {
  }
  while (!stuck_ && token_.kind != Token::kEnd && !token_.is("}") && !at_op()) {
    d.statements.push_back(parse_statement());
    const size_t most = in_graph_ ? kMaxGraphStatements : kMaxStatements;
    if (d.statements.size() > most) {
      fail(d.statements.back().span,
           fmt::format("{} takes {} statements", in_graph_ ? "a graph" : "an op", most));
      return;
    }
    if (in_graph_) terms_ = 0;
    if (!token_.is(";") && !token_.is("}") && !token_.first_on_line) {
      expected("an operator, `where`, `;`, `}` or a new line");
    }
    if (stuck_) {
      d.statements.back().broken = true;
      recover_statement();
      if (token_.kind == Token::kEnd) return;
    }
    while (accept(";")) {
    }
  }
  d.closed = expect("}", "`}`");
}

Statement Parser::parse_statement() {
  Statement s;
  depth_ = 0;
  parse_left(s);
  while (accept(",")) {
    parse_left(s.also.emplace_back());
    if (s.also.size() >= kMaxArgs) fail(s.also.back().span, "a statement has 128 results");
  }
  if (s.omitted && s.also.empty()) expected("`,` and another result");
  if (accept("else")) s.skip = expect("skip", "`skip`");
  for (const Assign a : kCombining) {
    if (accept(row_of(a).text)) s.assign = a;
  }
  if (s.assign == Assign::kSet) expect("=", "`=`, `+=`, `*=`, `max=` or `min=`");
  UseParser use(*this);
  s.value = use.is_next() ? use.parse(s) : parse_term();
  if (accept("for")) {
    do {
      s.loops.push_back(parse_range());
      if (s.loops.size() > kMaxRank) fail(s.loops.back().span, "a statement has 12 such indices");
      place_by(s, s.loops.back());
    } while (accept(","));
  }
  if (accept("where")) {
    in_condition_ = true;
    s.where.push_back(parse_term());
    in_condition_ = false;
    if (accept("else")) s.otherwise.push_back(parse_term());
  }
  s.whole = {s.span.begin, last_end_};
  return s;
}

void Parser::parse_left(Left& left) {
  left.name = parse_name("a statement `name[indices] = value` or `}`", &left.span);
  if (left.name == "_" && (token_.is(",") || token_.is("="))) {
    left.omitted = true;
    return;
  }
  if (accept(":")) left.type = parse_type(&left.type_span);
  if (in_graph_ && !token_.is("[")) return;
  if (expect("[", "`[` and indices (`[]` for a single element)") && !accept("]")) {
    do {
      left.indices.push_back(parse_left_index());
      if (left.indices.size() > kMaxRank) fail(left.span, "a tensor has at most 12 dims");
    } while (accept(","));
    expect("]", "`,` or `]`");
  }
  left.span.end = last_end_;
}

/// A plain name is an index; any other term is a position, of a scatter.
Range Parser::parse_left_index() {
  Range r;
  Term at = parse_term();
  r.span = at.span;
  if (at.kind == Term::kName) {
    r.name = at.name;
  } else {
    r.at.push_back(std::move(at));
  }
  if (accept("in")) {
    r.bounds.push_back(parse_term());
    expect("..", "`..` and the end of the range");
    r.bounds.push_back(parse_term());
    r.span.end = last_end_;
  }
  return r;
}

}  // namespace hone::ops
