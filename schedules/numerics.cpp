// SPDX-License-Identifier: Apache-2.0
#include "schedules/numerics.h"

#include <algorithm>
#include <vector>

namespace hone::schedules {

using namespace ir;

namespace {

/// Leaves under a loop, in the order in which they would nest if nothing had been reordered.
void natural_leaves(const Stage& s, const std::string& loop, std::vector<std::string>& out) {
  for (const Relation& r : s.relations) {
    if (r.parent != loop && r.second != loop) continue;
    if (r.kind == Relation::kFuse && r.second == loop) return;  // with its partner
    natural_leaves(s, r.outer, out);
    if (r.kind == Relation::kSplit) natural_leaves(s, r.inner, out);
    return;
  }
  out.push_back(loop);
}

/// `loop*factor` for the inner loop of a split, else the name.
std::string with_extent(const Stage& s, const std::string& loop) {
  for (const Relation& r : s.relations) {
    if (r.kind == Relation::kSplit && r.inner == loop) return loop + "*" + std::to_string(r.factor);
  }
  return loop;
}

std::string join(const Stage& s, const std::vector<std::string>& loops) {
  std::string out;
  for (const std::string& l : loops) out += (out.empty() ? "" : " ") + with_extent(s, l);
  return out;
}

std::string order_of(const Stage& s) {
  std::vector<std::string> natural;
  for (const IndexVar& v : s.rvars) natural_leaves(s, v.name, natural);
  std::vector<std::string> actual;
  std::string lanes;
  for (const Loop& l : s.loops) {
    const bool reduced = std::find(natural.begin(), natural.end(), l.name) != natural.end();
    const bool kept = std::find(s.factored.begin(), s.factored.end(), l.name) != s.factored.end();
    if (!reduced || kept) continue;
    actual.push_back(l.name);
    if (l.mark == Mark::kVector) lanes = "lanes, ";
  }
  std::erase_if(natural, [&](const std::string& name) {
    return std::find(actual.begin(), actual.end(), name) == actual.end();
  });
  std::string out;
  if (!s.factored.empty()) out += "partial " + join(s, s.factored) + ", ";
  out += lanes;
  return out + (actual == natural ? "seq" : "order " + join(s, actual));
}

}  // namespace

std::string numerics_class(const Program& program) {
  std::string out;
  for (const Stage& s : program.stages) {
    if (s.reduce != Reduce::kSum && s.reduce != Reduce::kProd) continue;
    if (!is_float(s.accumulate)) continue;
    out += (out.empty() ? "" : "; ") + s.name + ": " + order_of(s);
  }
  return out.empty() ? "exact" : out;
}

}  // namespace hone::schedules
