// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/row_members.h"

#include <algorithm>
#include <cstdlib>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/plan.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The variable of stage `s` that follows `var` of `root` through every reader, or "".
std::string followed(const Plan& plan, const ir::Stage& s, const std::string& root,
                     const std::string& var, const std::map<std::string, std::string>& known) {
  std::string own;
  for (size_t r : readers_of(plan.program(), s.output)) {
    const ir::Stage& reader = plan.program().stages[r];
    std::string theirs;
    if (reader.name == root) {
      theirs = var;
    } else if (const auto it = known.find(reader.name); it != known.end()) {
      theirs = it->second;
    }
    const std::string here = theirs.empty() ? "" : follower(alignment(s, reader), theirs);
    if (here.empty() || (!own.empty() && own != here)) return {};
    own = here;
  }
  return own;
}

/// True of a tensor that lies in another order than its indices, and than the tensor it copies.
bool laid_anew(const ir::Program& program, const ir::Stage& s) {
  const ir::Buffer& b = *program.buffer(s.output);
  const ir::Buffer* from = s.value->op == ir::Op::kLoad ? program.buffer(s.value->name) : nullptr;
  return !b.axes.empty() && (!from || from->axes != b.axes);
}

/// Producers of `root` that follow `var`, each with its own variable for it.
std::map<std::string, std::string> following(const Plan& plan, const std::string& root,
                                             const std::string& var) {
  std::map<std::string, std::string> known;
  const auto& stages = plan.program().stages;
  const auto read_here = [&](const std::string& tensor) {
    return reads(*plan.program().stage(root), tensor) ||
           std::any_of(known.begin(), known.end(), [&](const auto& member) {
             return reads(*plan.program().stage(member.first), tensor);
           });
  };
  for (size_t i = stages.size(); i-- > 0;) {
    const ir::Stage& s = stages[i];
    const bool inner = plan.program().buffer(s.output)->role == ir::Role::kTemp;
    if (s.name == root || !inner || !s.at.root() || !read_here(s.output)) continue;
    if (best_at_bind(plan, s)) continue;
    // What is laid out anew is made as a whole.
    if (laid_anew(plan.program(), s)) continue;
    const std::string own = followed(plan, s, root, var, known);
    if (!own.empty()) known[s.name] = own;
  }
  return known;
}

}  // namespace

RowMembers row_members(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix) {
  RowMembers out;
  // Rows lie one after the other in memory, whatever the order of the indices.
  std::vector<std::string> vars;
  for (const ir::IndexVar& v : root.vars) vars.push_back(v.name);
  const Access store = plan.facts(root.name).store;
  std::stable_sort(vars.begin(), vars.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(store.stride(a)) > std::abs(store.stride(b));
  });
  for (const std::string& v : vars) {
    const auto next = following(plan, root.name, v);
    if (next.empty()) break;
    bool same = true;
    for (const auto& [stage, own] : next) same = same && (prefix.empty() || out.count(stage));
    if (!same || (!prefix.empty() && next.size() != out.size())) break;
    for (const auto& [stage, own] : next) out[stage].push_back(own);
    prefix.push_back(v);
  }
  return out;
}

}  // namespace hone::schedules
