// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/terms.h"

#include <cmath>

#include "jit/ir/functions/function.h"

namespace hone::ops {
namespace {

Term node(Term::Kind kind, std::string name, std::vector<Term> args) {
  Term t;
  t.kind = kind;
  t.name = std::move(name);
  t.args = std::move(args);
  return t;
}

}  // namespace

Term whole_term(int64_t value) {
  Term t;
  t.i = value;
  return t;
}

Term number_term(double value) {
  // Chosen: integers up to here are exact in every float but the narrow ones.
  constexpr double kMostWhole = 1 << 20;
  if (value == std::trunc(value) && std::fabs(value) < kMostWhole) {
    return whole_term(static_cast<int64_t>(value));
  }
  Term t;
  t.kind = Term::kFloat;
  t.f = value;
  return t;
}

Term name_term(std::string name) { return node(Term::kName, std::move(name), {}); }

Term access_term(std::string tensor, std::vector<Term> at) {
  return node(Term::kAccess, std::move(tensor), std::move(at));
}

Term call_term(std::string function, std::vector<Term> args) {
  return node(Term::kCall, std::move(function), std::move(args));
}

Term infix_term(Infix op, Term a, Term b) {
  Term t = node(Term::kInfix, "", {std::move(a), std::move(b)});
  t.infix = op;
  return t;
}

Term prefix_term(Term::Kind kind, Term a) { return node(kind, "", {std::move(a)}); }

Term cast_term(std::string type, Term a) {
  return node(Term::kCast, std::move(type), {std::move(a)});
}

Term select_term(Term condition, Term a) {
  return call_term("select", {std::move(condition), std::move(a), whole_term(0)});
}

Term updated_term(Assign assign, const Term& old, const Term& value) {
  switch (assign) {
    case Assign::kSet:
      return value;
    case Assign::kAdd:
      return infix_term(Infix::kAdd, old, value);
    case Assign::kMul:
      return infix_term(Infix::kMul, old, value);
    case Assign::kMax:
    case Assign::kMin:
      return call_term(std::string(row_of(assign).reduction), {old, value});
  }
  return value;
}

Term with_else(Term access, Term otherwise) {
  if (access.guarded) return access;
  access.guarded = true;
  access.args.push_back(std::move(otherwise));
  return access;
}

Term all_of_terms(const std::vector<Term>& conditions) {
  Term all = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) {
    all = infix_term(Infix::kAnd, std::move(all), conditions[i]);
  }
  return all;
}

bool same(const Term& a, const Term& b) { return print(a) == print(b); }

bool is_number(const Term& t, double value) {
  return (t.kind == Term::kInt && static_cast<double>(t.i) == value) ||
         (t.kind == Term::kFloat && t.f == value);
}

bool mentions(const Term& t, std::string_view name) {
  return any_part(t, [&](const Term& p) { return p.kind == Term::kName && p.name == name; });
}

bool reads(const Term& t, std::string_view name) {
  return any_part(t, [&](const Term& p) { return p.kind == Term::kAccess && p.name == name; });
}

bool is_whole(const Term& t) {
  return !any_part(t, [](const Term& p) {
    const ir::Function* f = p.kind == Term::kCall ? ir::function_named(p.name) : nullptr;
    return p.kind == Term::kFloat || p.kind == Term::kAccess || p.kind == Term::kReduce ||
           p.kind == Term::kCast || (f && !f->ints_too);
  });
}

}  // namespace hone::ops
