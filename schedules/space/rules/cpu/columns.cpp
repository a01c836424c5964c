// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <set>

#include "schedules/legal.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Of the nearest cache: what a block reads and writes. What is written streams by.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kShareOfNearest = 2.5;
/// Of the second cache, beside what streams by.
/// Chosen: half (not measured).
constexpr int64_t kShareOfSecond = 2;
/// Times the second cache from which it does not hold what all iterations need.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kFarFromSecond = 2;
/// Vectors of a block at least: fewer make strips of lines that prefetchers do not follow.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kVectorsOfBlock = 8;
/// Elements of a tensor whose reading again is left to tiles.
/// Chosen: as rows have it (not measured).
constexpr int64_t kSharedByTiles = 256;

/// Looks for producers that follow inner variables of a stage, and not all that stand outside.
class Columns {
 public:
  Columns(Plan& plan, const std::string& name)
      : plan_(plan), root_(plan.stage(name)), facts_(plan.facts(name)) {}

  bool run() {
    if (!root_.at.root()) return plan_.declines("the stage is computed inside another");
    if (!root_.relations.empty()) return plan_.declines("its loops are split or fused already");
    if (root_.reduce != ir::Reduce::kNone) return plan_.declines("the stage reduces");
    find_members();
    if (members_.empty()) return plan_.declines("no stage that it needs follows an index of it");
    if (!skips()) return plan_.declines("what it needs follows its outermost index");
    for (const auto& [member, vars] : members_) {
      if (reads_again(member, vars)) {
        return plan_.declines("stage " + member + " reads a tensor again that tiles would share");
      }
    }
    if (none_reduces()) return plan_.declines("what it needs is written once, and reduces nothing");
    if (!shares_large()) return plan_.declines("it reads no large tensor that they pass through");
    if (!choose_block()) return false;
    return place();
  }

 private:
  /// The variables of the root that one set of producers follows, those of far apart elements
  /// first.
  void find_members() {
    for (const ir::IndexVar& v : root_.vars) {
      if (facts_.extent(v.name) > 1) vars_.push_back(v.name);
    }
    std::stable_sort(vars_.begin(), vars_.end(), [&](const std::string& a, const std::string& b) {
      return std::abs(facts_.store.stride(a)) > std::abs(facts_.store.stride(b));
    });
    for (const std::string& v : vars_) {
      const auto following = row_followers(plan_, root_.name, v, may_keep(plan_, root_));
      if (following.empty() || (!members_.empty() && !same_stages(following))) continue;
      for (const auto& [stage, own] : following) members_[stage].push_back(own);
      fixed_.push_back(v);
    }
  }

  /// True where a variable among or outside of the fixed ones is none of them.
  bool skips() const { return !fixed_.empty() && vars_[fixed_.size() - 1] != fixed_.back(); }

  bool same_stages(const std::map<std::string, std::string>& following) const {
    return following.size() == members_.size() &&
           std::all_of(following.begin(), following.end(),
                       [&](const auto& f) { return members_.contains(f.first); });
  }

  bool reads_again(const std::string& member, const std::vector<std::string>& vars) const {
    if (plan_.stage(member).reduce == ir::Reduce::kNone) return false;
    const StageFacts facts = plan_.facts(member);
    return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
      const bool again = std::any_of(vars.begin(), vars.end(),
                                     [&](const std::string& v) { return a.stride(v) == 0; });
      return again && facts.points(a.strides) >= kSharedByTiles;
    });
  }

  bool none_reduces() const {
    return std::all_of(members_.begin(), members_.end(), [&](const auto& member) {
      return plan_.stage(member.first).reduce == ir::Reduce::kNone;
    });
  }

  /// True where several of the stages read or write more of one tensor than the nearest cache
  /// holds.
  bool shares_large() const {
    std::map<std::string, int> stages;
    const auto add = [&](const StageFacts& facts) {
      std::vector<Access> all = facts.loads;
      all.push_back(facts.store);
      std::set<std::string> large;
      for (const Access& a : all) {
        const int64_t size = size_of(plan_.program().buffer(a.buffer)->type);
        const int64_t bytes = saturating_product(facts.points(a.strides), size);
        if (bytes > plan_.machine().l1d) large.insert(a.buffer);
      }
      for (const std::string& tensor : large) ++stages[tensor];
    };
    add(facts_);
    for (const auto& [member, vars] : members_) add(plan_.facts(member));
    return std::any_of(stages.begin(), stages.end(), [](const auto& s) { return s.second > 1; });
  }

  /// Bytes of all tensors in one iteration over the fixed variables, `block` values of the blocked
  /// one at a time. 0: all values of all variables.
  int64_t bytes_of(int64_t block) const {
    std::map<std::string, int64_t> bytes;  // by tensor: several stages may read it
    const auto add = [&](const StageFacts& facts, const std::vector<std::string>& fixed) {
      std::vector<Access> all = facts.loads;
      all.push_back(facts.store);
      for (const Access& a : all) {
        int64_t points = size_of(plan_.program().buffer(a.buffer)->type);
        for (const auto& [var, stride] : a.strides) {
          const auto at = std::find(fixed.begin(), fixed.end(), var);
          const bool blocked = at != fixed.end() && !blocked_.empty() && at + 1 == fixed.end();
          const int64_t extent = std::max<int64_t>(facts.extent(var), 1);
          points = saturating_product(points, at == fixed.end() || block == 0 ? extent
                                              : blocked                       ? block
                                                                              : 1);
        }
        bytes[a.buffer] = std::max(bytes[a.buffer], points);
      }
    };
    add(facts_, fixed_);
    for (const auto& [member, vars] : members_) add(plan_.facts(member), vars);
    int64_t sum = 0;
    for (const auto& [tensor, n] : bytes) sum += n;
    return sum;
  }

  /// The same with all values of the last fixed variable.
  int64_t bytes_of_row() {
    blocked_ = fixed_.back();
    const int64_t bytes = bytes_of(facts_.extent(blocked_));
    blocked_.clear();
    return bytes;
  }

  /// Of neighbours in memory a block is taken, the longest for which a near cache holds all.
  bool choose_block() {
    const int64_t nearest =
        static_cast<int64_t>(kShareOfNearest * static_cast<double>(plan_.machine().l1d));
    const int64_t second = plan_.machine().l2 / kShareOfSecond;
    const int64_t all = bytes_of(0);
    const bool far = all > kFarFromSecond * plan_.machine().l2;
    if (all <= nearest) return plan_.declines("the nearest cache holds all that it needs");
    const bool along = facts_.store.stride(fixed_.back()) == 1;
    if (!along) {
      const int64_t row = bytes_of(1);
      if (row <= nearest || (far && row <= second)) return true;
      return plan_.declines("an iteration reads more than a near cache holds");
    }
    if (bytes_of_row() <= nearest) {
      fixed_.pop_back();
      for (auto& [member, vars] : members_) vars.pop_back();
      return skips() || plan_.declines("the nearest cache holds a row of all that it needs");
    }
    const bool far_rows = bytes_of_row() > kFarFromSecond * plan_.machine().l2;
    blocked_ = fixed_.back();
    const int64_t extent = facts_.extent(blocked_);
    const int64_t least = kVectorsOfBlock * plan_.lanes(plan_.program().buffer(root_.output)->type);
    for (const int64_t room : {nearest, second}) {
      if (bytes_of(least) > room || (room == second && !far_rows)) continue;
      block_ = least;
      while (2 * block_ < extent && bytes_of(2 * block_) <= room) block_ *= 2;
      if (block_ < extent) return true;
    }
    return plan_.declines("no block of index " + blocked_ + " fits a near cache and fills vectors");
  }

  bool place() {
    std::vector<std::string> outer = fixed_;
    if (!blocked_.empty()) {
      const Number columns =
          plan_.knob(knob_name("columns", root_.name), {block_ / 2, block_, 2 * block_}, block_);
      const auto h = plan_.split(root_.name, blocked_, columns, ir::Tail::kPeel);
      if (h.outer.empty()) return false;
      outer.back() = h.outer;
    }
    std::vector<std::string> order = outer;
    for (const ir::Loop& l : plan_.stage(root_.name).loops) {
      if (std::find(outer.begin(), outer.end(), l.name) == outer.end()) order.push_back(l.name);
    }
    if (!order_loops(plan_, root_.name, order)) return false;
    const auto fix = [&](const std::string& stage, const std::vector<std::string>& vars) {
      for (const std::string& v : vars) plan_.set_window(stage, v, 1);
      if (!blocked_.empty()) plan_.set_window(stage, vars.back(), block_);
    };
    for (const auto& [member, vars] : members_) fix(member, vars);
    if (!compute_members(plan_, members_, {root_.name, outer.back()})) return false;
    fix(root_.name, fixed_);
    if (const auto wrong = find_illegal(plan_.program())) return plan_.declines(wrong->reason);
    return true;
  }

  Plan& plan_;
  const ir::Stage root_;
  const StageFacts facts_;
  RowMembers members_{};
  std::vector<std::string> vars_{}, fixed_{};  ///< all of several values, and the followed ones
  std::string blocked_{};  ///< the last of the fixed ones, along which elements are neighbours
  int64_t block_ = 1;
};

bool apply_columns(Plan& plan, const std::string& name) { return Columns(plan, name).run(); }

}  // namespace

const Rule cpu::kColumns = {
    "columns",
    "Producers that follow inner indices of a stage, and not all outside of them, are computed in "
    "its loops over those: by blocks of neighbours, so that a near cache holds what passes between "
    "them. So are results of a call that another one needs.",
    apply_columns,
};

}  // namespace hone::schedules
