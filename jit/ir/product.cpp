// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/product.h"

#include <algorithm>
#include <string>

#include "jit/ir/recurrence.h"

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

namespace {

/// True where a stage's result differs along the index `v`.
bool differs_along(const Program& program, const Stage& stage, const std::string& v);

/// True where a value differs along `var`. What another stage computes is read along the indices
/// that its results differ along.
bool moves_with(const Program& program, const Expr& e, const std::string& var) {
  if (!mentions_var(e, var)) return false;
  if (e->op == Op::kVar) return true;
  const Stage* made = e->op == Op::kLoad && !e->guarded ? program.producer(e->name) : nullptr;
  if (!made || is_recurrence(*made)) return true;
  for (size_t d = 0; d < e->args.size(); ++d) {
    if (!moves_with(program, e->args[d], var)) continue;
    const Expr& index = made->out_index[d];
    if (index->op != Op::kVar || differs_along(program, *made, index->name)) return true;
  }
  return false;
}

bool differs_along(const Program& program, const Stage& stage, const std::string& v) {
  const auto moves = [&](const Expr& e) { return e && moves_with(program, e, v); };
  return moves(stage.value) || moves(stage.where) || stage.from_old ||
         std::any_of(stage.rvars.begin(), stage.rvars.end(),
                     [&](const IndexVar& r) { return moves(r.lo) || moves(r.hi); });
}

}  // namespace

bool reassociates(const Program& program, const Stage& stage) {
  if (!sums_products(stage) || !is_float(stage.accumulate)) return false;
  const std::vector<Expr> factors = product_factors(stage.value);
  if (factors.size() > 2) return true;
  return std::any_of(stage.rvars.begin(), stage.rvars.end(), [&](const IndexVar& v) {
    return std::any_of(factors.begin(), factors.end(),
                       [&](const Expr& f) { return !moves_with(program, f, v.name); });
  });
}

}  // namespace hone::ir
