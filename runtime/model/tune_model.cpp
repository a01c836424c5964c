// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/tune_model.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "runtime/model/plan_changes.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The first parts together, as a share of the budget, and what a kernel then gets at a time.
/// Chosen: enough for what the rules derive, and for some turns besides (not measured).
constexpr int kFirstShare = 2, kTurns = 8;
/// A run shorter than this measures little.
/// Chosen: the first trials of a search (not measured).
constexpr milliseconds kShortest{200};
/// What a run is hoped to gain of the distance to the limit, where the last one gained nothing.
/// Chosen: so that far kernels get a turn before near ones (not measured).
constexpr double kHope = 0.05;
/// The share of the budget for other plans, at most.
/// Chosen: kernels gain more as a rule (not measured).
constexpr int kPlanShare = 4;
/// By how much another plan may look slower and still be measured, and the least gain to take it.
/// Chosen: errors of the estimate between kernels alike, and of a measurement (not measured).
constexpr double kDoubt = 0.1, kWorth = 0.03;
/// Longer budgets are as long as this. Chosen: nobody waits for it (not measured).
constexpr milliseconds kLongest = std::chrono::hours(24 * 365);

class ModelTuner {
 public:
  ModelTuner(EngineState& engine, const ModelState& model, const TuneOptions& options,
             const std::function<void(const TunedKernel&)>& told)
      : engine_(engine),
        model_(model),
        options_(options),
        told_(told),
        end_(Clock::now() + std::min(options.budget, kLongest)),
        drafts_(model.bound_dims, engine) {
    for (size_t i = 0; i < model.calls.size(); ++i) {
      TunedKernel& k = kernel(model.calls[i].kernel->problem);
      k.ops = model.steps[i].ops;
      ++k.uses;
      ++uses_[k.result.problem];
    }
  }

  Result<TunedModel> run() {
    const milliseconds all = std::min(options_.budget, kLongest);
    const auto count = static_cast<int64_t>(std::max<size_t>(kernels_.size(), 1));
    // Without a budget trials are what is counted, for each kernel.
    const bool timed = all > milliseconds(0);
    const milliseconds first =
        timed ? std::max(milliseconds(all.count() / kFirstShare / count), kShortest) : all;
    for (TunedKernel& k : kernels_) {
      auto done = turn(k, first);
      if (!done && !stopped()) return done.failure();
      if (stopped()) return found();
    }
    if (!timed) return found();
    try_plans(first);
    const milliseconds each = std::max(milliseconds(all.count() / kTurns), kShortest);
    for (TunedKernel* k = next(); k && !stopped() && left() >= kShortest; k = next()) {
      auto done = turn(*k, std::min(each, left()));
      if (!done && !stopped()) return done.failure();
    }
    return found();
  }

 private:
  TunedKernel& kernel(const std::string& problem) {
    const auto [at, fresh] = places_.emplace(problem, kernels_.size());
    if (fresh) {
      kernels_.emplace_back();
      kernels_.back().result.problem = problem;
    }
    return kernels_[at->second];
  }

  /// The kernels of the plan, and plans kept: what the next load takes was measured. A failure
  /// where nothing was.
  Result<TunedModel> found() {
    TunedModel out;
    bool whole = true;
    for (TunedKernel& k : kernels_) {
      if (const auto at = uses_.find(k.result.problem); at != uses_.end()) {
        out.default_us += at->second * (k.default_us > 0 ? k.default_us : k.result.time_us);
      }
      if (k.uses == 0) continue;
      whole &= k.runs > 0;
      if (k.runs == 0) continue;
      out.time_us += k.uses * k.result.time_us;
      out.kernels.push_back(std::move(k));
    }
    out.changes = std::move(tried_);
    if (out.kernels.empty() && !kernels_.empty()) {
      return Failure{ErrorCode::kCancelled, "stopped before a kernel of the model was measured"};
    }
    out.plan = plan_ ? ops::print_plan(plan_->graph, plan_->groups) : model_.plan;
    if (plan_ && whole) {
      keep(out.plan, out.time_us);
      // Measured in the same minutes.
      if (out.plan != model_.plan) keep(model_.plan, out.time_us + saved_us_);
    }
    return out;
  }

  void keep(const std::string& plan, double time_us) {
    Record record;
    record.key = model_.key;
    record.schedule = plan;
    record.median_us = time_us;
    record.seed = options_.seed;
    engine_.cache->put(record);
  }

  /// Measures plans that differ in one thing, those first that should gain most, and goes on from
  /// what is faster. Each kernel that is new gets `each` of the budget.
  void try_plans(milliseconds each) {
    // Nodes that do not share kernels have no plans, and the estimate knows CPUs.
    if (!model_.fused || engine_.target.is_cuda()) return;
    ops::Graph graph = model_.graph;
    auto groups = ops::parse_plan(model_.plan, model_.bound_dims, graph);
    if (!groups) return;
    plan_.emplace(std::move(graph), *std::move(groups), model_.bound_dims);
    const auto end = Clock::now() + std::min(options_.budget, kLongest) / kPlanShare;
    std::set<std::pair<KernelCounts, KernelCounts>> known;
    while (!stopped() && Clock::now() < end && left() >= kShortest) {
      std::vector<PlanChange> changes = plan_changes(*plan_, model_.bound_dims, drafts_);
      std::erase_if(changes, [&](const PlanChange& c) { return known.contains({c.gone, c.come}); });
      PlanChange* best = most_promising(changes);
      if (!best) break;
      known.emplace(best->gone, best->come);
      measure(*best, each);
    }
  }

  /// Microseconds of a kernel as it was measured last; 0: it was not.
  double time_of(const std::string& problem) const {
    const auto at = places_.find(problem);
    return at == places_.end() ? 0 : kernels_[at->second].result.time_us;
  }
  double time_of(const KernelCounts& kernels) const {
    double sum = 0;
    for (const auto& [problem, count] : kernels) sum += count * time_of(problem);
    return sum;
  }

  /// What a change should save of the time of the kernels that go, as a share of it.
  double promise(const PlanChange& change) const {
    const double measured = time_of(change.gone);
    double before = 0, after = 0;
    for (const auto& [problem, count] : change.gone) before += count * drafts_.cycles(problem);
    for (const auto& [problem, count] : change.come) {
      const double known = time_of(problem);
      after += count * (known > 0 ? known * before / measured : drafts_.cycles(problem));
    }
    return measured > 0 && before > 0 ? 1 - after / before : -1;
  }

  PlanChange* most_promising(std::vector<PlanChange>& changes) {
    PlanChange* best = nullptr;
    double most = 0;
    for (PlanChange& c : changes) {
      const double share = promise(c);
      if (!(share > -kDoubt)) continue;
      const double saved = (share + kDoubt) * time_of(c.gone);
      if (saved > most) {
        most = saved;
        best = &c;
      }
    }
    return best;
  }

  /// A plan with a kernel that cannot be measured is not taken.
  void measure(PlanChange& change, milliseconds each) {
    for (const auto& [problem, count] : change.come) {
      TunedKernel& k = kernel(problem);
      if (k.runs > 0) continue;
      k.ops = {change.what};
      if (!turn(k, each) || stopped()) return;
    }
    TriedChange tried{change.what, time_of(change.gone), time_of(change.come)};
    tried.taken = tried.come_us < (1 - kWorth) * tried.gone_us;
    if (tried.taken) {
      saved_us_ += tried.gone_us - tried.come_us;
      plan_ = std::move(change.plan);
      for (const auto& [problem, count] : change.gone) kernel(problem).uses -= count;
      for (const auto& [problem, count] : change.come) kernel(problem).uses += count;
    }
    tried_.push_back(std::move(tried));
  }

  bool stopped() const { return options_.stop.stop_requested(); }
  milliseconds left() const {
    return std::chrono::duration_cast<milliseconds>(end_ - Clock::now());
  }

  /// One run of the search. What was tried before is known and not tried again.
  Result<Done> turn(TunedKernel& k, milliseconds budget) {
    TuneOptions one = options_;
    one.budget = budget;
    one.again = options_.again || k.runs > 0;
    auto result = engine_.tune(engine_.parse(k.result.problem), one);
    if (!result) return result.failure();
    if (k.runs++ == 0) k.default_us = result->default_us;
    k.seconds += result->seconds;
    k.result = std::move(*result);
    if (told_) told_(k);
    return Done();
  }

  /// What another run should save of the model's time, in microseconds.
  static double hoped(const TunedKernel& k) {
    const TuneResult& r = k.result;
    const bool ended = k.uses == 0 || k.runs == 0 || r.end == TuneEnd::kLimit ||
                       r.end == TuneEnd::kExhausted || r.end == TuneEnd::kHit || r.busy;
    if (ended) return 0;
    const double far = r.limit_us > 0 ? std::max(0.0, 1 - r.limit_us / r.time_us) : 1;
    const double share = std::max(r.expected_gain, kHope * far / k.runs);
    return share * r.time_us * k.uses;
  }

  TunedKernel* next() {
    const auto most = std::max_element(
        kernels_.begin(), kernels_.end(),
        [](const TunedKernel& a, const TunedKernel& b) { return hoped(a) < hoped(b); });
    return most == kernels_.end() || hoped(*most) <= 0 ? nullptr : &*most;
  }

  EngineState& engine_;
  const ModelState& model_;
  const TuneOptions& options_;
  const std::function<void(const TunedKernel&)>& told_;
  Clock::time_point end_;
  KernelDrafts drafts_;
  std::deque<TunedKernel> kernels_;  ///< of all plans; those of others have no uses
  std::map<std::string, size_t> places_;
  KernelCounts uses_;                 ///< of the model's own plan
  std::optional<PlannedGraph> plan_;  ///< none: before plans are tried
  double saved_us_ = 0;               ///< of a call, by the changes that were taken
  std::vector<TriedChange> tried_;
};

}  // namespace

Result<TunedModel> tune_model(EngineState& engine, const ModelState& model,
                              const TuneOptions& options,
                              const std::function<void(const TunedKernel&)>& told) {
  return ModelTuner(engine, model, options, told).run();
}

}  // namespace hone::runtime
