// SPDX-License-Identifier: Apache-2.0
#include "ops/parser.h"

namespace hone::ops {

bool UseParser::is_next() const {
  if (p_.token_.kind != Token::kName || is_reserved(p_.token_.text)) return false;
  Lexer ahead = p_.lexer_;
  return ahead.next().is("<") && ahead.next().kind == Token::kName && ahead.next().is("=");
}

Term UseParser::parse(Statement& s) {
  Term t;
  t.kind = Term::kCall;
  const int begin = p_.token_.span.begin;
  t.name = p_.take().text;
  p_.expect("<", "`<`");
  do {
    s.given.push_back(parse_given());
    if (s.given.size() > kMaxParams) p_.fail(s.given.back().span, "an op takes 32 parameters");
  } while (p_.accept(","));
  p_.expect(">", "`,` or `>`");
  p_.expect("(", "`(` and the op's arguments");
  t.args = p_.parse_list(")", kMaxArgs, "an argument");
  return p_.finish(std::move(t), begin);
}

Given UseParser::parse_given() {
  Given given;
  given.name = p_.parse_name("a parameter of the op, as in `S=2`", &given.span);
  p_.expect("=", "`=` and a value");
  if (dtype_named(p_.token_.text)) {
    given.value.kind = Term::kName;
    given.value.span = p_.token_.span;
    given.value.name = p_.take().text;
  } else {
    given.value = p_.parse_infix(row_of(Infix::kBitOr).strength);
  }
  return given;
}

}  // namespace hone::ops
