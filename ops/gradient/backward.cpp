// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "jit/ir/functions/function.h"
#include "ops/definition.h"
#include "ops/gradient/terms.h"

namespace hone::ops {

/// The way from the whole value to a part of it.
struct Backward::Way {
  std::vector<Bound> scope;
  std::vector<Condition> conditions;
  Monomial value;

  Way where(Term condition, bool holds = true) const {
    Way out = *this;
    out.conditions.push_back({std::move(condition), holds});
    return out;
  }
  Way times(const Term& t) const {
    Way out = *this;
    out.value.multiply(t);
    return out;
  }
  Way over(const Term& t) const {
    Way out = *this;
    out.value.divide(t);
    return out;
  }
};

namespace {

bool is_comparison(const Term& t) {
  return t.kind == Term::kInfix && t.infix >= Infix::kEq && t.infix <= Infix::kGe;
}

/// The text of a derivative with arguments in place.
Term parsed(const char* text, const Term& x, const Term& y, const Term& v) {
  Diagnostics diagnostics(std::make_shared<const Source>(Source{text, "", 1}));
  ScalarFunctions functions;
  const Term t = Parser(diagnostics, 0, functions).parse_term();
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kName) return {};
    return p.name == "x" ? x : p.name == "y" ? y : v;
  });
}

}  // namespace

Backward::Backward(Equations& equations, const std::vector<std::string>& wrt,
                   const std::set<std::string>& take, Diagnostics& diagnostics)
    : e_(equations), take_(take), diagnostics_(diagnostics) {
  find_active(wrt);
}

void Backward::error(Span span, const std::string& message) {
  diagnostics_.error(span, message, ErrorCode::kUnsupported);
}

void Backward::find_active(const std::vector<std::string>& wrt) {
  active_.insert(wrt.begin(), wrt.end());
  for (bool more = true; more;) {
    more = false;
    for (const Equation& e : e_.all()) {
      const bool logical = e.reduction == "any" || e.reduction == "all";
      if (logical || active_.count(e.name) != 0 || !depends(e.value)) continue;
      active_.insert(e.name);
      more = true;
    }
  }
}

/// Indices, conditions and comparisons are constant but for jumps: they carry no gradient.
bool Backward::depends(const Term& t) const {
  if (t.kind == Term::kName) return active_.count(t.name) != 0;
  if (t.kind == Term::kAccess) {
    return active_.count(t.name) != 0 || (t.guarded && depends(t.args.back()));
  }
  if (is_comparison(t) || (t.kind == Term::kCast && t.name == "bool")) return false;
  const size_t first = t.kind == Term::kCall && t.name == "select" ? 1 : 0;
  return std::any_of(t.args.begin() + static_cast<std::ptrdiff_t>(first), t.args.end(),
                     [&](const Term& a) { return depends(a); });
}

std::vector<Contribution> Backward::through(const std::string& name, const Term& seed) {
  of_ = *e_.find(name);
  found_.clear();
  if (!depends(of_.value)) return {};
  Way way;
  way.scope = of_.own_indices();
  way.scope.insert(way.scope.end(), of_.reduced.begin(), of_.reduced.end());
  way.value.factors.push_back(seed);
  if (of_.scatter) {
    for (const Term& t : of_.scatter->where) way = way.where(t);
  }
  const bool alone = of_.scatter && of_.reduced.empty();  // no other term goes to the element
  if (alone) {
    go(of_.value, std::move(way));
  } else if (of_.reduction == "max" || of_.reduction == "min") {
    through_extreme(std::move(way));
  } else if (of_.reduction == "prod") {
    through_product(std::move(way));
  } else if (of_.reduction == "last") {
    through_last(std::move(way));
  } else {
    go(of_.value, std::move(way));
  }
  return std::move(found_);
}

/// What an earlier term put in the place is gone.
void Backward::through_last(Way way) {
  if (const auto flaw = of_.without_numbers()) return error(of_.span, *flaw);
  const Term here = e_.as_index(index_term(place_among(of_.reduced)));
  go(of_.value, way.where(infix_term(Infix::kEq, e_.last_of(of_).reached(), here)));
}

/// The first of the greatest has all of it.
void Backward::through_extreme(Way way) {
  if (const auto flaw = of_.without_numbers()) return error(of_.span, *flaw);
  const Term at = first_of(of_).reached();
  // `argmax` over one index says where that stands, over several the place among all.
  const bool one = !of_.scatter && of_.reduced.size() == 1;
  const Term here =
      one ? name_term(of_.reduced[0].name) : e_.as_index(index_term(place_among(of_.reduced)));
  go(of_.value, way.where(infix_term(Infix::kEq, at, here)));
}

/// Which of the values that are combined is the first of the greatest or least.
Equation Backward::first_of(const Equation& extreme) {
  Equation first = extreme;
  first.name = e_.fresh(extreme.name + "_at");
  first.type = "i64";
  first.real = false;
  first.part = true;
  first.accumulate.clear();
  if (!extreme.scatter) {
    first.reduction = "arg" + extreme.reduction;
    e_.add(first, extreme.name);
    return first;
  }
  // Compared as it is stored, which may have rounded it.
  const bool rounded = e_.states_type(extreme) && extreme.value.kind != Term::kAccess;
  const Term value = rounded ? cast_term(extreme.type, extreme.value) : extreme.value;
  const Term equal = infix_term(Infix::kEq, value, extreme.reached());
  const Term nan = infix_term(Infix::kNe, extreme.value, extreme.value);
  const Term none = whole_term(std::numeric_limits<int64_t>::max());
  first.value = call_term("select", {infix_term(Infix::kOr, equal, nan),
                                     e_.as_index(index_term(place_among(extreme.reduced))), none});
  first.reduction = "min";
  first.scatter->assign = Assign::kMin;
  e_.add(first, extreme.name);
  return first;
}

/// The product of the others. Without a zero it is a quotient. A single zero has the product of the
/// rest, and all else has zero.
void Backward::through_product(Way way) {
  const Term zero = infix_term(Infix::kEq, of_.value, whole_term(0));
  Equation zeros = of_, rest = of_;
  zeros.part = rest.part = true;
  zeros.name = e_.fresh(of_.name + "_zeros");
  zeros.reduction = "sum";
  zeros.accumulate.clear();
  zeros.type = "i32";
  zeros.real = false;
  zeros.value = cast_term("i32", zero);
  rest.name = e_.fresh(of_.name + "_rest");
  rest.value = call_term("select", {zero, whole_term(1), of_.value});
  if (of_.scatter) zeros.scatter->assign = Assign::kAdd;
  const Term others = rest.reached(), count = zeros.reached();
  const auto counted = [&](int64_t n, Term v) {
    return select_term(infix_term(Infix::kEq, count, whole_term(n)), std::move(v));
  };
  e_.add(std::move(zeros), of_.name);
  e_.add(std::move(rest), of_.name);
  const Term quotient = infix_term(Infix::kDiv, others, of_.value);
  go(of_.value, way.times(call_term("select", {zero, counted(1, others), counted(0, quotient)})));
}

void Backward::go(const Term& t, Way way) {
  if (!depends(t)) return;
  if (!e_.is_real(t)) {
    error(t.span,
          "this is an integer or a bool that depends on what the gradient is asked for, and has no "
          "derivative; leave that out of `wrt`, or write the value in floats");
    return;
  }
  if (shares(t, way)) {
    const Term part = e_.part_of(of_, t, reduced(way), conditions_of(t, way));
    if (part.kind == Term::kAccess && part.name != of_.name) {
      active_.insert(part.name);
      go_read(part, std::move(way));
      return;
    }
  }
  switch (t.kind) {
    case Term::kName:
    case Term::kAccess:
      go_read(t, std::move(way));
      return;
    case Term::kNeg:
      way.value.coefficient = -way.value.coefficient;
      go(t.args[0], std::move(way));
      return;
    case Term::kInfix:
      go_infix(t, way);
      return;
    case Term::kCall:
      go_call(t, way);
      return;
    case Term::kCast:
      go_cast(t, std::move(way));
      return;
    default:
      return;
  }
}

/// Where a costly product goes to several reads, it is the gradient of a part that has them.
bool Backward::shares(const Term& t, const Way& way) const {
  const auto costly = [](const Term& f) {
    return any_part(f, [](const Term& p) {
      const bool product = p.kind == Term::kInfix && p.infix >= Infix::kMul;
      return p.kind == Term::kCall || product;
    });
  };
  const bool any = !way.value.divisors.empty() ||
                   std::any_of(way.value.factors.begin(), way.value.factors.end(), costly);
  return any && t.kind == Term::kInfix && reads_below(t) > 1;
}

int Backward::reads_below(const Term& t) const {
  if (!depends(t)) return 0;
  int count = t.kind == Term::kAccess || t.kind == Term::kName ? 1 : 0;
  for (const Term& a : t.args) count += reads_below(a);
  return count;
}

std::vector<Bound> Backward::reduced(const Way& way) const {
  return {way.scope.begin() + static_cast<std::ptrdiff_t>(of_.own_indices().size()),
          way.scope.end()};
}

/// The conditions on the way that a part may need for its reads: those on indices of `t` alone.
std::vector<Term> Backward::conditions_of(const Term& t, const Way& way) const {
  const bool may_leave = any_part(t, [](const Term& p) {
    return p.kind == Term::kAccess && !p.guarded &&
           std::any_of(p.args.begin(), p.args.end(),
                       [](const Term& at) { return at.kind != Term::kName; });
  });
  std::vector<Term> out;
  if (!may_leave) return out;
  const auto add = [&](const Term& condition) {
    const bool inside = std::all_of(way.scope.begin(), way.scope.end(), [&](const Bound& b) {
      return mentions(t, b.name) || !mentions(condition, b.name);
    });
    if (inside) out.push_back(condition);
  };
  for (const Term& condition : e_.index_domain(of_)) add(condition);
  for (const Condition& k : way.conditions) {
    if (const auto at = e_.on_indices(k.term, k.holds)) add(*at);
  }
  return out;
}

void Backward::go_infix(const Term& t, const Way& way) {
  const Term &a = t.args[0], &b = t.args[1];
  switch (t.infix) {
    case Infix::kAdd:
      go(a, way);
      go(b, way);
      return;
    case Infix::kSub:
      go(a, way);
      go(b, way.times(whole_term(-1)));
      return;
    case Infix::kMul:
      go(a, way.times(b));
      go(b, way.times(a));
      return;
    case Infix::kDiv:
      go(a, way.over(b));
      go(b, way.times(whole_term(-1)).times(a).over(b).over(b));
      return;
    default:
      return;  // others are of integers
  }
}

void Backward::go_read(const Term& t, Way way) {
  if (t.guarded) go_outside(t, way);
  if (active_.count(t.name) == 0) return;
  Contribution c;
  c.from = of_.name;
  c.target = t.name;
  c.at = t.args;
  c.at.resize(t.index_count());
  c.outer = of_.own_indices().size();
  c.guarded = t.guarded;
  c.span = t.span;
  c.scope = std::move(way.scope);
  c.conditions = std::move(way.conditions);
  c.value = std::move(way.value);
  found_.push_back(std::move(c));
}

/// What stands outside of the tensor counts where an index leaves it.
void Backward::go_outside(const Term& t, Way way) {
  if (!depends(t.args.back())) return;
  ir::Expr outside;
  const std::vector<ir::Expr>& shape = e_.shape(t.name);
  for (size_t i = 0; i < t.index_count(); ++i) {
    const ir::Expr index = index_expr(e_.op(), t.args[i]);
    if (!index) {
      error(t.args[i].span,
            "the gradient of what stands after `else` needs an index of `+ - * / %` alone");
      return;
    }
    if (t.args[i].kind == Term::kName) continue;  // over all of the dim
    for (const ir::Expr& side : {ir::make_binary(ir::Op::kLt, index, ir::make_int(0)),
                                 ir::make_binary(ir::Op::kLe, shape[i], index)}) {
      outside = outside ? ir::make_binary(ir::Op::kOr, outside, side) : side;
    }
  }
  if (outside) go(t.args.back(), way.where(index_term(outside)));
}

void Backward::go_cast(const Term& t, Way way) {
  const std::string from = e_.type_of(t.args[0]);
  if (from != t.name && !from.empty() && e_.is_real_type(from)) {
    Monomial converted;
    converted.factors.push_back(cast_term(from, way.value.term()));
    way.value = std::move(converted);
  }
  go(t.args[0], std::move(way));
}

void Backward::go_extreme(const Term& a, const Term& b, bool most, const Way& way) {
  // At a tie the second has the gradient, unless it has none to give on.
  const Infix first = most ? Infix::kGt : Infix::kLt, second = most ? Infix::kLe : Infix::kGe;
  go(a, way.where(infix_term(first, a, b)));
  if (depends(a)) {
    go(b, way.where(infix_term(second, a, b)));
  } else {
    go(b, way.where(infix_term(first, b, a)));
  }
}

/// Elements of a scatter that no term goes to pass no gradient on.
bool Backward::holds_where_read(const Term& read, const Term& condition) {
  const Equation* from = read.kind == Term::kAccess ? e_.find(read.name) : nullptr;
  return from && from->scatter && from->reduction == "last" && same(read, from->element()) &&
         same(condition, e_.was_reached(*from));
}

/// Where the value itself is there, it says as well what is greater than 0.
void Backward::go_relu(const Term& t, const Way& way) {
  const bool kept = take_.count(of_.name) != 0 && of_.reduction.empty() && same(of_.value, t);
  if (!kept) return go_extreme(t.args[0], whole_term(0), true, way);
  go(t.args[0], way.where(infix_term(Infix::kGt, of_.element(), whole_term(0))));
}

void Backward::go_call(const Term& t, const Way& way) {
  if (t.name == "select") {
    go(t.args[1], holds_where_read(t.args[1], t.args[0]) ? way : way.where(t.args[0]));
    go(t.args[2], way.where(t.args[0], false));
    return;
  }
  if (t.name == "relu") return go_relu(t, way);
  if (t.name == "max" || t.name == "min") {
    return go_extreme(t.args[0], t.args[1], t.name == "max", way);
  }
  const ir::Function* f = ir::function_named(t.name);
  for (size_t i = 0; i < t.args.size(); ++i) {
    if (!depends(t.args[i])) continue;
    const char* text = !f ? "" : i == 0 ? f->by_first : f->by_second;
    if (*text == 0) {
      error(t.span, fmt::format("`{}` has no derivative: it is flat between its steps; take it "
                                "out, or leave what it depends on out of `wrt`",
                                t.name));
      return;
    }
    const Term d = derivative(t, text, way);
    if (!is_number(d, 0)) go(t.args[i], way.times(d));
  }
}

Term Backward::derivative(const Term& call, const char* text, const Way& way) {
  const Term x = call.args[0], y = call.args.back();
  const bool by_value = mentions(parsed(text, whole_term(0), whole_term(0), name_term("v")), "v");
  if (!by_value) return parsed(text, x, y, call);
  return parsed(text, x, y, e_.part_of(of_, call, reduced(way), conditions_of(call, way)));
}

}  // namespace hone::ops
