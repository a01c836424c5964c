// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/product.h"

#include <algorithm>

namespace hone::ir {
namespace {

void add_factors(const Expr& e, std::vector<Expr>& out) {
  if (e->op != Op::kMul) {
    out.push_back(e);
    return;
  }
  for (const Expr& a : e->args) add_factors(a, out);
}

}  // namespace

std::vector<Expr> product_factors(const Expr& e) {
  std::vector<Expr> out;
  add_factors(e, out);
  return out;
}

Expr product_of(const std::vector<Expr>& factors) {
  Expr out = factors.front();
  for (size_t i = 1; i < factors.size(); ++i) out = out * factors[i];
  return out;
}

bool sums_products(const Stage& stage) {
  if (stage.reduce != Reduce::kSum || stage.value->op != Op::kMul) return false;
  return stage.value->type == stage.accumulate && stage.accumulate != DType::kBool;
}

bool reassociates(const Stage& stage) {
  if (!sums_products(stage) || !is_float(stage.accumulate)) return false;
  const std::vector<Expr> factors = product_factors(stage.value);
  if (factors.size() > 2) return true;
  return std::any_of(stage.rvars.begin(), stage.rvars.end(), [&](const IndexVar& v) {
    return std::any_of(factors.begin(), factors.end(),
                       [&](const Expr& f) { return !mentions_var(f, v.name); });
  });
}

}  // namespace hone::ir
