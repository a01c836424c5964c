// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "jit/ir/functions/function.h"
#include "jit/ir/spelling.h"
#include "ops/foreign.h"
#include "ops/parser.h"

namespace hone::ops {
namespace {

/// The operator that a token spells, if it does.
const InfixRow* infix_of(const Token& token, Infix* op) {
  if (token.kind != Token::kSymbol) return nullptr;
  for (int i = 0; i <= static_cast<int>(Infix::kMod); ++i) {
    *op = static_cast<Infix>(i);
    if (row_of(*op).text == token.text) return &row_of(*op);
  }
  return nullptr;
}

constexpr int kComparison = 3;  // strength; comparisons do not chain

/// To who writes `A[i,:]`.
constexpr std::string_view kNoSlice = "; there are no slices: `sum[j](A[i,j])` goes over all of j";

}  // namespace

Term Parser::finish(Term term, int begin) {
  term.span = {begin, last_end_};
  int depth = 0;
  for (const Term& a : term.args) depth = std::max(depth, a.depth);
  for (const Range& r : term.ranges) {
    for (const Term& b : r.bounds) depth = std::max(depth, b.depth);
  }
  term.depth = depth + 1;
  if (++terms_ > kMaxTerms) {
    fail(term.span, "this op is too long: it has more than 4096 names, numbers and operators");
  }
  if (term.depth > kMaxDepth) {
    fail(term.span,
         "this expression is nested deeper than 200; name a part of it in a statement "
         "of its own");
  }
  return term;
}

Term Parser::parse_infix(int strength) {
  // A parenthesis inside a parenthesis recurses here. The depth of a tree is checked as it is
  // built, the parser's own stack on the way down.
  if (++nesting_ > kMaxDepth) fail(token_.span, "parentheses are nested deeper than 200");
  const int begin = token_.span.begin;
  Term left = parse_prefix();
  Infix op;
  for (const InfixRow* row = infix_of(token_, &op); row && row->strength >= strength;
       row = infix_of(token_, &op)) {
    const Span at = take().span;
    Term t;
    t.kind = Term::kInfix;
    t.infix = op;
    t.args.push_back(std::move(left));
    t.args.push_back(parse_infix(row->strength + 1));
    left = finish(std::move(t), begin);
    if (row->strength == kComparison && infix_of(token_, &op) &&
        row_of(op).strength == kComparison) {
      fail(at, "comparisons do not chain; write `a < b && b < c`");
    }
  }
  --nesting_;
  return left;
}

Term Parser::parse_prefix() {
  const int begin = token_.span.begin;
  if (!token_.is("-") && !token_.is("!") && !token_.is("~")) return parse_atom();
  if (++nesting_ > kMaxDepth) fail(token_.span, "operators are nested deeper than 200");
  Term t;
  t.kind = token_.is("-") ? Term::kNeg : token_.is("!") ? Term::kNot : Term::kBitNot;
  take();
  t.args.push_back(parse_prefix());
  --nesting_;
  return finish(std::move(t), begin);
}

Term Parser::parse_atom() {
  const int begin = token_.span.begin;
  Term t;
  if (token_.kind == Token::kName) return parse_named();
  if (token_.kind == Token::kInt) {
    t.i = take().i;
  } else if (token_.kind == Token::kFloat) {
    t.kind = Term::kFloat;
    t.f = take().f;
  } else if (accept("(")) {
    t = parse_infix(1);
    expect(")", "an operator or `)`");
    t.span = {begin, last_end_};
    return t;
  } else {
    expected(
        "a value: a number, a name, a tensor element `A[i,j]`, a reduction `sum[k](...)` or "
        "`(`",
        token_.is(":") ? kNoSlice : "");
    return t;
  }
  return finish(std::move(t), begin);
}

Term Parser::parse_named() {
  const int begin = token_.span.begin;
  const Token name = take();
  Term t;
  if (name.is("inf") || name.is("nan")) {
    t.kind = Term::kFloat;
    t.f = name.is("inf") ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
    return finish(std::move(t), begin);
  }
  if (name.is("true") || name.is("false")) {
    t.kind = Term::kBool;
    t.i = name.is("true");
    return finish(std::move(t), begin);
  }
  if (name.is("cast") && token_.is("<")) return parse_cast(name);
  if (is_reduction(name.text) && token_.is("[")) return parse_reduction(name);
  if (token_.is("(")) {
    take();
    t.kind = Term::kCall;
    t.name = name.text;
    t.args = parse_list(")", kMaxArgs, "an argument");
    return FunctionParser(*this).called(std::move(t), begin);
  }
  if (is_reserved(name.text)) {
    const std::string hint =
        is_reduction(name.text)  ? fmt::format("; a reduction is `{}[k](...)`", name.text)
        : dtype_named(name.text) ? fmt::format("; a conversion is `cast<{}>(...)`", name.text)
                                 : "";
    fail(name.span, fmt::format("`{}` stands here where a value is expected{}", name.text, hint));
    return t;
  }
  if (token_.is("[")) return parse_access(name);
  t.kind = Term::kName;
  t.name = name.text;
  return finish(std::move(t), begin);
}

Term Parser::parse_access(Token name) {
  Term t;
  t.kind = Term::kAccess;
  t.name = name.text;
  expect("[", "`[`");
  if (token_.kind == Token::kName) {
    Lexer ahead(lexer_);
    const Token next = ahead.next();
    if (next.is("in") || (next.is(":") && dtype_named(ahead.next().text))) {
      return no_reduction(name, std::move(t));
    }
  }
  t.args = parse_list("]", kMaxRank, "an index");
  if (token_.is("(") && token_.span.begin == last_end_) return no_reduction(name, std::move(t));
  if (token_.is("[") && token_.span.begin == last_end_) {
    fail(token_.span, "the indices of an element stand in one pair of brackets, `A[i,j]`");
  }
  if (!(in_condition_ && depth_ == 0) && accept("else")) {
    t.guarded = true;
    if (++nesting_ > kMaxDepth) fail(token_.span, "`else` is nested deeper than 200");
    t.args.push_back(parse_prefix());
    --nesting_;
  }
  return finish(std::move(t), name.span.begin);
}

/// `mean[k](x)`, where `mean` is no reduction.
Term Parser::no_reduction(Token name, Term t) {
  std::string_view advice = advice_on_function(name.text);
  const bool function = ir::function_named(name.text) != nullptr;
  const std::string here = function          ? fmt::format("; a function is `{}(x)`", name.text)
                           : !advice.empty() ? fmt::format("; {}", advice)
                                             : ir::did_you_mean(name.text, reduction_words());
  fail(name.span, fmt::format("there is no reduction `{}`; reductions are {}{}", name.text,
                              spaced(reduction_words()), here));
  return t;
}

Term Parser::parse_reduction(Token name) {
  Term t;
  t.kind = Term::kReduce;
  t.name = name.text;
  expect("[", "`[`");
  do {
    t.ranges.push_back(parse_range());
    if (t.ranges.size() > kMaxRank) fail(t.ranges.back().span, "a reduction has 12 indices");
  } while (accept(","));
  if (accept(":")) {
    Span span;
    t.type = parse_type(&span);
  }
  expect("]", "`,`, `in`, `: type` or `]`");
  expect("(", "`(` and what is reduced");
  t.args.push_back(parse_infix(1));
  expect(")", "an operator or `)`");
  return finish(std::move(t), name.span.begin);
}

Range Parser::parse_range() {
  Range r;
  r.name = parse_name("an index, as in `k` or `k in 0..K`", &r.span);
  if (accept("in")) {
    r.bounds.push_back(parse_infix(1));
    expect("..", "`..` and the end of the range");
    r.bounds.push_back(parse_infix(1));
    r.span.end = last_end_;
  }
  return r;
}

Term Parser::parse_cast(Token name) {
  Term t;
  t.kind = Term::kCast;
  expect("<", "`<`");
  Span span;
  t.name = parse_type(&span);
  expect(">", "`>`");
  expect("(", "`(` and what is converted");
  t.args.push_back(parse_infix(1));
  expect(")", "an operator or `)`");
  return finish(std::move(t), name.span.begin);
}

std::vector<Term> Parser::parse_list(std::string_view close, size_t most, std::string_view what) {
  std::vector<Term> list;
  if (accept(close)) return list;
  do {
    list.push_back(parse_infix(1));
    if (list.size() > most) {
      fail(list.back().span, fmt::format("{} too many: at most {} stand here", what, most));
    }
  } while (accept(","));
  if (token_.is(":") && close == "]") expected("an operator, `,` or `]`", kNoSlice);
  expect(close, fmt::format("an operator, `,` or `{}`", close));
  return list;
}

}  // namespace hone::ops
