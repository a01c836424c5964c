// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/device_limits.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_reduce.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Threads along neighbouring columns, and of a block at most.
/// Fixed by: CUDA.
constexpr int64_t kColumns = ir::DeviceLimits::kWarp;
constexpr int64_t kMostThreads = ir::DeviceLimits::kBlockThreads;
/// Threads that fill a GPU: results of that many threads need no others for their terms.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kFilling = 256 << 10;
/// Threads of a block at least, where there are many.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kFewestThreads = 64;
/// Terms that are worth several threads, and those that one has at least.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kFewestTerms = 8;
constexpr int64_t kFewestEach = 4;

/// The reduced variable that is shared among rows of threads, or none, and `plan` told why. Loads
/// run along `last`, also those of rows that data choose.
Along across(Plan& plan, const std::string& name, const std::string& last) {
  const StageFacts facts = plan.facts(name);
  bool some = false;
  for (const Access& a : facts.loads) {
    if (a.stride(last) > 1) {
      plan.declines(a.buffer + " does not run along memory in " + last);
      return {};
    }
    some |= a.stride(last) == 1;
  }
  Along out;
  for (const ir::IndexVar& v : plan.stage(name).rvars) {
    const int64_t extent = typical_terms(plan, name, v.name);
    if (facts.bounds.contains(v.name) || extent <= out.extent) continue;
    out = {{v.name}, extent, static_cast<bool>(v.lo)};
  }
  if (some && out.extent >= kFewestTerms) return out;
  plan.declines(some ? "no reduced index has " + std::to_string(kFewestTerms) + " terms"
                     : "no load of " + name + " moves along " + last);
  return {};
}

/// A reduction and the variable of its columns.
struct Columns {
  std::string stage;
  std::string last;
  Along terms;
};

/// How threads share columns.
struct Shares {
  int64_t threads = kColumns;  ///< along the columns
  int64_t width = 1;           ///< columns of a thread, neighbours
  int64_t rows = 8;            ///< of threads, each with a part of the terms
};

Shares shares_of(const Plan& plan, const std::string& name, const std::string& last,
                 const std::vector<Columns>& reductions) {
  Shares out;
  int64_t terms = 1;
  out.width = kMostHeld;
  for (const Columns& c : reductions) {
    const std::string& output = plan.stage(c.stage).output;
    out.width = std::min(out.width, vector_width(plan, c.stage, {c.last}, {output}));
    terms = std::max(terms, c.terms.extent);
  }
  const int64_t results = plan.facts(name).points(plan.stage(name).vars);
  const int64_t columns = plan.facts(name).extent(last);
  while (out.width > 1 && results / (kColumns * out.width) < multiprocessors(plan)) out.width /= 2;
  // All of a short row, so that the next one is its neighbours' too.
  out.threads = std::clamp<int64_t>(columns / out.width, 1, kColumns);
  const int64_t others = std::max<int64_t>(1, results / out.width);
  const int64_t wanted =
      std::max(kBlockThreads / out.threads, power_of_two(filling(plan, kFilling) / others));
  const int64_t most = std::min(kMostThreads / out.threads, power_of_two(terms / kFewestEach));
  out.rows = std::clamp<int64_t>(wanted, 2, std::max<int64_t>(2, most));
  return out;
}

/// Blocks over neighbouring columns; the loop over a block's columns, a thread's inside it.
std::string bind_columns(Plan& plan, const std::string& name, const std::string& last,
                         const Shares& shares) {
  std::vector<std::string> others;
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    if (v.name != last) others.push_back(v.name);
  }
  const std::string range = cut_vectors(plan, name, last, shares.width);
  const std::string block = range + ".b", thread = range + ".t";
  if (range.empty() || !plan.add(step::split({name, range}, shares.threads, block, thread))) {
    return {};
  }
  std::vector<std::string> order = others;
  order.insert(order.end(), {block, thread});
  if (!plan.add(step::reorder(loops_of(name, order)))) return {};
  others = fuse_loops(plan, name, others);
  others.push_back(block);
  const bool bound =
      bind_blocks(plan, name, others) && plan.add(step::bind({name, thread}, ir::Mark::kThreadX));
  return bound ? thread : "";
}

/// What is reduced for each result of the stage: by itself, or by those that it reads point for
/// point. Empty, and `plan` told why, where some of it is not a reduction across columns.
std::vector<Columns> reductions_of(Plan& plan, const std::string& name, const std::string& last) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) {
    const Along terms = across(plan, name, last);
    return terms.loops.empty() ? std::vector<Columns>{} : std::vector<Columns>{{name, last, terms}};
  }
  std::vector<std::string> prefix;
  const RowMembers members = beside(plan, s, prefix);
  plan.declines("it neither reduces nor reads a reduction point for point");
  if (prefix.size() != s.vars.size()) return {};
  const auto at = std::find(prefix.begin(), prefix.end(), last) - prefix.begin();
  std::vector<Columns> out;
  for (const auto& [member, followed] : members) {
    const std::string own = followed[static_cast<size_t>(at)];
    const Along terms = across(plan, member, own);
    if (plan.stage(member).reduce == ir::Reduce::kNone) {
      plan.declines("stage " + member + ", which it needs beside it, does not reduce");
      return {};
    }
    if (terms.loops.empty()) return {};
    out.push_back({member, own, terms});
  }
  return out;
}

/// Reduces columns of a thread in its registers, with the threads of its column.
bool reduce_columns(Plan& plan, const Columns& c, const std::string& stage, const Shares& shares,
                    const Number& rows) {
  if (!reduce_by_threads(plan, stage, c.terms, rows, ir::Mark::kThreadY)) return false;
  if (shares.width > 1 &&
      (!move_innermost(plan, stage, c.last) || !plan.add(step::vectorize({stage, c.last})))) {
    return false;
  }
  unroll_share(plan, stage, c.terms.loops.back() + ".e", c.terms.extent, shares.rows, shares.width);
  return true;
}

bool apply_columns(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::string last = contiguous_var(plan, name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  if (s.vars.empty()) return plan.declines("the stage has one result");
  if (s.where) return plan.declines("the stage has a `where`");
  if (last.empty()) return plan.declines("none of its indices runs along memory");
  const int64_t results = plan.facts(name).points(s.vars);
  if (plan.facts(name).extent(last) < 2)
    return plan.declines("its index along memory has one value");
  const std::vector<Columns> reductions = reductions_of(plan, name, last);
  if (reductions.empty()) return false;
  const Shares shares = shares_of(plan, name, last, reductions);
  // Blocks of few threads would not fill a multiprocessor.
  const int64_t blocks = results / (shares.width * shares.threads);
  const bool small =
      shares.threads * shares.rows < kFewestThreads && blocks > multiprocessors(plan);
  if (results / shares.width > filling(plan, kFilling) / 2) {
    return plan.declines("its columns, a thread each, fill the GPU");
  }
  if (small) return plan.declines("its many blocks would have few threads each");
  const std::string thread = bind_columns(plan, name, last, shares);
  if (thread.empty()) return false;
  const ir::Place at{name, thread};
  Number rows = plan.knob(knob_name("rows", name), {4, 8, 16, 32}, shares.rows);
  for (const Columns& c : reductions) {
    const bool own = c.stage == name;
    const std::string stage = own ? s.output + ".own" : c.stage;
    const bool placed = plan.add(own ? step::stage(s.output, at, stage, {ir::Space::kRegisters})
                                     : step::compute({stage}, at, ir::Space::kRegisters));
    if (!placed || !reduce_columns(plan, c, stage, shares, rows)) return false;
    rows = rows.again();
    plan.finish(c.stage);
  }
  if (!lowers(plan)) return false;
  plan.finish(name);
  return true;
}

}  // namespace

const Rule gpu::kColumns = {
    "columns",
    "A reduction across the contiguous axis: a block has columns that lie side by side, its rows "
    "of threads each a part of the terms.",
    apply_columns,
};

}  // namespace hone::schedules
