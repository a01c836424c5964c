// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/row_members.h"

#include <algorithm>
#include <cstdlib>

#include "schedules/covers.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/plan.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The variable of stage `s` that follows `var` of `root` through every reader, or "".
/// What later stages read besides may be kept for them. `recurs`: it may read itself.
std::string followed(const Plan& plan, const ir::Stage& s, const std::string& root,
                     const std::string& var, const std::map<std::string, std::string>& known,
                     Kept kept, bool recurs) {
  std::string own;
  const auto& stages = plan.program().stages;
  bool later = false;
  for (size_t r = 0; r < stages.size(); ++r) {
    const ir::Stage& reader = stages[r];
    if (later && kept == Kept::kToo) break;
    later = later || reader.name == root;
    if (!reads(reader, s.output)) continue;
    if (recurs && reader.name == s.name) continue;
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

}  // namespace

std::map<std::string, std::string> row_followers(const Plan& plan, const std::string& root,
                                                 const std::string& var, Kept kept,
                                                 bool recurrences) {
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
    const ir::Role role = plan.program().buffer(s.output)->role;
    const bool inner = role == ir::Role::kTemp || (role == ir::Role::kOutput && kept == Kept::kToo);
    if (s.name == root || !inner || !s.at.root() || !read_here(s.output)) continue;
    if (best_at_bind(plan, s)) continue;
    // What is laid out anew is made as a whole.
    if (laid_anew(plan.program(), s)) continue;
    const std::string own = followed(plan, s, root, var, known, kept, recurrences);
    if (!own.empty()) known[s.name] = own;
  }
  return known;
}

Kept may_keep(const Plan& plan, const ir::Stage& root) {
  const bool moves = plan.program().buffer(root.output)->role == ir::Role::kTemp;
  return moves ? Kept::kNot : Kept::kToo;
}

RowMembers row_members(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix,
                       Kept kept) {
  RowMembers out;
  // Rows lie one after the other in memory, whatever the order of the indices.
  std::vector<std::string> vars;
  for (const ir::IndexVar& v : root.vars) vars.push_back(v.name);
  const Access store = plan.facts(root.name).store;
  std::stable_sort(vars.begin(), vars.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(store.stride(a)) > std::abs(store.stride(b));
  });
  for (const std::string& v : vars) {
    const auto next = row_followers(plan, root.name, v, kept);
    if (next.empty()) break;
    bool same = true;
    for (const auto& [stage, own] : next) same = same && (prefix.empty() || out.count(stage));
    if (!same || (!prefix.empty() && next.size() != out.size())) break;
    for (const auto& [stage, own] : next) out[stage].push_back(own);
    prefix.push_back(v);
  }
  return out;
}

bool compute_members(Plan& plan, const RowMembers& members, const ir::Place& loop) {
  const ir::Program& program = plan.program();
  std::vector<std::string> own, kept;
  for (const auto& [member, vars] : members) {
    const std::string& output = plan.stage(member).output;
    const auto readers = readers_of(program, output);
    const bool others = std::any_of(readers.begin(), readers.end(), [&](size_t r) {
      const std::string& reader = program.stages[r].name;
      return reader != loop.stage && !members.contains(reader);
    });
    const bool temporary = program.buffer(output)->role == ir::Role::kTemp;
    (others && temporary ? kept : own).push_back(member);
  }
  std::vector<Step> steps;
  if (!kept.empty()) steps.push_back(step::compute_kept(kept, loop));
  if (!own.empty()) steps.push_back(step::compute(own, loop));
  Plan::Mark before = plan.mark();
  if (!plan.add_together(steps)) return false;
  // Windows of a row, say, may leave elements out that the later reader wants.
  for (const std::string& member : kept) {
    const std::string gap = gaps(plan.program(), plan.stage(member));
    if (gap.empty()) continue;
    plan.rewind(std::move(before));
    return plan.declines(gap);
  }
  return true;
}

}  // namespace hone::schedules
