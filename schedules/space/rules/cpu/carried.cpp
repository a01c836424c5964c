// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/group.h"
#include "jit/ir/recurrence.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/parts.h"

namespace hone::schedules {
namespace {

/// A longer history is not kept: a part of the second-level cache.
/// Chosen: what other tensors leave (not measured).
constexpr int64_t kShareOfHistory = 2;
/// The last elements of all chains, as a part of the first-level cache.
/// Chosen: beside what a step reads and its results (not measured).
constexpr int64_t kShareOfState = 4;
/// Steps from which a load is laid out anew before the first.
/// Chosen: a load lane by lane costs as much as some loads of vectors (not measured).
constexpr int64_t kManySteps = 8;

using Followers = std::map<std::string, std::string>;

/// A recurrence whose youngest element alone is read. Each step computes it, and its readers, in
/// the loops of one stage.
class Carrying {
 public:
  Carrying(Plan& plan, std::string state) : plan_(plan), state_(std::move(state)) {}

  bool run() {
    if (!applies() || !find_owner()) return false;
    const int64_t bytes =
        bytes_of(plan_.program(), *plan_.program().buffer(plan_.stage(state_).output));
    const bool large = bytes > plan_.machine().l2 / kShareOfHistory;
    if (plan_.decide("keep the last of " + state_ + " alone", 2, large) == 0) {
      return plan_.declines("its history was decided to be kept");
    }
    return chains_apart() && along_chains() && (beside_.empty() ? place() : place_beside());
  }

 private:
  bool applies() {
    const ir::Stage& s = plan_.stage(state_);
    const auto youngest = ir::youngest_read(plan_.program(), s);
    if (!youngest || youngest->kept != 1) {
      return plan_.declines("more than the youngest element of it is read, or it reads no other");
    }
    if (!s.at.root() || !s.relations.empty() || hosts_stages(plan_, state_) ||
        in_group(plan_.program(), s)) {
      return plan_.declines("it has steps already, or goes on together with other stages");
    }
    step_ = youngest->var;
    if (plan_.facts(state_).store.stride(step_) == 1) {
      return plan_.declines("its chains run along memory");
    }
    return true;
  }

  static bool in_group(const ir::Program& p, const ir::Stage& s) {
    return ir::Groups(p).of(p.stages.index_of(s)) != nullptr;
  }

  /// The stage in whose loops the others stand. Where the last reader reduces, that is what reads
  /// its results, or the copy that takes them out.
  bool find_owner() {
    const std::vector<size_t> readers = readers_of(plan_.program(), plan_.stage(state_).output);
    owner_ = plan_.program().stages[readers.back()].name;
    if (owner_ == state_) return plan_.declines("no stage reads its elements");
    if (plan_.stage(owner_).reduce != ir::Reduce::kNone) {
      const std::vector<size_t> next = readers_of(plan_.program(), plan_.stage(owner_).output);
      const ir::Stage* only = next.size() == 1 ? &plan_.program().stages[next[0]] : nullptr;
      if (only && only->reduce == ir::Reduce::kNone) {
        owner_ = only->name;
      } else if (!plan_.add(step::cache_write(owner_, plan_.fresh_stage(owner_ + ".c"), {}))) {
        return false;
      }
    }
    const ir::Stage owner = plan_.stage(owner_);
    beside_ = state_in(owner_);
    if (!owner.at.root() ||
        (beside_.empty() && (!owner.relations.empty() || hosts_stages(plan_, owner_)))) {
      return plan_.declines("the loops of " + owner_ + " are split or hold another stage");
    }
    for (const ir::IndexVar& v : owner.vars) {
      Followers all = row_followers(plan_, owner_, v.name, Kept::kNot, true);
      if (!all.contains(state_) || all[state_] != step_) continue;
      along_ = v.name;
      keep_members(std::move(all));
      return members_fit();
    }
    return plan_.declines("no index of " + owner_ + " goes with its steps");
  }

  /// A state that goes on in the loops of a stage already; "": there is none.
  std::string state_in(const std::string& owner) const {
    for (const ir::Stage& s : plan_.program().stages) {
      if (s.at.stage == owner && ir::carried_state(plan_.program(), s)) return s.name;
    }
    return {};
  }

  /// Those of `all` that wait for the state, and the state.
  void keep_members(Followers all) {
    std::vector<std::string> waits{plan_.stage(state_).output};
    for (const ir::Stage& s : plan_.program().stages) {
      const bool reads_one = std::any_of(waits.begin(), waits.end(),
                                         [&](const std::string& made) { return reads(s, made); });
      if (!all.contains(s.name) || !reads_one) continue;
      members_[s.name] = all[s.name];
      waits.push_back(s.output);
    }
  }

  bool members_fit() {
    for (const auto& [member, var] : members_) {
      const ir::Stage& s = plan_.stage(member);
      if (member == state_) continue;
      if (ir::is_recurrence(s) || in_group(plan_.program(), s) || !s.relations.empty() ||
          plan_.finished(member)) {
        return plan_.declines("stage " + member + " reads it and has an order or steps of its own");
      }
    }
    return true;
  }

  /// The owner's indices of chains, the nearest in memory last, each with the members' indices.
  bool chains_apart() {
    for (const ir::IndexVar& v : plan_.stage(owner_).vars) {
      if (v.name == along_) continue;
      Followers all = row_followers(plan_, owner_, v.name, Kept::kNot, true);
      if (all.contains(state_)) chains_.emplace_back(v.name, std::move(all));
    }
    if (chains_.empty()) return plan_.declines("its chains are no indices of " + owner_);
    const Access store = plan_.facts(owner_).store;
    std::stable_sort(chains_.begin(), chains_.end(), [&](const auto& a, const auto& b) {
      return std::abs(store.stride(a.first)) > std::abs(store.stride(b.first));
    });
    return true;
  }

  /// Lays the state out along its nearest chains. So are loads across them that each step repeats.
  bool along_chains() {
    const auto& [var, follows] = chains_.back();
    const std::string own = follows.at(state_);
    const StageFacts facts = plan_.facts(state_);
    const ir::Stage s = plan_.stage(state_);
    if (facts.store.stride(own) == 1 || plan_.facts(owner_).store.stride(var) != 1 ||
        facts.extent(own) < plan_.lanes(widest_type(plan_.program(), s)) ||
        facts.extent(step_) < kManySteps) {
      return true;
    }
    std::vector<ir::Expr> across;
    for (const Access& a : facts.loads) {
      if (a.buffer == s.output || a.stride(own) == 0 || a.stride(own) == 1) continue;
      if (a.stride(step_) != 0 || a.guarded || a.gathers) return true;
      across.push_back(ir::make_load(a.buffer, plan_.program().buffer(a.buffer)->type, a.indices));
    }
    for (const ir::Expr& load : across) {
      const std::vector<Part> parts = parts_of(plan_.stage(state_));
      const size_t place = place_of(parts, load);
      if (place == parts.size()) continue;  // laid out with an equal one
      if (!plan_.add(step::precompute(state_, place, plan_.fresh_stage(load->name + ".l"),
                                      layout(variables_in(s, load), own)))) {
        return false;
      }
    }
    const std::string made = plan_.fresh_stage(s.output + ".c");
    if (!plan_.add(step::cache_write(state_, made, layout(s.vars, own)))) return false;
    if (!plan_.add(step::inline_stage(state_))) return false;
    rename(made);
    return true;
  }

  static std::vector<LayoutAxis> layout(const std::vector<ir::IndexVar>& vars,
                                        const std::string& last) {
    std::vector<LayoutAxis> out;
    for (const ir::IndexVar& v : vars) {
      if (v.name != last) out.push_back({v.name});
    }
    out.push_back({last});
    return out;
  }

  void rename(const std::string& made) {
    const auto move = [&](Followers& all) {
      auto node = all.extract(state_);
      node.key() = made;
      all.insert(std::move(node));
    };
    move(members_);
    for (auto& [var, follows] : chains_) move(follows);
    state_ = made;
  }

  /// Chains of the nearest index that a thread takes at a time: a near cache holds their state.
  int64_t block() const {
    const auto& [var, follows] = chains_.back();
    const StageFacts facts = plan_.facts(state_);
    const DType widest = widest_type(plan_.program(), plan_.stage(state_));
    int64_t each = size_of(widest), outside = 1;  // bytes of one such chain
    for (const ir::IndexVar& v : plan_.stage(state_).vars) {
      bool inside = v.name != step_;
      for (const auto& [chain, owned] : chains_) inside = inside && owned.at(state_) != v.name;
      if (inside) each = saturating_product(each, facts.extent(v.name));
    }
    for (size_t i = 0; i + 1 < chains_.size(); ++i) {
      outside = saturating_product(outside, plan_.facts(owner_).extent(chains_[i].first));
    }
    const int64_t extent = plan_.facts(owner_).extent(var), lanes = plan_.lanes(widest);
    const int64_t parts = (plan_.machine().threads + outside - 1) / outside;
    const int64_t near = plan_.machine().l1d / kShareOfState / each;
    const int64_t most = std::max<int64_t>(std::min(near, (extent + parts - 1) / parts), 1);
    return most >= extent ? extent : std::max(most / lanes * lanes, std::min(lanes, extent));
  }

  bool place() {
    const auto& [var, follows] = chains_.back();
    const int64_t chains = block();
    const Plan::Halves h = plan_.split(owner_, var, chains, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    std::vector<std::string> order, computed;
    for (size_t i = 0; i + 1 < chains_.size(); ++i) order.push_back(chains_[i].first);
    order.push_back(h.outer);
    order.push_back(along_);
    const std::vector<std::string> front = order;
    for (const ir::Loop& l : plan_.stage(owner_).loops) {
      if (std::find(front.begin(), front.end(), l.name) == front.end()) order.push_back(l.name);
    }
    return order_loops(plan_, owner_, order) && compute_at({owner_, h.outer}, chains);
  }

  /// The same in the loops of a state that is there already, where the chains are its own too.
  bool place_beside() {
    const ir::Stage owner = plan_.stage(owner_), other = plan_.stage(beside_);
    std::set<std::string> outside, own;
    for (const ir::Loop& l : owner.loops) {
      for (const std::string& var : roots_of(owner, l.name)) outside.insert(var);
      if (l.name == other.store.loop) break;
    }
    for (const auto& [var, follows] : chains_) own.insert(var);
    if (other.at.loop != along_ || outside != own) {
      return plan_.declines("chains of " + beside_ + " in the same loops are others");
    }
    return compute_at(other.store, plan_.facts(owner_).extent(chains_.back().first));
  }

  bool compute_at(const ir::Place& around, int64_t chains) {
    const ir::Place step{owner_, along_};
    if (!plan_.add(step::compute({state_}, step, ir::Space::kScratch, around))) return false;
    for (const auto& [member, steps] : members_) {
      if (member != state_ && !plan_.add(step::compute({member}, step))) return false;
    }
    set_windows(chains);
    return true;
  }

  void set_windows(int64_t chains) {
    plan_.set_window(owner_, along_, 1);
    for (const auto& [member, steps] : members_) plan_.set_window(member, steps, 1);
    for (size_t i = 0; i < chains_.size(); ++i) {
      const auto& [var, follows] = chains_[i];
      const int64_t extent = i + 1 < chains_.size() ? 1 : chains;
      plan_.set_window(owner_, var, extent);
      for (const auto& [member, own] : follows) {
        if (members_.contains(member)) plan_.set_window(member, own, extent);
      }
    }
  }

  Plan& plan_;
  std::string state_;   ///< the recurrence
  std::string step_;    ///< its variable along which it goes on
  std::string owner_;   ///< the stage in whose loops the steps are
  std::string along_;   ///< its variable of the steps
  std::string beside_;  ///< a state that goes on there already, or ""
  Followers members_;   ///< stages computed in each step, with their variables of the steps
  std::vector<std::pair<std::string, Followers>> chains_;  ///< the owner's variables
};

bool apply_carried(Plan& plan, const std::string& name) {
  if (!plan.recurs() || !ir::is_recurrence(plan.stage(name))) {
    return plan.declines("the stage does not read itself");
  }
  return Carrying(plan, name).run();
}

}  // namespace

const Rule cpu::kCarried = {
    "carried",
    "A stage that reads itself, and of which others read the youngest element alone: each step "
    "computes it and what reads it, in the loops of their last reader. So nothing is kept of "
    "earlier elements. A state whose history a near cache holds is left alone.",
    apply_carried,
    /*forwards=*/true,
    /*ordered=*/true,
};

}  // namespace hone::schedules
