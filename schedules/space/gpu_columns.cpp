// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/gpu.h"
#include "schedules/space/gpu_reduce.h"
#include "schedules/space/rows.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"

namespace hone::schedules {
namespace {

/// Columns of a block, neighbours in memory.
constexpr int64_t kColumns = 32;
/// Results from which a thread each fills a GPU.
constexpr int64_t kManyResults = 128 << 10;
/// Terms that are worth several threads.
constexpr int64_t kFewestTerms = 32;

/// The reduced variable of which rows of threads take a part each, or none: loads run along `last`.
Along across(const Plan& plan, const std::string& name, const std::string& last) {
  const StageFacts facts = plan.facts(name);
  bool some = false;
  for (const Access& a : facts.loads) {
    if (a.gathers || a.stride(last) > 1) return {};
    some |= a.stride(last) == 1;
  }
  Along out;
  for (const ir::IndexVar& v : plan.stage(name).rvars) {
    if (v.lo || !facts.bounds.empty() || facts.extent(v.name) <= out.extent) continue;
    out = {{v.name}, facts.extent(v.name)};
  }
  return some && out.extent >= kFewestTerms ? out : Along{};
}

/// Blocks over neighbouring columns; the loop over a block's columns.
std::string bind_columns(Plan& plan, const std::string& name, const std::string& last) {
  std::vector<std::string> others;
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    if (v.name != last) others.push_back(v.name);
  }
  const std::string block = last + ".b", thread = last + ".t";
  if (!plan.add("split " + name + "/" + last + " " + std::to_string(kColumns) + " -> " + block +
                " " + thread)) {
    return {};
  }
  std::string order = "reorder";
  for (const std::string& l : others) order += " " + name + "/" + l;
  if (!plan.add(order + " " + name + "/" + block + " " + name + "/" + thread)) return {};
  others = fuse_loops(plan, name, others);
  others.push_back(block);
  const std::string at = name + "/" + thread;
  return bind_blocks(plan, name, others) && plan.add("bind " + at + " thread.x") ? at : "";
}

/// A reduction and the variable of its columns.
struct Columns {
  std::string stage;
  Along terms;
};

/// What is reduced for each result of the stage: by itself, or by those that it reads point for
/// point. Empty where some of it is not a reduction across columns.
std::vector<Columns> reductions_of(const Plan& plan, const std::string& name,
                                   const std::string& last) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) {
    const Along terms = across(plan, name, last);
    return terms.loops.empty() ? std::vector<Columns>{} : std::vector<Columns>{{name, terms}};
  }
  std::vector<std::string> prefix;
  const RowMembers members = beside(plan, s, prefix);
  if (prefix.size() != s.vars.size()) return {};
  const auto at = std::find(prefix.begin(), prefix.end(), last) - prefix.begin();
  std::vector<Columns> out;
  for (const auto& [member, followed] : members) {
    const Along terms = across(plan, member, followed[static_cast<size_t>(at)]);
    if (plan.stage(member).reduce == ir::Reduce::kNone || terms.loops.empty()) return {};
    out.push_back({member, terms});
  }
  return out;
}

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::string last = contiguous_var(plan, name);
  if (!s.at.root() || s.vars.empty() || s.where || last.empty()) return false;
  int64_t results = 1;
  for (const ir::IndexVar& v : s.vars) results *= plan.facts(name).extent(v.name);
  if (results > kManyResults || plan.facts(name).extent(last) < kColumns / 2) return false;
  const std::vector<Columns> reductions = reductions_of(plan, name, last);
  const std::string at = reductions.empty() ? "" : bind_columns(plan, name, last);
  if (at.empty()) return false;
  std::string rows = plan.knob(knob_name("rows", name), {4, 8, 16, 32}, 8);
  for (const Columns& c : reductions) {
    const bool own = c.stage == name;
    const std::string stage = own ? s.output + ".own" : c.stage;
    const std::string step =
        own ? "stage " + s.output + " at " + at + " -> " + stage : "compute " + stage + " at " + at;
    if (!plan.add(step + " in=registers")) return false;
    if (!reduce_by_threads(plan, stage, c.terms, rows, "y")) return false;
    rows = Plan::again(rows);
    plan.finish(c.stage);
  }
  if (!lowers(plan)) return false;
  plan.finish(name);
  return true;
}

}  // namespace

const Rule kGpuColumns = {
    "columns",
    "A reduction across the contiguous axis: a block has columns that lie side by side, its rows "
    "of threads each a part of the terms.",
    apply,
};

}  // namespace hone::schedules
