// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "jit/ir/device_limits.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_reduce.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Arithmetic of a point up to which it is done again by each reader, rather than kept.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int kCheap = 48;
/// Bytes of shared memory that the rows of a block may take.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kShared = 32 << 10;

/// The rows that a block works on.
struct Group {
  ir::Place at;  ///< the loop over rows
  RowThreads threads;

  /// Gives what `stage` reduces of a row to the row's threads.
  bool reduce(Plan& plan, const std::string& stage, const Along& along) const {
    return reduce_by_threads(plan, stage, along, threads.threads, ir::Mark::kThreadX,
                             threads.width);
  }
};

/// Elements of a row that every access to memory allows at once, of the members and of `name` along
/// `range`, which may be empty. One width for all: a thread reads the same part of a row each time.
int64_t row_width(const Plan& plan, const std::string& name, const std::vector<std::string>& range,
                  const RowMembers& members) {
  std::set<std::string> inside;
  for (const auto& [member, followed] : members) inside.insert(plan.stage(member).output);
  int64_t width = range.empty() ? kMostHeld : vector_width(plan, name, range, inside);
  for (const auto& [member, followed] : members) {
    const Along reduced = reduced_along(plan, member);
    std::vector<std::string> along = reduced.loops;
    if (reduced.ragged) return 1;
    if (along.empty()) {
      const std::string var = contiguous_var(plan, member);
      const bool row = std::find(followed.begin(), followed.end(), var) != followed.end();
      if (var.empty() || row) continue;
      along = {var};
    }
    width = std::min(width, vector_width(plan, member, along, inside));
  }
  return width;
}

Group group_for(Plan& plan, int64_t rows, int64_t extent, int64_t width) {
  const bool vectors = width > 1 && plan.decide("rows by vectors", 2, 1) == 1;
  return {{}, row_threads(plan, rows, extent, vectors ? width : 1)};
}

/// Gives the elements of a row that the root writes to the row's threads.
bool spread_row(Plan& plan, const std::string& name, const std::string& var, const Group& group) {
  const int64_t threads = group.threads.threads, extent = plan.facts(name).extent(var);
  const int64_t width = group.threads.width;
  const std::string range = cut_vectors(plan, name, plan.loop_of(name, var), width);
  if (range.empty()) return false;
  // In the order in which reductions of the row have these loops: they read what those have read.
  const std::string each = range + ".e", thread = range + ".t";
  std::vector<std::string> order = {thread, each};
  if (width > 1) order.push_back(plan.loop_of(name, var));
  if (!plan.add(step::split({name, range}, threads, each, thread)) ||
      !plan.add(step::reorder(loops_of(name, order))) ||
      !plan.add(step::bind({name, thread}, ir::Mark::kThreadX))) {
    return false;
  }
  unroll_share(plan, name, each, extent, threads, width);
  return true;
}

/// Gives the rows of a root stage to blocks, or to rows of threads in a block.
bool bind_rows(Plan& plan, const std::string& name, const std::vector<std::string>& vars,
               Group& group) {
  std::vector<std::string> loops = fuse_loops(plan, name, vars);
  if (loops.empty()) return false;
  if (group.threads.rows > 1) {
    const std::string row = loops.back();
    const Number rows = plan.knob(knob_name("rows", name), {2, 4, 8, 16}, group.threads.rows);
    if (!plan.add(step::split({name, row}, rows, row + ".b", row + ".w"))) return false;
    loops.back() = row + ".b";
    group.at = {name, row + ".w"};
    return bind_blocks(plan, name, loops) && plan.add(step::bind(group.at, ir::Mark::kThreadY));
  }
  group.at = {name, loops.back()};
  return bind_blocks(plan, name, loops);
}

/// Places what is computed without reduction for a row: again where it is read if that is cheap,
/// else in shared memory.
bool place_points(Plan& plan, const std::string& member, const std::vector<std::string>& followed,
                  const Group& group) {
  const ir::Stage s = plan.stage(member);
  if (followed.size() == s.vars.size()) {
    return plan.add(step::compute({member}, group.at, ir::Space::kRegisters));
  }
  const int64_t row = size_of(plan.program().buffer(s.output)->type) * group.threads.rows;
  const int64_t bytes = saturating_product(row, plan.facts(member).points(s.vars));
  const std::string var = contiguous_var(plan, member);
  const bool fits = bytes <= kShared && !var.empty() &&
                    std::find(followed.begin(), followed.end(), var) == followed.end();
  const bool cheap = plan.facts(member).operations <= kCheap;
  if (!fits || plan.decide("do again what rows need point by point", 2, cheap ? 1 : 0) == 1) {
    return plan.add(step::inline_stage(member));
  }
  if (!plan.add(step::compute({member}, group.at, ir::Space::kSharedMemory))) return false;
  if (group.threads.rows > 1 &&
      !plan.add(step::bind({member, followed.back()}, ir::Mark::kThreadY))) {
    return false;
  }
  return bind_threads(plan, member, var, group.threads.threads, ir::Mark::kThreadX);
}

/// Why threads have no row of what a stage reduces.
std::string no_row_of(const std::string& stage) {
  return "no reduced index of " + stage + " runs along memory for " + std::to_string(kShortestRow) +
         " terms";
}

/// Places all that a row needs, consumers first: an inlined stage has none left.
bool place_members(Plan& plan, const RowMembers& members, const Group& group) {
  const auto stages = plan.program().stages;
  for (size_t i = stages.size(); i-- > 0;) {
    const auto found = members.find(stages[i].name);
    if (found == members.end()) continue;
    const auto& [member, followed] = *found;
    for (const std::string& var : followed) plan.set_window(member, var, 1);
    if (stages[i].reduce == ir::Reduce::kNone) {
      if (!place_points(plan, member, followed, group)) return false;
    } else {
      const Along along = reduced_along(plan, member);
      if (followed.size() != stages[i].vars.size()) {
        return plan.declines("stage " + member + " reduces several values of each row");
      }
      if (along.loops.empty()) return plan.declines(no_row_of(member));
      if (!plan.add(step::compute({member}, group.at, ir::Space::kRegisters)) ||
          !group.reduce(plan, member, along)) {
        return false;
      }
    }
    plan.finish(member);
  }
  return true;
}

/// The dim of `a` along which it reads `extent` neighbours, or nothing.
std::optional<size_t> row_dim(const StageFacts& facts, const Access& a, int64_t extent) {
  for (size_t d = 0; d < a.indices.size(); ++d) {
    const std::string var = plain_var(a.indices[d]);
    const bool row = !var.empty() && a.stride(var) == 1 && facts.extent(var) == extent;
    if (row && !a.gathers && !a.guarded) return d;
  }
  return {};
}

/// A row too long for registers: what several stages read of it passes through shared memory, where
/// it fits, so that memory is read once.
void share_row(Plan& plan, const std::string& name, const RowMembers& members, const Group& group,
               int64_t extent) {
  if (group.threads.rows > 1 || extent <= group.threads.threads * kMostHeld) return;
  std::map<std::string, std::pair<int, size_t>> readers;  // and the dim of the row
  const auto look = [&](const std::string& stage) {
    const StageFacts facts = plan.facts(stage);
    for (const Access& a : facts.loads) {
      const auto dim = row_dim(facts, a, extent);
      if (dim) readers[a.buffer] = {readers[a.buffer].first + 1, *dim};
    }
  };
  look(name);
  for (const auto& [member, followed] : members) {
    if (plan.program().stage(member)) look(member);
  }
  int64_t left = operand_bytes(plan);
  for (const auto& [tensor, found] : readers) {
    const ir::Buffer b = *plan.program().buffer(tensor);
    const int64_t bytes = at_most(plan.program(), b.shape[found.second]) * size_of(b.type);
    if (found.first < 2 || bytes > left) continue;
    Plan::Mark before = plan.mark();
    const std::string copy = tensor + ".row";
    const bool placed = plan.add(step::stage(tensor, group.at, copy, {ir::Space::kSharedMemory}));
    const std::string range =
        placed ? cut_vectors(plan, copy, dim_name(found.second), group.threads.width) : "";
    const std::string each = range + ".e", thread = range + ".t";
    if (range.empty() ||
        !plan.add(step::split({copy, range}, group.threads.threads, each, thread)) ||
        !plan.add(step::bind({copy, thread}, ir::Mark::kThreadX))) {
      plan.rewind(std::move(before));
      continue;
    }
    unroll_share(plan, copy, each, extent, group.threads.threads, group.threads.width);
    if (lowers(plan)) {
      left -= bytes;
    } else {
      plan.rewind(std::move(before));
    }
  }
}

/// Whether some rows have no result: their threads would go another way than those of others.
bool leaves_out(const ir::Stage& s) {
  bool reduced = false;
  ir::visit(s.where, [&](const ir::Expr& e) {
    reduced |= e->op == ir::Op::kVar && s.is_reduction_var(e->name);
  });
  return s.where && !reduced;
}

/// A single result: a block has what the threads reduce, in a loop of one iteration around it.
bool reduce_all(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const Along along = reduced_along(plan, name);
  if (along.loops.empty()) return plan.declines(no_row_of(name));
  const std::vector<std::string> range = fuse_loops(plan, name, along.loops);
  const std::string all = range[0] + ".all", part = range[0] + ".i", own = s.output + ".own";
  if (range.size() != 1 || !plan.add(step::split({name, range[0]}, along.extent, all, part)) ||
      !plan.add(step::reorder(loops_of(name, {all, part})))) {
    return false;
  }
  const int64_t width = vector_width(plan, name, {range[0]});
  const int64_t most = power_of_two((along.extent + width - 1) / width);
  const int64_t threads = std::clamp<int64_t>(most, ir::DeviceLimits::kWarp, 4 * kBlockThreads);
  return plan.add(step::stage(s.output, {name, all}, own, {ir::Space::kRegisters})) &&
         reduce_by_threads(plan, own, {{part}, along.extent}, threads, ir::Mark::kThreadX, width);
}

/// Rows whose results are reductions: the stage's own, and those that it needs.
bool reduce_rows(Plan& plan, const std::string& name, const RowMembers& members) {
  const ir::Stage s = plan.stage(name);
  Along along = reduced_along(plan, name);
  for (const auto& [member, followed] : members) {
    if (s.reduce != ir::Reduce::kNone) break;
    along = reduced_along(plan, member);
    if (!along.loops.empty()) break;
  }
  if (along.loops.empty()) return plan.declines(no_row_of(name));
  if (leaves_out(s)) return plan.declines("its `where` leaves out whole rows");
  const int64_t rows = plan.facts(name).points(s.vars);
  std::vector<std::string> vars;
  for (const ir::IndexVar& v : s.vars) vars.push_back(v.name);
  vars.insert(vars.end(), s.factored.begin(), s.factored.end());
  const bool reduces = s.reduce != ir::Reduce::kNone;
  const std::vector<std::string> range = reduces ? along.loops : std::vector<std::string>();
  const int64_t width = along.ragged ? 1 : row_width(plan, name, range, members);
  Group group = group_for(plan, rows, along.extent, width);
  if (!bind_rows(plan, name, vars, group)) return false;
  if (s.reduce != ir::Reduce::kNone) {
    const std::string own = s.output + ".own";
    if (!plan.add(step::stage(s.output, group.at, own, {ir::Space::kRegisters})) ||
        !group.reduce(plan, own, along)) {
      return false;
    }
  }
  if (!place_members(plan, members, group)) return false;
  share_row(plan, name, members, group, along.extent);
  return true;
}

/// Rows that a stage writes point by point, from reductions of them.
bool write_rows(Plan& plan, const std::string& name, const RowMembers& members,
                const std::vector<std::string>& prefix) {
  const std::string last = contiguous_var(plan, name);
  const int64_t extent = plan.facts(name).extent(last);
  if (last.empty()) return plan.declines("none of its indices runs along memory");
  if (std::find(prefix.begin(), prefix.end(), last) != prefix.end()) {
    return plan.declines("what it needs follows its index along memory, " + last);
  }
  if (extent < kShortestRow) {
    return plan.declines("a row of it has fewer than " + std::to_string(kShortestRow) +
                         " elements");
  }
  const int64_t rows = plan.facts(name).points(prefix);
  Group group = group_for(plan, rows, extent, row_width(plan, name, {last}, members));
  if (!bind_rows(plan, name, prefix, group)) return false;
  if (!place_members(plan, members, group)) return false;
  for (const std::string& var : prefix) plan.set_window(name, var, 1);
  if (!spread_row(plan, name, last, group)) return false;
  share_row(plan, name, members, group, extent);
  return true;
}

bool apply_gpu_rows(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (!root.at.root()) return plan.declines("the stage is computed inside another");
  std::vector<std::string> prefix;
  const RowMembers members = beside(plan, root, prefix);
  const bool whole = prefix.size() == root.vars.size();
  const auto attempt = [&](const auto& way) {
    Plan::Mark before = plan.mark();
    if (way() && lowers(plan)) return true;
    plan.rewind(std::move(before));
    return false;
  };
  const bool reduces = root.reduce != ir::Reduce::kNone;
  bool done = false;
  plan.declines("it neither reduces nor needs a reduction of the same rows");
  if (whole && !members.empty()) done = attempt([&] { return reduce_rows(plan, name, members); });
  if (!done && reduces && root.vars.empty()) done = attempt([&] { return reduce_all(plan, name); });
  if (!done && reduces && !root.vars.empty()) {
    done = attempt([&] { return reduce_rows(plan, name, {}); });
  }
  if (!done && !reduces && !members.empty() && !whole) {
    done = attempt([&] { return write_rows(plan, name, members, prefix); });
  }
  if (done) plan.finish(name);
  return done;
}

}  // namespace

const Rule gpu::kRows = {
    "rows",
    "A reduction along a contiguous axis is a block's, or a warp's of several in a block, its "
    "threads along the row; a stage that needs such results, and what it needs with it, runs "
    "beside them.",
    apply_gpu_rows,
};

}  // namespace hone::schedules
