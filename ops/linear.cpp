// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

#include <algorithm>

namespace hone::ops {

using ir::Expr;

namespace {

constexpr size_t kMostProducts = 64;  // terms of a product that is multiplied out

/// One product, whatever the order of its factors.
Expr product_in_order(std::vector<Expr> factors) {
  std::sort(factors.begin(), factors.end(),
            [](const Expr& x, const Expr& y) { return print(x) < print(y); });
  Expr out = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) out = out * factors[i];
  return out;
}

Expr canonical(const Expr& a, const Expr& b) {
  std::vector<Expr> factors;
  append_factors(a, factors);
  append_factors(b, factors);
  return product_in_order(std::move(factors));
}

}  // namespace

void Linear::add(int64_t value) { overflow |= __builtin_add_overflow(constant, value, &constant); }

void Linear::add(const Linear& other, int64_t scale) {
  int64_t scaled = 0;
  overflow |= other.overflow || __builtin_mul_overflow(other.constant, scale, &scaled);
  add(scaled);
  for (const auto& [atom, coefficient] : other.terms) {
    overflow |= __builtin_mul_overflow(coefficient, scale, &scaled);
    size_t i = 0;
    while (i < terms.size() && !ir::equal(terms[i].first, atom)) ++i;
    if (i == terms.size()) {
      terms.emplace_back(atom, scaled);
    } else {
      overflow |= __builtin_add_overflow(terms[i].second, scaled, &terms[i].second);
    }
    if (terms[i].second == 0) terms.erase(terms.begin() + static_cast<int64_t>(i));
  }
}

Linear linear_of(const Expr& e) {
  Linear out;
  switch (e->op) {
    case ir::Op::kInt:
      out.constant = e->i;
      return out;
    case ir::Op::kAdd:
    case ir::Op::kSub:
      out = linear_of(e->args[0]);
      out.add(linear_of(e->args[1]), e->op == ir::Op::kAdd ? 1 : -1);
      return out;
    case ir::Op::kNeg:
      out.add(linear_of(e->args[0]), -1);
      return out;
    case ir::Op::kMul: {
      const Linear a = linear_of(e->args[0]);
      const Linear b = linear_of(e->args[1]);
      if (!a.is_constant() && !b.is_constant()) break;
      out.add(a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
      return out;
    }
    default:
      break;
  }
  out.terms.emplace_back(e, 1);
  return out;
}

Linear difference(const Expr& a, const Expr& b) {
  Linear out = linear_of(a);
  out.add(linear_of(b), -1);
  return out;
}

Expr expr_of(const Linear& form) {
  // Positive terms first, so that H - 1 does not read -1 + H.
  Expr sum;
  for (const bool positive : {true, false}) {
    for (const auto& [atom, coefficient] : form.terms) {
      if ((coefficient > 0) != positive) continue;
      if (positive || !sum) {
        const Expr term = ir::make_int(coefficient) * atom;
        sum = sum ? sum + term : term;
      } else {
        sum = sum - ir::make_int(-coefficient) * atom;
      }
    }
  }
  if (!sum) return ir::make_int(form.constant);
  return form.constant < 0 ? sum - ir::make_int(-form.constant) : sum + ir::make_int(form.constant);
}

void append_factors(const Expr& e, std::vector<Expr>& out) {
  if (e->op != ir::Op::kMul) {
    out.push_back(e);
    return;
  }
  append_factors(e->args[0], out);
  append_factors(e->args[1], out);
}

Linear expanded(const Linear& form) {
  const bool products = std::any_of(form.terms.begin(), form.terms.end(),
                                    [](const auto& t) { return t.first->op == ir::Op::kMul; });
  if (!products) return form;
  Linear out;
  out.add(form.constant);
  out.overflow |= form.overflow;
  for (const auto& [atom, coefficient] : form.terms) {
    Linear term;
    if (atom->op == ir::Op::kMul) {
      term = product_of(expanded(linear_of(atom->args[0])), expanded(linear_of(atom->args[1])));
    }
    if (atom->op != ir::Op::kMul || term.overflow) {
      term = {};
      term.terms.emplace_back(atom, 1);
    }
    out.add(term, coefficient);
  }
  return out;
}

Linear product_of(const Linear& a, const Linear& b) {
  Linear out;
  if (a.terms.size() * b.terms.size() > kMostProducts) {
    out.overflow = true;
    return out;
  }
  out.add(a, b.constant);
  Linear others = b;
  others.constant = 0;
  out.add(others, a.constant);
  out.overflow |= a.overflow || b.overflow;
  for (const auto& [x, cx] : a.terms) {
    for (const auto& [y, cy] : b.terms) {
      Linear one;
      one.terms.emplace_back(canonical(x, y), 1);
      int64_t coefficient = 0;
      out.overflow |= __builtin_mul_overflow(cx, cy, &coefficient);
      out.add(one, coefficient);
    }
  }
  return out;
}

Expr normal_form(const Expr& e) {
  // Atoms first: what stands under a division has a form of its own.
  const auto atom = [](const Expr& x) {
    std::vector<Expr> args;
    for (const Expr& a : x->args) args.push_back(a ? normal_form(a) : a);
    return args.empty() ? x : ir::with_args(x, std::move(args));
  };
  const auto sum = [](const Expr& x) {
    return x->op == ir::Op::kAdd || x->op == ir::Op::kSub || x->op == ir::Op::kNeg ||
           x->op == ir::Op::kMul;
  };
  if (!sum(e)) return atom(e);
  Linear form = expanded(linear_of(e));
  if (form.overflow) return e;
  Linear out;
  out.add(form.constant);
  for (const auto& [x, coefficient] : form.terms) {
    std::vector<Expr> factors;
    append_factors(x, factors);
    Linear product;
    for (Expr& f : factors) f = sum(f) ? f : atom(f);
    product.terms.emplace_back(product_in_order(std::move(factors)), 1);
    out.add(product, coefficient);
  }
  std::sort(out.terms.begin(), out.terms.end(),
            [](const auto& a, const auto& b) { return print(a.first) < print(b.first); });
  return out.overflow ? e : expr_of(out);
}

}  // namespace hone::ops
