// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/index_terms.h"

#include <algorithm>
#include <utility>

#include "ops/gradient/terms.h"
#include "ops/linear.h"

namespace hone::ops {

using ir::Expr;

namespace {

bool is_comparison(ir::Op op) { return op == ir::Op::kLt || op == ir::Op::kLe; }

/// A sum with its constant and negative terms on the other side of a comparison.
Expr tidy_comparison(const Expr& e) {
  Linear left, right;
  const Linear all = expanded(difference(e->args[0], e->args[1]));
  if (all.overflow) return e;
  for (const auto& [atom, coefficient] : all.terms) {
    Linear one;
    one.terms.emplace_back(atom, coefficient > 0 ? coefficient : -coefficient);
    (coefficient > 0 ? left : right).add(one, 1);
  }
  (left.terms.empty() ? left : right).add(left.terms.empty() ? all.constant : -all.constant);
  return ir::make_binary(e->op, expr_of(left), expr_of(right));
}

Expr binary(const Definition& d, const Term& t) {
  Expr a = index_expr(d, t.args[0]), b = index_expr(d, t.args[1]);
  if (!a || !b) return {};
  if (t.infix == Infix::kGt || t.infix == Infix::kGe) std::swap(a, b);
  return ir::make_binary(row_of(t.infix).op, a, b);
}

Infix infix_of(ir::Op op) {
  for (int i = 0; i <= static_cast<int>(Infix::kMod); ++i) {
    const Infix infix = static_cast<Infix>(i);
    if (row_of(infix).op == op && infix != Infix::kGt && infix != Infix::kGe) return infix;
  }
  return Infix::kAdd;
}

}  // namespace

bool is_number(const Definition& d, std::string_view name) {
  return d.param(name) || d.arg(name) ||
         std::find(d.dims.begin(), d.dims.end(), name) != d.dims.end();
}

Expr index_expr(const Definition& d, const Term& t) {
  switch (t.kind) {
    case Term::kInt:
      return ir::make_int(t.i);
    case Term::kName: {
      if (d.arg(t.name)) return ir::make_scalar(t.name, DType::kI64);
      return is_number(d, t.name) ? ir::make_dim(t.name) : ir::make_var(t.name);
    }
    case Term::kNeg:
    case Term::kNot: {
      const Expr a = index_expr(d, t.args[0]);
      if (!a) return {};
      return ir::make_unary(t.kind == Term::kNeg ? ir::Op::kNeg : ir::Op::kNot, a);
    }
    case Term::kInfix:
      return binary(d, t);
    case Term::kAccess: {
      std::vector<Expr> args;
      for (const Term& a : t.args) {
        args.push_back(index_expr(d, a));
        if (!args.back()) return {};
      }
      if (!t.guarded) return ir::make_load(t.name, DType::kI64, args);
      const Expr otherwise = args.back();
      args.pop_back();
      return ir::make_load(t.name, DType::kI64, args, otherwise);
    }
    case Term::kCall: {
      if ((t.name != "min" && t.name != "max") || t.args.size() != 2) return {};
      const Expr a = index_expr(d, t.args[0]), b = index_expr(d, t.args[1]);
      if (!a || !b) return {};
      return ir::make_binary(t.name == "min" ? ir::Op::kMin : ir::Op::kMax, a, b);
    }
    default:
      return {};
  }
}

Term index_term(const Expr& e) {
  std::vector<Term> args;
  for (const Expr& a : e->args) args.push_back(index_term(a));
  switch (e->op) {
    case ir::Op::kInt:
      return whole_term(e->i);
    case ir::Op::kVar:
    case ir::Op::kDim:
    case ir::Op::kScalar:
      return name_term(e->name);
    case ir::Op::kLoad: {
      Term t = access_term(e->name, std::move(args));
      t.guarded = e->guarded;
      return t;
    }
    case ir::Op::kMin:
    case ir::Op::kMax:
      return call_term(e->op == ir::Op::kMin ? "min" : "max", std::move(args));
    case ir::Op::kNeg:
    case ir::Op::kNot:
      return prefix_term(e->op == ir::Op::kNeg ? Term::kNeg : Term::kNot, std::move(args[0]));
    default:
      return infix_term(infix_of(e->op), std::move(args[0]), std::move(args[1]));
  }
}

Expr place_among(const std::vector<Bound>& ranges) {
  Expr out;
  for (const Bound& b : ranges) {
    const Expr here = ir::make_var(b.name) - b.lo;
    out = out ? out * (b.hi - b.lo) + here : here;
  }
  return tidy(out);
}

const Bound* varying_range(const std::vector<Bound>& ranges) {
  const auto varies = [](const Expr& x) { return x->op == ir::Op::kVar || x->op == ir::Op::kLoad; };
  for (const Bound& b : ranges) {
    if (ir::any_node(b.lo, varies) || ir::any_node(b.hi, varies)) return &b;
  }
  return nullptr;
}

Expr tidy(const Expr& e) {
  if (e->op == ir::Op::kVar || e->op == ir::Op::kDim || e->op == ir::Op::kInt) return e;
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(tidy(a));
  Expr out = args.empty() ? e : ir::with_args(e, std::move(args));
  if (is_comparison(out->op)) return tidy_comparison(out);
  const bool sum = out->op == ir::Op::kAdd || out->op == ir::Op::kSub || out->op == ir::Op::kMul ||
                   out->op == ir::Op::kNeg;
  if (!sum || out->type != DType::kI64) return out;
  const Linear form = expanded(linear_of(out));
  return form.overflow ? out : expr_of(form);
}

Expr with_value(const Expr& e, std::string_view name, const Expr& value) {
  return ir::rewrite(
      e, [&](const Expr& x) { return x->op == ir::Op::kVar && x->name == name ? value : Expr(); });
}

bool equal_index(const Expr& a, const Expr& b) {
  const Linear gap = expanded(difference(tidy(a), tidy(b)));
  return gap.is_constant() && gap.constant == 0;
}

}  // namespace hone::ops
