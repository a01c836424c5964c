// SPDX-License-Identifier: Apache-2.0
//
// What instructions on tiles ask of a stage.
#include <algorithm>

#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// Iterations of `loop` where it runs whole: the factor of the split that made it the inner loop,
/// or its variable's extent. 0 where that is not fixed.
int64_t whole_extent(const ir::Stage& s, const std::string& loop) {
  for (const ir::Relation& r : s.relations) {
    if (r.kind == ir::Relation::kSplit && r.inner == loop) return r.factor;
  }
  int64_t extent = 0;
  const ir::IndexVar* v = s.var(loop);
  return v && !v->lo && ir::is_const(v->hi, &extent) ? extent : 0;
}

/// A load that moves along two dims, one with `along` and one with `k`; the same for all `other`.
bool is_factor(const ir::Expr& load, DType type, const std::string& along, const std::string& other,
               const std::string& k) {
  const int row = ir::dim_along(load->args, along), column = ir::dim_along(load->args, k);
  return load->type == type && row >= 0 && column >= 0 && row != column &&
         !ir::mentions_var(load, other);
}

}  // namespace

std::string tile_objection(const ir::Stage& s, const std::vector<std::string>& loops,
                           const ir::Instruction& row) {
  const std::string name = row.name;
  if (loops.size() != 3) return name + " takes three loops: rows, columns and the reduced one";
  if (!sums_products_of(s, row)) {
    return name + " takes " + std::string(name_of(row.accumulate)) + " sums of " +
           std::string(name_of(row.a)) + " * " + std::string(name_of(row.b)) +
           ", two loads without `else`; " + s.name + " is another value";
  }
  if (s.where || !s.factored.empty()) {
    return name + " takes whole tiles; " + s.name + " has values in part of its domain only";
  }
  const int64_t sizes[] = {row.rows, row.columns, row.group};
  std::string vars[3];
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<std::string> roots = roots_of(s, loops[i]);
    if (roots.size() != 1 || s.is_reduction_var(roots[0]) != (i == 2)) {
      return "loop " + loops[i] + " is no part of " + (i == 2 ? "a reduced" : "an output") +
             " index alone; " + name + " takes rows, columns and the reduced loop, in that order";
    }
    vars[i] = roots[0];
    const int64_t extent = whole_extent(s, loops[i]);
    if (i == 1 && row.most_columns > 0 && !ir::takes_columns(row, extent)) {
      return name + " takes 8, 16, 32, 64, 96, 128, 192 or 256 iterations of " + loops[i] +
             "; split its loop by one of them and name the inner one";
    }
    if (extent != sizes[i] && !(i == 1 && ir::takes_columns(row, extent))) {
      return name + " takes " + std::to_string(sizes[i]) + " iterations of " + loops[i] +
             "; split its loop by that and name the inner one";
    }
  }
  const Factors f = factors_of(s);
  const auto fits = [&](const ir::Expr& a, const ir::Expr& b) {
    return is_factor(a, row.a, vars[0], vars[1], vars[2]) &&
           is_factor(b, row.b, vars[1], vars[0], vars[2]);
  };
  if (!fits(f.a, f.b) && !fits(f.b, f.a)) {
    return name + " takes a factor of " + std::string(name_of(row.a)) + " indexed by " + vars[0] +
           " and " + vars[2] + " and one of " + std::string(name_of(row.b)) + " by " + vars[2] +
           " and " + vars[1] + ", each along a dim of its own, step for step";
  }
  return {};
}

}  // namespace hone::schedules
