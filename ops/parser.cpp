// SPDX-License-Identifier: Apache-2.0
#include "ops/parser.h"

#include <fmt/format.h>

namespace hone::ops {

Parser::Parser(Diagnostics& diagnostics, int begin)
    : diagnostics_(diagnostics), lexer_(diagnostics, begin), last_end_(begin) {
  token_ = lexer_.next();
}

void Parser::fail(Span span, std::string message) {
  diagnostics_.error(span, std::move(message), ErrorCode::kSyntax);
  token_ = Token{};
  token_.span = span;
}

void Parser::expected(std::string_view what) {
  if (diagnostics_.failed()) return;
  const std::string found =
      token_.kind == Token::kEnd ? "the text ends" : fmt::format("`{}` stands", token_.text);
  fail(token_.span, fmt::format("{} here where {} is expected", found, what));
}

Token Parser::take() {
  Token taken = token_;
  last_end_ = taken.span.end;
  token_ = lexer_.next();
  if (diagnostics_.failed()) token_ = Token{};
  return taken;
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
    expected("a dtype (f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool) or a dtype parameter");
    return {};
  }
  *span = token_.span;
  return std::string(take().text);
}

Definition Parser::parse_op() {
  Definition d;
  expect("op", "`op`");
  d.name = parse_name("the op's name", &d.span);
  parse_params(d);
  parse_arguments(d, false);
  if (accept("->")) parse_arguments(d, true);
  parse_statements(d);
  return d;
}

void Parser::parse_params(Definition& d) {
  if (!accept("<")) return;
  do {
    Param p;
    p.name = parse_name("a parameter `NAME=default`", &p.span);
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
      expected("a dtype or an integer as default");
    }
    d.params.push_back(std::move(p));
    if (d.params.size() > kMaxParams) fail(d.params.back().span, "an op takes 32 parameters");
  } while (accept(","));
  expect(">", "`,` or `>`");
}

void Parser::parse_arguments(Definition& d, bool outputs) {
  expect("(", outputs ? "`(` and the outputs" : "`(` and the arguments");
  if (accept(")")) return;
  do {
    d.args.push_back(parse_argument(outputs));
    if (d.args.size() > kMaxArgs) fail(d.args.back().span, "an op takes 128 arguments");
  } while (accept(","));
  expect(")", "`,` or `)`");
}

Argument Parser::parse_argument(bool outputs) {
  Argument a;
  if (outputs) {
    a.role = ir::Role::kOutput;
  } else if (accept("inout")) {
    a.role = ir::Role::kInOut;
  }
  a.name = parse_name("an argument `name: type[dims]`", &a.span);
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
  expect("{", d.args.empty() || token_.kind == Token::kEnd ? "`->` or `{`" : "`{`");
  while (accept(";")) {
  }
  while (!diagnostics_.failed() && !token_.is("}")) {
    d.statements.push_back(parse_statement());
    if (d.statements.size() > kMaxStatements) {
      fail(d.statements.back().span, "an op takes 512 statements");
    }
    if (!token_.is(";") && !token_.is("}") && !token_.first_on_line) {
      expected("an operator, `where`, `;`, `}` or a new line");
    }
    while (accept(";")) {
    }
  }
  expect("}", "`}`");
}

Statement Parser::parse_statement() {
  Statement s;
  s.name = parse_name("a statement `name[indices] = value` or `}`", &s.span);
  if (accept(":")) s.type = parse_type(&s.type_span);
  if (expect("[", "`[` and indices (`[]` for a single element)") && !accept("]")) {
    do {
      parse_left_index(s);
    } while (accept(","));
    expect("]", "`,` or `]`");
  }
  s.span.end = last_end_;
  if (accept("+=")) {
    s.accumulate = true;
  } else {
    expect("=", "`=` or `+=`");
  }
  s.value = parse_term();
  if (accept("where")) {
    s.where.push_back(parse_term());
    if (accept("else")) s.otherwise.push_back(parse_term());
  }
  return s;
}

void Parser::parse_left_index(Statement& s) {
  const Token first = token_;
  if (first.kind == Token::kName && !is_reserved(first.text)) {
    const Token name = take();
    if (token_.is(",") || token_.is("]") || token_.is("in")) {
      Range r;
      r.name = name.text;
      r.span = name.span;
      if (accept("in")) {
        r.bounds.push_back(parse_term());
        expect("..", "`..` and the end of the range");
        r.bounds.push_back(parse_term());
        r.span.end = last_end_;
      }
      s.indices.push_back(std::move(r));
      if (s.indices.size() > kMaxRank) fail(s.span, "a tensor has at most 12 dims");
      return;
    }
    if (token_.is("[")) {
      fail(first.span,
           "an index on the left is a plain name: scatter (`Y[ids[i]] += ...`) is reserved for a "
           "later version");
      return;
    }
  }
  if (diagnostics_.failed()) return;
  fail(first.span,
       "an index on the left is a plain name, `Y[i,j] = ...`: sequential recurrences "
       "(`Y[i+1] = ... Y[i]`) and partial writes are reserved for a later version; shift the "
       "reads instead, `A[i-1] else 0`");
}

}  // namespace hone::ops
