// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/read_again.h"
#include "schedules/space/analysis/results_tile.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/separate.h"

namespace hone::schedules {
namespace {

/// Elements of a tensor whose reading again is worth several rows at a time.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kWorthReuse = 256;
/// Rows at a time that reuse a tensor;
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kReusingRows = 16;
/// Short rows at a time, whose waits overlap;
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kOverlappingRows = 4;
/// Idle lanes, as a part of those at work, from which stages go over all rows.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kMuchIdle = 0.3;
/// Times the result's bytes that stages may leave in memory for all rows.
/// Chosen: a row's own values in a wider type, not rows of another length (not measured).
constexpr int64_t kMuchLarger = 4;
/// Groups of rows from which a rest does not count.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kManyGroups = 16;

/// True when some member reads a tensor again for every iteration of the rows' variable number
/// `at`: several rows at a time reuse it.
bool reuses_along(const Plan& plan, const RowMembers& members, size_t at) {
  for (const auto& [name, vars] : members) {
    const ir::Stage& s = plan.stage(name);
    if (s.reduce == ir::Reduce::kNone) continue;
    const StageFacts& facts = plan.facts(name);
    for (const Access& a : facts.loads) {
      if (a.stride(vars[at]) == 0 && facts.points(a.strides) >= kWorthReuse) return true;
    }
  }
  return false;
}

/// The same of the rows' innermost variable.
bool reuses(const Plan& plan, const RowMembers& members) {
  return reuses_along(plan, members, members.begin()->second.size() - 1);
}

/// Brings a variable along which rows reuse a tensor to the inside, where the innermost is none.
void bring_reuse_inside(const Plan& plan, RowMembers& members, std::vector<std::string>& prefix) {
  for (size_t i = prefix.size(); i-- > 0;) {
    const auto& [first, own] = *members.begin();
    if (plan.facts(first).extent(own[i]) < 2 || !reuses_along(plan, members, i)) continue;
    const auto to_back = [i](std::vector<std::string>& vars) {
      std::rotate(vars.begin() + static_cast<std::ptrdiff_t>(i),
                  vars.begin() + static_cast<std::ptrdiff_t>(i) + 1, vars.end());
    };
    to_back(prefix);
    for (auto& [name, vars] : members) to_back(vars);
    return;
  }
}

/// True of a producer that has one point left in a row, and needs no other member for it. Inside it
/// is scalar, or reads for one result what a tile reads for many. Over all rows beforehand it runs
/// as vectors.
bool left_scalar(const Plan& plan, const RowMembers& members, const std::string& member) {
  const ir::Stage& s = plan.stage(member);
  if (members.at(member).size() < s.vars.size()) return false;
  if (s.reduce != ir::Reduce::kNone && reduces_along_vector(plan, member) &&
      results_tile(plan, member).sides.empty()) {
    return false;
  }
  for (const Access& a : plan.facts(member).loads) {
    for (const auto& [other, vars] : members) {
      if (plan.stage(other).output == a.buffer) return false;
    }
  }
  return true;
}

/// Leaves at the root what would be scalar in a row. What that leaves without another member to
/// wait for may follow it.
void leave_scalars(const Plan& plan, RowMembers& members) {
  const auto scalar = [&] {
    return std::find_if(members.begin(), members.end(),
                        [&](const auto& m) { return left_scalar(plan, members, m.first); });
  };
  for (auto m = scalar(); m != members.end(); m = scalar()) members.erase(m);
}

/// True where each term of a reduction is another element of `member`, in windows that overlap.
bool reads_windows(const Plan& plan, const ir::Stage& reader, const std::string& member) {
  if (reader.rvars.size() != 1 || reader.value->op != ir::Op::kLoad) return false;
  if (reader.value->name != plan.stage(member).output) return false;
  return windows_along(plan.program(), reader, reader.rvars[0].name, "x").wrong.empty();
}

/// True where a stage reads windows of `member`. Their vectors lie across several that were written
/// a moment ago, and wait until those are in the cache.
bool reads_just_written(const Plan& plan, const std::string& member) {
  const std::vector<size_t> readers = readers_of(plan.program(), plan.stage(member).output);
  return std::any_of(readers.begin(), readers.end(), [&](size_t r) {
    return reads_windows(plan, plan.program().stages[r], member);
  });
}

/// Short rows to take at a time. One row's wait for the end of its reduction then overlaps with the
/// others, and all rows stay in the nearest cache.
int64_t overlapping(const Plan& plan, const RowMembers& members, const std::string& name,
                    const std::vector<std::string>& prefix) {
  const std::string& loop = prefix.back();
  const StageFacts& root = plan.facts(name);
  if (!ir::is_const(plan.stage(name).var(loop)->hi)) return 1;
  bool waits = false;
  int64_t bytes = 0;  // of one row, of every tensor that the members and the root read and write
  const auto count = [&](const StageFacts& facts, const std::vector<std::string>& row) {
    std::vector<Access> all = facts.loads;
    all.push_back(facts.store);
    for (const Access& a : all) {
      int64_t points = 1;
      for (const auto& [var, stride] : a.strides) {
        const bool outside = std::find(row.begin(), row.end(), var) != row.end();
        points = saturating_product(points, outside ? 1 : facts.extent(var));
      }
      if (a.stride(row.back()) == 0) continue;
      bytes += points * size_of(plan.program().buffer(a.buffer)->type);
    }
  };
  for (const auto& [member, vars] : members) {
    const StageFacts& facts = plan.facts(member);
    waits |= reduces_along_vector(plan, member) || reads_just_written(plan, member);
    count(facts, vars);
  }
  count(root, prefix);
  for (int64_t rows = kOverlappingRows; waits && rows > 1; rows /= 2) {
    const bool whole = root.extent(loop) % rows == 0 || root.extent(loop) >= kManyGroups * rows;
    const bool shared = root.extent(loop) >= 2 * rows * plan.machine().threads;
    if (whole && shared && rows * bytes <= 2 * plan.machine().l1d) return rows;
  }
  return 1;
}

/// The rows that the members are computed for at a time: a knob, and in `rows` its value.
Number rows_at_a_time(Plan& plan, const RowMembers& members, const std::string& name,
                      const std::vector<std::string>& prefix, int64_t& rows) {
  if (reuses(plan, members)) {
    rows = std::min(kReusingRows, plan.facts(name).extent(prefix.back()));
    return rows > 1 ? plan.knob(knob_name("rows", name), {8, 16, 32, 64}, rows) : 1;
  }
  rows = overlapping(plan, members, name, prefix);
  return rows > 1 ? plan.knob(knob_name("rows", name), {1, 2, 4, 8}, rows) : 1;
}

/// True where several rows of a reduction share a tensor that it reads: a tile takes them at once.
bool tiles_rows(const Plan& plan, const std::string& name, const std::vector<std::string>& prefix) {
  const StageFacts& facts = plan.facts(name);
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    const bool shared = std::any_of(prefix.begin(), prefix.end(), [&](const std::string& var) {
      return facts.extent(var) > 1 && a.stride(var) == 0;
    });
    return shared && facts.points(a.strides) >= kWorthReuse;
  });
}

/// The members with their names of the rows' variables, `rows` of the last one at a time.
IteratedStages iterated(const Plan& plan, const RowMembers& members, const std::string& name,
                        const std::vector<std::string>& prefix, int64_t rows) {
  IteratedStages out;
  for (const auto& [member, vars] : members) {
    for (size_t i = 0; i < vars.size(); ++i) {
      out[member].push_back({vars[i], plan.facts(name).extent(prefix[i])});
    }
    out[member].back().count /= std::max<int64_t>(rows, 1);
  }
  return out;
}

/// Lanes that a row of the result leaves idle, as a part of those at work.
double idle_in_rows(const Plan& plan, const ir::Stage& root) {
  return idle_lanes(plan.facts(root.name).extent(root.vars.back().name),
                    plan.lanes(widest_type(plan.program(), root)));
}

/// True where what passes between the members for all rows is not much larger than the result.
bool small(const Plan& plan, const RowMembers& members, const ir::Stage& root) {
  const auto bytes = [&](const ir::Stage& s) {
    return bytes_of(plan.program(), *plan.program().buffer(s.output));
  };
  return std::all_of(members.begin(), members.end(), [&](const auto& member) {
    return bytes(plan.stage(member.first)) / kMuchLarger <= bytes(root);
  });
}

/// Times that a member's vectors may cost in a row what they cost over all rows.
/// Chosen: what a near cache saves on a value that is written and read (not measured).
constexpr double kDearer = 3;

/// Points that a row of a member has.
int64_t points_in_row(const StageFacts& facts, const std::vector<std::string>& vars) {
  int64_t points = 1;
  for (const auto& [var, extent] : facts.extents) {
    const bool row = std::find(vars.begin(), vars.end(), var) != vars.end();
    if (!row) points = saturating_product(points, std::max<int64_t>(extent, 1));
  }
  return points;
}

/// A member whose cheapest vectors run along the rows' variables, so that one row of it, which
/// would fill vectors, is dear. "" where there is none.
std::string runs_across(Plan& plan, const RowMembers& members) {
  for (const auto& [member, vars] : members) {
    const ir::Stage s = plan.stage(member);
    const int lanes = plan.lanes(widest_type(plan.program(), s));
    if (points_in_row(plan.facts(member), vars) < lanes) continue;
    const Access store = plan.facts(member).store;
    const double over_all = vector_axis(plan, member, store, true).cost;
    Plan::Mark before = plan.mark();
    for (const std::string& var : vars) plan.set_window(member, var, 1);
    const double in_row = vector_axis(plan, member, store, true).cost;
    plan.rewind(std::move(before));
    if (in_row > kDearer * over_all) return member;
  }
  return {};
}

/// Brings the loops over rows to the outside; `last` is the innermost of them.
bool rows_outside(Plan& plan, const std::string& name, const std::vector<std::string>& prefix,
                  const std::string& last) {
  std::vector<std::string> order(prefix.begin(), prefix.end() - 1);
  order.push_back(last);
  const std::vector<std::string> front = order;
  for (const ir::Loop& l : plan.stage(name).loops) {
    if (std::find(front.begin(), front.end(), l.name) == front.end()) order.push_back(l.name);
  }
  return order_loops(plan, name, order);
}

/// What is kept is made in the rows where these come from far: of a tensor in the nearest cache
/// several rows overlap better apart.
Kept worth_keeping(const Plan& plan, const ir::Stage& root) {
  const StageFacts& facts = plan.facts(root.name);
  const bool far = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
    return saturating_product(facts.points(a.strides), size) > plan.machine().l1d;
  });
  return far ? may_keep(plan, root) : Kept::kNot;
}

bool apply_rows(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (!root.at.root()) return plan.declines("the stage is computed inside another");
  if (root.vars.empty()) return plan.declines("the stage has one result");
  std::vector<std::string> prefix;
  RowMembers members = row_members(plan, root, prefix, worth_keeping(plan, root));
  if (members.empty()) {
    return plan.declines("no stage that it needs follows its outermost index " +
                         root.vars.front().name);
  }
  bring_reuse_inside(plan, members, prefix);
  if (prefix.size() < root.vars.size() && !reuses(plan, members)) {
    leave_scalars(plan, members);
    if (members.empty()) return plan.declines("its producers would be scalar in a row");
  }
  if (root.reduce != ir::Reduce::kNone) {
    // What a reduction reads is made beside it only where that takes no reduction of its own.
    // Windows have little in common with what other rows read.
    for (const auto& [member, vars] : members) {
      if (plan.stage(member).reduce != ir::Reduce::kNone && !reads_windows(plan, root, member)) {
        return plan.declines("stage " + member + " would reduce inside its reduction");
      }
    }
  }
  if (plan.facts(name).points(prefix) < 2) return plan.declines("its rows are one");
  if (root.reduce != ir::Reduce::kNone && tiles_rows(plan, name, prefix)) {
    return plan.declines("results of several rows share what they read");
  }
  const bool whole = prefix.size() == root.vars.size();
  for (const auto& [member, vars] : members) {
    // A tile of the root computes what follows all of its variables, in registers.
    // A result of the call that ends a reduction of the row is one number of it.
    const bool kept = plan.program().buffer(plan.stage(member).output)->role != ir::Role::kTemp &&
                      !left_scalar(plan, members, member);
    if (whole && !kept && !reduces_along_vector(plan, member)) {
      return plan.declines("stage " + member +
                           " has all its indices: a tile keeps it in registers");
    }
    if (whole && !results_tile(plan, member).sides.empty()) {
      return plan.declines("results of stage " + member + " side by side share what they read");
    }
  }
  if (const std::string member = runs_across(plan, members); !member.empty()) {
    return plan.declines("vectors of stage " + member + " run across its rows");
  }
  const bool apart = idle_in_rows(plan, root) > kMuchIdle && small(plan, members, root);
  if (!whole && plan.decide("rows of " + name + " apart", 2, apart) == 1) {
    return plan.declines("its rows fill no vector: each stage goes over all of them");
  }
  std::string loop = prefix.back();
  int64_t rows = 1;
  if (!whole) {
    const Number at_a_time = rows_at_a_time(plan, members, name, prefix, rows);
    if (read_again_too_much(plan, iterated(plan, members, name, prefix, rows))) {
      return plan.declines("each group of rows would read again more than it keeps near");
    }
    if (rows > 1) {
      const auto h = plan.split(name, loop, at_a_time, ir::Tail::kPeel);
      if (h.outer.empty()) return false;
      plan.set_window(name, loop, rows);
      loop = h.outer;
    }
  }
  for (const auto& [member, vars] : members) {
    for (const std::string& var : vars) plan.set_window(member, var, 1);
    plan.set_window(member, vars.back(), rows);
  }
  if (!rows_outside(plan, name, prefix, loop)) return false;
  if (!compute_members(plan, members, {name, loop})) return false;
  for (const std::string& var : prefix) {
    if (rows == 1 || var != prefix.back()) plan.set_window(name, var, 1);
  }
  return true;
}

}  // namespace

const Rule cpu::kRows = {
    "rows",
    "Producers that follow the outer variables of a stage are computed inside its loops over them, "
    "so that what passes between them stays in a near cache; several rows at a time where that "
    "reuses a tensor, or where rows are short and wait for their reductions.",
    apply_rows,
};

}  // namespace hone::schedules
