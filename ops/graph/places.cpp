// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/places.h"

#include "ops/gradient/index_terms.h"
#include "ops/graph/extent_range.h"
#include "ops/replaced_dims.h"

namespace hone::ops {

Places::Places(const GraphNode& node, const std::vector<ir::Dim>& dims) : node_(node), dims_(dims) {
  for (const ir::Dim& d : dims) facts_.define_dim(d.name, d.lo, d.hi);
  const Statement& s = node.op.definition->statements[0];
  for (size_t i = 0; i < s.indices.size(); ++i) loops_[s.indices[i].name] = static_cast<int>(i);
}

ir::Poly Places::extent(const ir::Expr& e) const { return ir::Poly::of(fixed(e), &facts_); }

ir::Poly Places::elements(const std::vector<ir::Expr>& shape) const {
  ir::Poly all = 1;
  for (const ir::Expr& e : shape) all = all * extent(e);
  return all;
}

void Places::define_loops(const std::vector<ir::Expr>& shape) {
  for (size_t i = 0; i < shape.size(); ++i) {
    const ir::Poly count = extent(shape[i]);
    facts_.define_loop(static_cast<int>(i), 0, count);
    single_.push_back(count.value() == 1);
  }
}

std::optional<ir::Poly> Places::index(const Term& t) const {
  const ir::Expr index = index_expr(*node_.op.definition, t);
  if (!index) return {};
  return ir::Poly::of(outside(index), &facts_);
}

std::optional<ir::Poly> Places::of(const std::vector<ir::Expr>& shape,
                                   const std::vector<Term>& indices) const {
  ir::Poly place = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto at = index(indices[d]);
    if (!at) return {};
    place = place * extent(shape[d]) + *at;
  }
  return place;
}

ir::Expr Places::fixed(const ir::Expr& extent) const { return with_fixed_dims(extent, dims_); }

ir::Expr Places::outside(const ir::Expr& index) const {
  const ir::Expr in_loops = ir::rewrite(index, [&](const ir::Expr& x) -> ir::Expr {
    const auto at = x->op == ir::Op::kVar ? loops_.find(x->name) : loops_.end();
    if (at == loops_.end()) return {};
    const auto loop = static_cast<size_t>(at->second);
    return loop < single_.size() && single_[loop] ? ir::make_int(0)
                                                  : ir::make_var(x->name, at->second);
  });
  return replaced_dims(in_loops, [&](const std::string& of_op) {
    for (const auto& [name, extent] : node_.numbers) {
      if (name == of_op) return fixed(extent);
    }
    return ir::make_dim(of_op);
  });
}

}  // namespace hone::ops
