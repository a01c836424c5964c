// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/gpu_product.h"

#include <algorithm>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/gpu.h"

namespace hone::schedules {
namespace {

/// What a product must have. `least`: of its sides, and `terms` along its sum's longest index.
struct Wanted {
  int64_t least, terms;
  bool guarded;  ///< may have loads that leave their tensors
};

Product find_product(const Plan& plan, const std::string& name, const Wanted& wanted) {
  Product p;
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const auto none = [&](std::string why) {
    p.missing = std::move(why);
    return p;
  };
  if (s.reduce == ir::Reduce::kNone) return none("it neither reduces nor ends a reduction");
  if (facts.loads.size() < 2) return none("what it reduces is no product of two loads");
  for (const Access& a : facts.loads) {
    if (a.gathers) return none("data choose where it reads " + a.buffer);
    if (a.guarded && !wanted.guarded) return none("a load of " + a.buffer + " may leave it");
  }
  const auto reused = [&](const std::string& var) {
    return !facts.bounds.contains(var) &&
           std::any_of(facts.loads.begin(), facts.loads.end(),
                       [&](const Access& a) { return a.stride(var) == 0; });
  };
  // A factor has `a` and not `b`.
  const auto apart = [&](const std::string& a, const std::string& b) {
    return std::any_of(facts.loads.begin(), facts.loads.end(),
                       [&](const Access& l) { return l.stride(a) != 0 && l.stride(b) == 0; });
  };
  std::string m, n;
  bool crosses = false;  // m and n are of different factors: none is as large as the tile
  for (const ir::IndexVar& v : s.vars) {
    if (facts.extent(v.name) < wanted.least || !reused(v.name)) continue;
    if (n.empty() || facts.store.stride(v.name) < facts.store.stride(n)) n = v.name;
  }
  for (const ir::IndexVar& v : s.vars) {
    if (v.name == n || facts.extent(v.name) < wanted.least || !reused(v.name)) continue;
    const bool across = apart(v.name, n) && apart(n, v.name);
    if (crosses && !across) continue;
    const int64_t longer =
        m.empty() || across != crosses ? 1 : facts.extent(v.name) - facts.extent(m);
    const bool nearer = !m.empty() && facts.store.stride(v.name) < facts.store.stride(m);
    if (longer > 0 || (longer == 0 && nearer)) m = v.name, crosses = across;
  }
  for (const ir::IndexVar& v : s.rvars) {
    if (v.lo || facts.extent(v.name) < wanted.terms) continue;
    if (p.k.empty() || facts.extent(v.name) > facts.extent(p.k)) p.k = v.name;
  }
  const std::string values = " of " + std::to_string(wanted.least) + " values";
  if (m.empty()) return none("no two indices" + values + " use a factor again");
  if (p.k.empty()) {
    return none("no reduced index runs from 0 over " + std::to_string(wanted.terms));
  }
  for (const ir::IndexVar& v : s.vars) {
    if (v.name != m && v.name != n) p.others.push_back(v.name);
  }
  for (const Access& a : facts.loads) {
    if (std::find(p.operands.begin(), p.operands.end(), a.buffer) == p.operands.end()) {
      p.operands.push_back(a.buffer);
    }
  }
  p.m = m;
  p.n = n;
  return p;
}

}  // namespace

Product product_of(const Plan& plan, const std::string& name, int64_t least) {
  return find_product(plan, name, {least, least, false});
}

Product product_before_copies(const Plan& plan, const std::string& name, int64_t least) {
  return find_product(plan, name, {least, 2, true});
}

std::string owner_of(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  if (plan.program().buffer(s.output)->role != ir::Role::kTemp) return name;
  const std::vector<size_t> readers = readers_of(plan.program(), s.output);
  if (readers.size() != 1) return name;
  const ir::Stage& reader = plan.program().stages[readers[0]];
  const bool fits = reader.reduce == ir::Reduce::kNone && reader.at.root() &&
                    reader.vars.size() == s.vars.size() && pointwise(s, reader);
  return fits ? reader.name : name;
}

Product product_at(const Plan& plan, const std::string& name, std::string& stage, int64_t least) {
  stage = name;
  Product p = product_of(plan, name, least);
  if (!p.m.empty()) return p;
  for (const Access& a : plan.facts(name).loads) {
    const ir::Stage* made = plan.program().producer(a.buffer);
    if (!made || made->name == name || owner_of(plan, made->name) != name) continue;
    p = product_of(plan, made->name, least);
    stage = made->name;
    if (!p.m.empty()) break;
  }
  return p;
}

Product own_product(const Plan& plan, const std::string& name, std::string& stage, int64_t least) {
  Product p = product_at(plan, name, stage, least);
  if (p.m.empty()) return p;
  const std::string owner = owner_of(plan, stage);
  if (!plan.stage(name).at.root()) p.missing = "the stage is computed inside another";
  if (owner != name) p.missing = "stage " + owner + " computes its tiles";
  if (!p.missing.empty()) p.m.clear();
  return p;
}

}  // namespace hone::schedules
