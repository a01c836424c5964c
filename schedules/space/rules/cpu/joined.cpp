// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/passes/joins.h"
#include "schedules/legal.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Of a cache: what the stages of a loop read and write in one iteration, beside what streams by.
/// Chosen: half (not measured).
constexpr int64_t kShareOfCache = 2;
/// Vectors of a block at least: fewer are hardly a loop.
/// Chosen: an unrolled loop's (not measured).
constexpr int64_t kLeastVectors = 4;

/// Elements of an access while the variables in `fixed` stand still.
int64_t points_of(const StageFacts& facts, const Access& a,
                  const std::vector<std::string>& fixed = {}) {
  int64_t points = 1;
  for (const auto& [var, stride] : a.strides) {
    if (std::find(fixed.begin(), fixed.end(), var) != fixed.end()) continue;
    points = saturating_product(points, facts.extent(var));
  }
  return points;
}

int64_t size_of_element(const Plan& plan, const Access& a) {
  return size_of(plan.program().buffer(a.buffer)->type);
}

/// A stage that may share the loops of another one, and how its variables follow.
struct Member {
  std::string stage;
  std::vector<std::string> follows;  ///< for each of its variables, the other's, or ""
};

/// Looks for stages that read large tensors as the stage `name` does.
class Joining {
 public:
  Joining(Plan& plan, const std::string& name)
      : plan_(plan), s_(plan.stage(name)), facts_(plan.facts(name)) {}

  bool run() {
    if (!s_.relations.empty() || hosts_stages(plan_, s_.name)) {
      return plan_.declines("its loops are split or hold another stage");
    }
    if (s_.vars.empty()) return plan_.declines("it has one result");
    if (s_.reduce != ir::Reduce::kNone && !reduces_along_vector(plan_, s_.name)) {
      return plan_.declines("its results are vectors: a tile reads its operands again from near");
    }
    for (const ir::Stage& p : plan_.program().stages) {
      if (p.name == s_.name) break;
      if (fits(p)) members_.push_back({p.name, jit::joined(p, s_)});
    }
    if (members_.empty()) {
      return plan_.declines("no stage before it reads a large tensor as it does");
    }
    common_ = shared_variables();
    if (common_.empty()) return plan_.declines("no index goes with one of the others");
    if (plan_.decide("one loop for " + s_.name + " and others", 2, 1) == 0) {
      return plan_.declines("each stage was decided to have loops of its own");
    }
    return place();
  }

 private:
  /// True of a stage beside `s_` that others read too, and that reads what `s_` reads.
  bool fits(const ir::Stage& p) const {
    if (!(p.at == s_.at) || !p.relations.empty() || !p.factored.empty() || p.vars.empty()) {
      return false;
    }
    if (plan_.finished(p.name) || hosts_stages(plan_, p.name) || !windowless(p).empty())
      return false;
    if ((p.reduce == ir::Reduce::kNone) != (s_.reduce == ir::Reduce::kNone)) return false;
    if (p.reduce != ir::Reduce::kNone && !reduces_along_vector(plan_, p.name)) return false;
    const bool ours = plan_.program().buffer(p.output)->role == ir::Role::kTemp;
    const auto readers = readers_of(plan_.program(), p.output);
    const bool others = std::any_of(readers.begin(), readers.end(), [&](size_t r) {
      return plan_.program().stages[r].name != s_.name;
    });
    if (ours && !others) return false;
    for (const Access& mine : facts_.loads) {
      if (mine.gathers || mine.guarded) continue;
      const int64_t bytes =
          saturating_product(points_of(facts_, mine), size_of_element(plan_, mine));
      if (bytes <= plan_.machine().l2 / 2) continue;
      if (!ours && mine.buffer == p.output && pointwise(p, s_)) return true;
      for (const Access& theirs : plan_.facts(p.name).loads) {
        if (theirs.buffer == mine.buffer && alike(p, theirs, mine)) return true;
      }
    }
    return false;
  }

  /// True where the variables that go together move two accesses alike.
  bool alike(const ir::Stage& p, const Access& theirs, const Access& mine) const {
    const std::vector<std::string> follows = jit::joined(p, s_);
    return std::none_of(p.vars.begin(), p.vars.end(), [&](const ir::IndexVar& v) {
      const std::string& other = follows[static_cast<size_t>(&v - p.vars.data())];
      return !other.empty() && theirs.stride(v.name) != mine.stride(other);
    });
  }

  /// Variables of `s_` that every member follows, those of far apart elements first.
  std::vector<std::string> shared_variables() const {
    std::vector<std::string> out;
    for (const ir::IndexVar& v : s_.vars) {
      const bool all = std::all_of(members_.begin(), members_.end(), [&](const Member& m) {
        return std::find(m.follows.begin(), m.follows.end(), v.name) != m.follows.end();
      });
      if (all && facts_.extent(v.name) > 1) out.push_back(v.name);
    }
    std::stable_sort(out.begin(), out.end(), [&](const std::string& a, const std::string& b) {
      return stride_of(a) > stride_of(b);
    });
    return out;
  }

  int64_t stride_of(const std::string& var) const {
    int64_t most = 0;
    for (const Access& a : facts_.loads) most = std::max(most, std::abs(a.stride(var)));
    return most;
  }

  /// Bytes of all tensors in one iteration of the loops over `fixed`, which every stage has.
  int64_t bytes_inside(const std::vector<std::string>& fixed) const {
    int64_t bytes = 0;
    const auto add = [&](const StageFacts& facts, const std::vector<std::string>& own) {
      for (const Access& a : facts.loads) {
        bytes += saturating_product(points_of(facts, a, own), size_of_element(plan_, a));
      }
      bytes += saturating_product(points_of(facts, facts.store, own),
                                  size_of_element(plan_, facts.store));
    };
    add(facts_, fixed);
    for (const Member& m : members_) {
      std::vector<std::string> own;
      const ir::Stage& p = plan_.stage(m.stage);
      for (size_t v = 0; v < p.vars.size(); ++v) {
        if (std::find(fixed.begin(), fixed.end(), m.follows[v]) != fixed.end()) {
          own.push_back(p.vars[v].name);
        }
      }
      add(plan_.facts(m.stage), own);
    }
    return bytes;
  }

  bool place() {
    const int64_t near = plan_.machine().l1d / kShareOfCache;
    const std::string along = contiguous_var(plan_, s_.name);
    const bool vectors = !along.empty() && s_.reduce == ir::Reduce::kNone &&
                         facts_.store.stride(along) == 1 &&
                         std::find(common_.begin(), common_.end(), along) != common_.end();
    std::vector<std::string> fixed = common_;
    if (vectors) std::erase(fixed, along);
    if (!fixed.empty() && bytes_inside(fixed) <= plan_.machine().l2 / kShareOfCache) {
      return join(fixed, fixed.back(), 1);
    }
    if (!vectors) {
      return plan_.declines("an iteration reads more than a near cache holds");
    }
    std::vector<std::string> all = fixed;
    all.push_back(along);
    const int64_t lanes = plan_.lanes(widest_type(plan_.program(), s_));
    int64_t block = kLeastVectors * lanes;
    while (2 * block * bytes_inside(all) <= near) block *= 2;
    if (block >= facts_.extent(along)) {
      return plan_.declines("a block is all of its loop over " + along);
    }
    const auto h = plan_.split(s_.name, along, block, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    plan_.set_window(s_.name, along, block);
    std::vector<std::string> outer = fixed;
    outer.push_back(h.outer);
    return join(outer, h.outer, block, along);
  }

  /// Computes the members in the loop `at`, which is inside those over `outer`.
  bool join(const std::vector<std::string>& outer, const std::string& at, int64_t block,
            const std::string& blocked = "") {
    std::vector<std::string> order = outer;
    for (const ir::Loop& l : plan_.stage(s_.name).loops) {
      if (std::find(order.begin(), order.end(), l.name) == order.end()) order.push_back(l.name);
    }
    if (!order_loops(plan_, s_.name, order)) return false;
    for (const Member& m : members_) {
      const ir::Stage p = plan_.stage(m.stage);
      const ir::Place loop{s_.name, at};
      const bool ours = plan_.program().buffer(p.output)->role == ir::Role::kTemp;
      const bool root = s_.at.root();
      if (!plan_.add(!ours  ? step::compute({p.name}, loop)
                     : root ? step::compute_kept({p.name}, loop)
                            : step::compute({p.name}, loop, ir::Space::kScratch, s_.at))) {
        return false;
      }
      for (size_t v = 0; v < p.vars.size(); ++v) {
        const std::string& other = m.follows[v];
        if (!blocked.empty() && other == blocked) {
          plan_.set_window(p.name, p.vars[v].name, block);
        } else if (std::find(outer.begin(), outer.end(), other) != outer.end()) {
          plan_.set_window(p.name, p.vars[v].name, 1);
        }
      }
    }
    for (const std::string& var : outer) {
      if (s_.var(var)) plan_.set_window(s_.name, var, 1);
    }
    if (const auto wrong = find_illegal(plan_.program())) return plan_.declines(wrong->reason);
    return true;
  }

  Plan& plan_;
  const ir::Stage s_;
  const StageFacts facts_;
  std::vector<Member> members_{};
  std::vector<std::string> common_{};
};

bool apply_joined(Plan& plan, const std::string& name) { return Joining(plan, name).run(); }

}  // namespace

const Rule cpu::kJoined = {
    "joined",
    "Stages that read the same large tensors run in one loop, over blocks that a near cache holds, "
    "so that the tensors come from memory once: outputs of the same elements, sums of the same "
    "rows.",
    apply_joined,
};

}  // namespace hone::schedules
