// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/stage_loops.h"

#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

StageLoops::StageLoops(const Stage& s) : stage(&s) {
  for (const IndexVar& v : s.vars)
    nodes.push_back({.name = v.name, .var = static_cast<int>(nodes.size())});
  for (const IndexVar& v : s.rvars) {
    nodes.push_back({.name = v.name, .var = static_cast<int>(nodes.size()), .reduction = true});
  }
  for (size_t r = 0; r < s.relations.size(); ++r) {
    const Relation& rel = s.relations[r];
    const int from = find(rel.parent);
    const bool reduction = nodes[static_cast<size_t>(from)].reduction;
    const int made = static_cast<int>(r);
    parent.push_back(from);
    outer.push_back(static_cast<int>(nodes.size()));
    nodes.push_back({.name = rel.outer, .made_by = made, .reduction = reduction});
    if (rel.kind == Relation::kSplit) {
      nodes[static_cast<size_t>(from)].split_into = made;
      inner.push_back(static_cast<int>(nodes.size()));
      second.push_back(-1);
      nodes.push_back({.name = rel.inner, .made_by = made, .inner = true, .reduction = reduction});
    } else {
      const int other = find(rel.second);
      nodes[static_cast<size_t>(from)].fused_by = made;
      nodes[static_cast<size_t>(other)].fused_by = made;
      inner.push_back(-1);
      second.push_back(other);
    }
  }
  for (size_t f = 0; f < s.factored.size(); ++f) {
    LoopNode& n = nodes[static_cast<size_t>(find(s.factored[f]))];
    n.factored = static_cast<int>(f);
    n.reduction = false;
  }
  for (const Loop& l : s.loops) order.push_back(find(l.name));
}

int StageLoops::find(std::string_view name) const {
  // The youngest node of a name: a factored loop may carry the name of its root.
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].name == name) return static_cast<int>(i);
  }
  reject("stage " + stage->name + " has no loop named " + std::string(name));
}

}  // namespace hone::jit
