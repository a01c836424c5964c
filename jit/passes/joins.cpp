// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/joins.h"

#include <algorithm>

#include "jit/passes/stage_tree.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Says more than a name and a position together.
/// Fixed by: their sum.
constexpr int kAlikeInMemory = 4, kSameName = 2, kSamePlace = 1;

bool same_bound(const Expr& a, const Expr& b) { return a && b ? equal(a, b) : !a && !b; }

/// True where the two index the same dim of a tensor that both stages read.
bool index_alike(const Stage& a, const std::string& var, const Stage& b, const std::string& other) {
  bool found = false;
  each_load(a, [&](const Expr& x) {
    each_load(b, [&](const Expr& y) {
      if (found || x->name != y->name) return;
      for (size_t d = 0; d < std::min(x->args.size(), y->args.size()); ++d) {
        found = found || (mentions_var(x->args[d], var) && mentions_var(y->args[d], other));
      }
    });
  });
  return found;
}

}  // namespace

bool kept_at_root(const Program& program, const Stage& stage) {
  if (stage.at.root()) return false;
  const Buffer& b = *program.buffer(stage.output);
  return b.role != Role::kTemp || b.space == Space::kRoot;
}

std::vector<std::string> joined(const Stage& stage, const Stage& owner, bool by_name) {
  std::vector<const IndexVar*> theirs;
  for (const auto* list : {&owner.vars, &owner.rvars}) {
    for (const IndexVar& v : *list) theirs.push_back(&v);
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < stage.vars.size(); ++i) {
    const IndexVar& v = stage.vars[i];
    int most = 0;
    std::string best;
    for (size_t k = 0; k < theirs.size(); ++k) {
      const IndexVar& w = *theirs[k];
      if (!same_bound(v.lo, w.lo) || !same_bound(v.hi, w.hi)) continue;
      if (std::find(out.begin(), out.end(), w.name) != out.end()) continue;
      if (by_name && v.name != w.name) continue;
      const int likeness = (index_alike(stage, v.name, owner, w.name) ? kAlikeInMemory : 0) +
                           (v.name == w.name ? kSameName : 0) + (i == k ? kSamePlace : 0);
      if (likeness <= most) continue;
      most = likeness;
      best = w.name;
    }
    out.push_back(best);
  }
  return out;
}

}  // namespace hone::jit
