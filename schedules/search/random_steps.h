// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/schedule.h"

namespace hone::schedules {

/// What became of the steps of one kind that were proposed.
struct StepUse {
  int accepted = 0;  ///< stands in a schedule that lowers
  int rejected = 0;
  std::map<std::string, int> reasons;  ///< of rejects, numbers and names taken out
};

/// Uses by kind: a verb, `split tail=peel` for each tail, `stage layout`, `lower` for what only
/// lowering refused.
using StepUses = std::map<std::string, StepUse>;

/// The kinds that a use of the step counts under, the most special last.
std::vector<std::string> kinds_of(const Step& step);

/// Random schedules for testing, drawn from the structure of a program alone. It cuts and orders
/// loops, computes stages inside their readers, and stages tensors. Every schedule it returns
/// applies and lowers for the target.
class RandomSchedules {
 public:
  RandomSchedules(const ir::Program& program, const ir::Target& target, uint64_t seed)
      : program_(program), target_(target), random_(seed) {}

  /// The next schedule, made of up to `length` accepted steps. Adds to `uses`, which may be null.
  Schedule next(int length, StepUses* uses);
  /// A variation of `base`, which applies: steps left out, changed and added. It may be what the
  /// base is.
  Schedule vary(const Schedule& base);

 private:
  bool chance(int percent) { return below(100) < percent; }
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  template <class List>
  decltype(auto) pick(const List& items) {
    return items[static_cast<size_t>(below(static_cast<int>(items.size())))];
  }
  std::string fresh(const char* prefix) { return prefix + std::to_string(++names_); }

  // Nothing where the program has no place for such a step.
  std::optional<Step> propose_scatter(const ir::Program& p);
  std::optional<Step> propose(const ir::Program& p, bool marks);
  std::optional<Step> propose_shape(const ir::Stage& s);
  std::optional<Step> propose_place(const ir::Program& p, const ir::Stage& s);
  std::optional<Step> propose_mark(const ir::Program& p, const ir::Stage& s);
  std::optional<Step> propose_compute(const ir::Program& p);
  std::optional<Step> propose_join(const ir::Program& p);
  std::optional<Step> propose_running(const ir::Program& p);
  Step propose_copy(const ir::Program& p, const ir::Stage& s);
  Step propose_part(const ir::Stage& s);
  std::optional<Step> propose_reorder(const ir::Stage& s);
  std::optional<Step> propose_collapse(const ir::Stage& s);
  std::optional<Step> propose_factor(const ir::Stage& s);
  std::optional<Step> propose_tensor(const ir::Program& p);
  std::optional<Step> propose_groups(const ir::Stage& s, const ir::Instruction& row);
  ir::Place loop_of(const ir::Stage& s);
  ir::Place reduction_loop_of(const ir::Stage& s);
  const ir::Stage& stage_where(const ir::Program& p,
                               bool (*wanted)(const ir::Program&, const ir::Stage&));
  bool accept(ir::Program& p, Step step, Schedule& schedule, StepUses* uses);
  void settle(Schedule& schedule, StepUses* uses);
  bool accept_new(ir::Program& p, Step step, Schedule& schedule);
  Step changed(const ir::Program& p, Step step);

  const ir::Program& program_;
  ir::Target target_;
  std::mt19937_64 random_;
  int names_ = 0;
};

/// The uses as a table, one line a kind, the most frequent reasons below.
std::string print(const StepUses& uses);

/// The smallest schedule found, by leaving out steps and making numbers smaller, for which `fails`
/// still holds. `fails` is false for schedules that do not apply.
Schedule shrink(Schedule schedule, const std::function<bool(const Schedule&)>& fails);

}  // namespace hone::schedules
