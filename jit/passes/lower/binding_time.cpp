// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/binding_time.h"

#include <algorithm>

#include "jit/ir/recurrence.h"
#include "jit/passes/joins.h"

namespace hone::jit {

using namespace ir;

/// Nothing of the call decides `e`: no dim, no scalar argument.
static bool same_in_all_calls(const Expr& e) {
  bool same = true;
  visit(e, [&](const Expr& x) { same &= x->op != Op::kDim && x->op != Op::kScalar; });
  return same;
}

/// Is `e` decided when constants are bound? `addresses`: it chooses elements or ends of ranges, and
/// data that do so are checked by the call.
bool BindingTime::is_bound(const Expr& e, bool addresses) {
  if (!e) return true;
  if (e->op == Op::kDim || e->op == Op::kScalar) return false;
  if (e->op == Op::kLoad) {
    if (addresses || !holds_constants(e->name)) return false;
    const bool checked = !e->guarded;
    for (size_t d = 0; d < e->args.size(); ++d) {
      const bool otherwise = e->guarded && d + 1 == e->args.size();
      if (!is_bound(e->args[d], checked && !otherwise)) return false;
    }
    return true;
  }
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const Expr& a) { return is_bound(a, addresses); });
}

/// Are the elements of `buffer`, and where they lie, known when constants are bound?
bool BindingTime::holds_constants(const std::string& buffer) {
  const Buffer& b = *program_.buffer(buffer);
  for (const auto* list : {&b.shape, &b.strides}) {
    if (!std::all_of(list->begin(), list->end(), same_in_all_calls)) return false;
  }
  const Stage* made = program_.producer(buffer);
  if (made && !made->at.root() &&
      !kept_at_root(program_, *made)) {  // lives inside the reader's loops
    std::optional<bool>& known = inner_bound_[program_.stages.index_of(*made)];
    if (!known) {
      known = false;  // of what it reads of itself
      known = is_bound(*made);
    }
    return *known;
  }
  const auto& all = context_.storage;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == buffer; });
  if (found == all.end()) return false;  // a stage reads what it computes itself
  const NestBuffer& n = nest_.buffers[static_cast<size_t>(found->second.buffer)];
  return n.home == Home::kBound || (n.home == Home::kArgument && b.constant);
}

/// Is a stage computed in its loops, or in those of such a stage, that a call keeps?
bool BindingTime::hosts_kept(const Stage& stage) const {
  return std::any_of(program_.stages.begin(), program_.stages.end(), [&](const Stage& s) {
    return s.at.stage == stage.name && (kept_at_root(program_, s) || hosts_kept(s));
  });
}

bool BindingTime::is_bound(const Stage& stage) {
  if (kept_at_root(program_, stage) || hosts_kept(stage)) return false;
  // What a recurrence reads of itself is nowhere yet.
  if (is_recurrence(stage) || context_.groups.of(program_.stages.index_of(stage))) return false;
  bool any = false, all = is_bound(stage.value, false) && is_bound(stage.where, false);
  each_load(stage, [&](const Expr&) { any = true; });
  for (const auto* list : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *list) all &= is_bound(v.lo, true) && is_bound(v.hi, true);
  }
  const Buffer& output = *program_.buffer(stage.output);
  return any && all && std::all_of(output.shape.begin(), output.shape.end(), same_in_all_calls);
}

}  // namespace hone::jit
