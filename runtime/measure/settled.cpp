// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/settled.h"

#include <algorithm>
#include <map>
#include <string>

#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "runtime/measure/domain.h"
#include "runtime/measure/lines.h"

namespace hone::runtime {
namespace {

using Values = std::map<std::string, ir::Expr>;

ir::Expr with_values(const ir::Expr& e, const Values& values) {
  if (!e) return e;
  return ir::rewrite(e, [&](const ir::Expr& x) {
    const auto at = x->op == ir::Op::kVar ? values.find(x->name) : values.end();
    return at != values.end() ? at->second : ir::Expr();
  });
}

/// The variables of a stage that take one value.
Values settled_vars(const ir::Stage& stage, const Domain& domain) {
  Values out;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *vars) {
      if (!is_closed(v.hi) || (v.lo && !is_closed(v.lo)) || !vars_of(v.hi).empty()) continue;
      if (v.lo && !vars_of(v.lo).empty()) continue;
      if (domain.closed(v.hi) - (v.lo ? domain.closed(v.lo) : 0) != 1) continue;
      out[v.name] = ir::make_int(static_cast<int64_t>(domain.closed(v.hi)) - 1);
    }
  }
  return out;
}

/// Nodes of a value that readers may compute for themselves.
/// Chosen: stages that read one another would grow by powers (not measured).
constexpr uint64_t kMostNodes = 256;

class Settling {
 public:
  Settling(const ir::Program& program, const ir::Stage& stage, std::span<const int64_t> dims)
      : program_(program), domain_(program, stage, dims), vars_(settled_vars(stage, domain_)) {}

  /// Stages that indices tell stand where a whole condition, or all of the value, is told so. Else
  /// a table that is read would be computed again for each reader.
  ir::Expr operator()(const ir::Expr& e) const {
    if (!e) return e;
    const ir::Expr plain = rewritten(with_values(e, vars_), false);
    if (const ir::Expr told = rewritten(plain, true); is_closed(told)) return told;
    return ir::rewrite(plain, [&](const ir::Expr& x) {
      const ir::Expr told = x->type == DType::kBool ? rewritten(x, true) : ir::Expr();
      return told && is_closed(told) ? told : ir::Expr();
    });
  }

 private:
  ir::Expr rewritten(const ir::Expr& e, bool tell) const {
    return ir::rewrite(e, [&](const ir::Expr& x) {
      if (x->op != ir::Op::kLoad || x->guarded) return ir::Expr();
      return tell ? told(x) : with_repeats(x);
    });
  }

  /// The value of a stage that indices tell; null of others.
  ir::Expr told(const ir::Expr& e) const {
    const ir::Stage* made = program_.producer(e->name);
    return made && is_closed(made->value) ? value_for_reader(program_, *made, e->args) : ir::Expr();
  }

  /// The read with index 0 along dims whose elements are all one; null where there are none.
  ir::Expr with_repeats(const ir::Expr& e) const {
    const ir::Buffer* b = program_.buffer(e->name);
    if (!b) return {};
    std::vector<ir::Expr> indices = e->args;
    for (size_t d = 0; d < b->shape.size() && d < indices.size(); ++d) {
      if (is_repeated(*b, d, domain_)) indices[d] = ir::make_int(0);
    }
    return ir::with_args(e, std::move(indices));
  }

  const ir::Program& program_;
  Domain domain_;
  Values vars_;
};

}  // namespace

ir::Expr value_for_reader(const ir::Program& program, const ir::Stage& stage,
                          const std::vector<ir::Expr>& indices) {
  const bool plain = std::all_of(stage.out_index.begin(), stage.out_index.end(),
                                 [](const ir::Expr& e) { return e->op == ir::Op::kVar; });
  if (!plain || stage.reduce != ir::Reduce::kNone || stage.where) return {};
  if (program.buffer(stage.output)->role != ir::Role::kTemp || ir::is_recurrence(stage)) return {};
  if (!ir::scattered_vars(stage).empty() || ir::tree_size(stage.value) > kMostNodes) return {};
  Values at;
  for (size_t d = 0; d < stage.out_index.size(); ++d) at[stage.out_index[d]->name] = indices[d];
  return with_values(stage.value, at);
}

ir::Program with_settled_indices(ir::Program program, std::span<const int64_t> dims) {
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const ir::Program before = program;
    const ir::Stage& stage = before.stages[i];
    if (ir::is_recurrence(stage) || !ir::scattered_vars(stage).empty()) continue;
    const Settling settled(before, stage, dims);
    const ir::Expr value = settled(stage.value), where = settled(stage.where);
    if (value.get() == stage.value.get() && where.get() == stage.where.get()) continue;
    ir::Stage& changed = program.stages.edit(i);
    changed.value = value;
    changed.where = where;
  }
  return program;
}

}  // namespace hone::runtime
