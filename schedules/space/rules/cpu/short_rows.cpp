// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "schedules/space/analysis/periods.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Lanes that rows may leave idle, as a part of those at work.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kIdleInRows = 0.15;
/// Instructions of one iteration of the vector loop.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kRowsBody = 192;
/// Vectors of one iteration, where fewer end with a row.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kVectors = 4;
/// Vectors that one iteration may have: more run in a loop, in which none knows its rows.
/// Fixed by: loops over vectors, as instruction selection lays them out.
constexpr int64_t kMostVectors = 16;

/// Rows of a vector from which they are so short that lanes may be put together one by one.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kShort = 3;

/// Vectors of such rows in elements of one or two bytes, which take more shuffles each.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostSmall = 6;

/// Two indices of a stage: the outer goes on in the result where the inner ends.
struct Pair {
  std::string outer, inner;
};

/// Those where rows of the inner leave lanes idle. False, and `plan` told why, where there are
/// none.
bool find_pair(Plan& plan, const std::string& name, Pair& out) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  out.inner = contiguous_var(plan, name);
  if (out.inner.empty() || facts.store.stride(out.inner) != 1) {
    return plan.declines("no index runs along memory in the result");
  }
  const int64_t extent = facts.extent(out.inner);
  if (!ir::is_const(s.var(out.inner)->hi)) {
    return plan.declines("the call decides the extent of " + out.inner);
  }
  if (idle_lanes(extent, plan.lanes(widest_type(plan.program(), s))) <= kIdleInRows) {
    return plan.declines("rows along " + out.inner + " fill their vectors");
  }
  for (const ir::IndexVar& v : s.vars) {
    if (facts.store.stride(v.name) == extent && facts.extent(v.name) > 1) out.outer = v.name;
  }
  if (out.outer.empty()) {
    return plan.declines("no index goes on in the result where " + out.inner + " ends");
  }
  // An index over all rows is not proved to stay inside an open number of them.
  return ir::is_const(s.var(out.outer)->hi) ||
         plan.declines("the call decides the extent of " + out.outer);
}

/// Rows of a period at most.
/// Fixed by: elements of the vectors of one iteration.
constexpr int64_t kLongestPeriod = 1024;
/// The period of two; 0 where it is longer than that.
int64_t common_period(int64_t a, int64_t b) {
  const int64_t both = std::lcm(a, b);
  return both <= kLongestPeriod ? both : 0;
}

/// Rows after which an index goes on as at the first: divisions by constants then take whole
/// quotients, and lanes know their places. 0: there is no such number of them.
int64_t period_of(const ir::Expr& index, const Pair& pair, const StageFacts& facts) {
  const bool moves = ir::mentions_var(index, pair.outer) || ir::mentions_var(index, pair.inner);
  if (!moves || is_clamped(index)) return 1;
  int64_t period = 1, by = 0;
  switch (index->op) {
    case ir::Op::kCast:
    case ir::Op::kNeg:
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul:
      for (const ir::Expr& a : index->args)
        period = common_period(period, period_of(a, pair, facts));
      return period;
    case ir::Op::kDiv:
    case ir::Op::kMod: {
      const auto dividend = affine_of(index->args[0]);
      if (!dividend || dividend->open || !ir::is_const(index->args[1], &by) || by <= 0) return 0;
      for (const auto& [var, coefficient] : dividend->terms) {
        if (var == pair.outer) {
          period = common_period(by / std::gcd(by, coefficient), 1);
        } else if (var != pair.inner && coefficient % by != 0) {
          return 0;
        }
      }
      // Remainders within a row are not proved to lie inside, unless they are what is divided.
      if (index->op == ir::Op::kMod && dividend->terms.contains(pair.inner)) {
        const int64_t step = dividend->terms.at(pair.inner), least = dividend->constant;
        const bool whole = dividend->terms.size() == 1 && step > 0 && least >= 0 &&
                           least + saturating_product(step, facts.extent(pair.inner) - 1) < by;
        if (!whole) return 0;
      }
      return period;
    }
    default:
      return 0;
  }
}

/// True of a value that computes with the number of its row.
bool counts_rows(const ir::Expr& e, const Pair& pair) {
  if (e->op == ir::Op::kVar) return e->name == pair.outer;
  return e->op != ir::Op::kLoad && std::any_of(e->args.begin(), e->args.end(),
                                               [&](const auto& a) { return counts_rows(a, pair); });
}

/// Elements of whole units that end with a vector, or leave few lanes of the last one idle. 0: they
/// take more than `most` vectors.
int64_t block_of(const Plan& plan, int64_t unit, int64_t lanes, int64_t most) {
  const int64_t exact = std::lcm(unit, lanes);
  if (exact <= most * lanes) return exact;
  if (!plan.machine().masks_lanes) return 0;
  for (int64_t block = unit; block <= most * lanes; block += unit) {
    if (idle_lanes(block, lanes) <= kIdleInRows) return block;
  }
  return 0;
}

/// True of an access whose indices each move with the pair alone, or with others alone, and which
/// data do not choose. Where all rows are one block, lanes know such indices, and whether they lie
/// inside.
bool moves_alone(const Access& a, const ir::Stage& s, const Pair& pair) {
  return std::all_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& index) {
    bool own = false, others = false;
    for (const ir::IndexVar& v : s.vars) {
      (v.name == pair.outer || v.name == pair.inner ? own : others) |= mentions_var(index, v.name);
    }
    const auto loads = [](const ir::Expr& e) { return e->op == ir::Op::kLoad; };
    return !own || (!others && !ir::any_node(index, loads));
  });
}

/// Producers that have one value a row, as vectors along rows compute them, and that nothing else
/// reads.
RowMembers values_of_rows(const Plan& plan, const ir::Stage& s, const Pair& pair) {
  std::vector<std::string> prefix;
  RowMembers members = row_members(plan, s, prefix, Kept::kNot);
  if (prefix.size() + 1 != s.vars.size() || prefix.back() != pair.outer) return {};
  const auto stays = [&](const RowMembers::value_type& member) {
    const ir::Stage& made = plan.stage(member.first);
    if (made.reduce != ir::Reduce::kNone || made.vars.size() != prefix.size()) return true;
    const auto readers = readers_of(plan.program(), made.output);
    return std::any_of(readers.begin(), readers.end(), [&](size_t r) {
      const std::string& reader = plan.program().stages[r].name;
      return reader != s.name && !members.contains(reader);
    });
  };
  for (size_t before = 0; before != members.size();) {
    before = members.size();
    std::erase_if(members, stays);
  }
  return members;
}

/// Computes these in the loop over blocks, each of `rows`, where they fill vectors. What passes
/// between them then stays near, and rows that both read come from memory once.
void compute_in_blocks(Plan& plan, const ir::Stage& s, const Pair& pair, const std::string& blocks,
                       int64_t rows) {
  RowMembers members = values_of_rows(plan, s, pair);
  const bool idle = std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return rows < plan.lanes(widest_type(plan.program(), plan.stage(member.first)));
  });
  if (members.empty() || idle) return;
  if (plan.decide("values of rows of " + s.name + " in its blocks", 2, 1) == 0) return;
  for (const auto& [member, vars] : members) {
    for (const std::string& var : vars) plan.set_window(member, var, 1);
    plan.set_window(member, vars.back(), rows);
  }
  compute_members(plan, members, {s.name, blocks});
}

bool apply_short_rows(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.where) return plan.declines("the stage has a `where`");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  if (!s.at.root() || hosts_stages(plan, name)) {
    return plan.declines("its loops stand in another stage's, or hold another's");
  }
  Pair pair;
  if (!find_pair(plan, name, pair)) return false;
  const StageFacts facts = plan.facts(name);
  const int64_t extent = facts.extent(pair.inner);
  const int64_t lanes = plan.lanes(widest_type(plan.program(), s));
  const int64_t body = facts.operations + static_cast<int64_t>(facts.loads.size()) + 2;
  const int64_t most = std::min(kMostVectors, kRowsBody / body);
  const int64_t whole = saturating_product(extent, facts.extent(pair.outer));
  const bool small = size_of(widest_type(plan.program(), s)) < size_of(DType::kF32);
  const int64_t together = small ? std::min(most, kMostSmall) : most;
  const bool one_block = whole <= together * lanes && kShort * extent <= lanes;
  int64_t period = 1;
  for (const Access& a : facts.loads) {
    const bool known = one_block && moves_alone(a, s, pair);
    if (a.guarded && !known) return plan.declines("a load of " + a.buffer + " may leave it");
    for (const ir::Expr& index : a.indices) {
      period = common_period(period, period_of(index, pair, facts));
    }
    if (period == 0 && !known) {
      return plan.declines("lanes do not know where they read " + a.buffer);
    }
    const int64_t step = a.stride(pair.inner);
    if (step != 0 && step != 1 && !a.chosen.contains(pair.inner)) {
      return plan.declines("it reads " + a.buffer + " across its rows");
    }
  }
  // Without AVX-512 lanes often come one by one, which only rows of a few are worth.
  if (period > 1 && !plan.target().has(ir::Isa::kAvx512) && 2 * extent > lanes) {
    return plan.declines("lanes would read " + std::to_string(period) + " rows one by one");
  }
  // Fixed by: indices of 32 bits. Narrower elements take several vectors of them.
  const bool narrow = size_of(widest_type(plan.program(), s)) < size_of(DType::kI32);
  const bool counts = narrow && counts_rows(s.value, pair);
  if (counts && extent > lanes) {
    return plan.declines("vectors would compute for each lane what is one value a row");
  }
  // Where a vector ends with a row, and the rows with a period, the next ones read as these do.
  const int64_t unit = saturating_product(extent, period);
  int64_t elements = block_of(plan, unit, lanes, most);
  const bool whole_only = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return a.guarded || meets_border(a, pair.outer);
  });
  if (whole_only || period == 0) elements = whole <= most * lanes ? whole : 0;
  if (counts && elements > kMostVectors * plan.lanes(DType::kI32)) elements = 0;
  if (elements == 0) {
    return plan.declines("rows along " + pair.inner + " end with a vector after more than " +
                         std::to_string(most) + " of them, which is too much code");
  }
  if (plan.decide("rows of " + name + " together", 2, 1) == 0) {
    return plan.declines("its rows were decided to be apart");
  }
  const std::string all = pair.outer + "." + pair.inner;
  if (!order_by_memory(plan, name, {pair.outer, pair.inner})) return false;
  if (!plan.add(step::fuse({name, pair.outer}, {name, pair.inner}, all))) return false;
  std::string vector = all;
  const int64_t vectors = (elements + lanes - 1) / lanes;
  const int64_t step = elements * std::max<int64_t>(kVectors / vectors, 1);
  if (whole > step) {
    const int64_t half = period == 1 ? step / 2 : step;
    const Number factor = plan.knob(knob_name("u", name), {half, step, 2 * step}, step);
    vector = all + ".i";
    if (!plan.add(step::split({name, all}, factor, all + ".o", vector, ir::Tail::kPeel)))
      return false;
    compute_in_blocks(plan, s, pair, all + ".o", step / extent);
  }
  if (!plan.add(step::vectorize({name, vector}))) return false;
  spread(plan, name);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kShortRows = {
    "short_rows",
    "Rows of a result that fill no vectors run as one, where each goes on where the last one ends. "
    "Where rows are divided, blocks of their period do.",
    apply_short_rows,
};

}  // namespace hone::schedules
