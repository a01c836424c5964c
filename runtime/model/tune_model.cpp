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

class ModelTuner {
 public:
  ModelTuner(EngineState& engine, const ModelState& model, const TuneOptions& options,
             const std::function<void(const TunedKernel&)>& told)
      : engine_(engine),
        model_(model),
        options_(options),
        told_(told),
        end_(Clock::now() + options.budget),
        drafts_(model.bound_dims, engine) {
    for (size_t i = 0; i < model.calls.size(); ++i) {
      TunedKernel& k = kernel(model.calls[i].kernel->problem);
      k.ops = model.steps[i].ops;
      ++k.uses;
    }
  }

  Result<TunedModel> run() {
    const auto count = static_cast<int64_t>(std::max<size_t>(kernels_.size(), 1));
    const milliseconds first =
        std::max(milliseconds(options_.budget.count() / kFirstShare / count), kShortest);
    for (TunedKernel& k : kernels_) {
      if (auto f = turn(k, first); !f) return f.failure();
      if (stopped()) return found();
    }
    if (auto f = try_plans(first); !f) return f.failure();
    const milliseconds each = std::max(milliseconds(options_.budget.count() / kTurns), kShortest);
    for (TunedKernel* k = next(); k && !stopped() && left() >= kShortest; k = next()) {
      if (auto f = turn(*k, std::min(each, left())); !f) return f.failure();
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

  /// The kernels of the plan, and the plan kept where it is not the model's own.
  Result<TunedModel> found() {
    TunedModel out;
    double sum = 0;
    for (TunedKernel& k : kernels_) {
      if (k.uses == 0) continue;
      sum += k.uses * k.result.time_us;
      out.kernels.push_back(std::move(k));
    }
    out.changes = std::move(tried_);
    out.plan = plan_ ? ops::print_plan(plan_->graph, plan_->groups) : model_.plan;
    if (out.plan != model_.plan) {
      Record record;
      record.key = model_.key;
      record.schedule = out.plan;
      record.median_us = sum;
      record.seed = options_.seed;
      engine_.cache->put(record);
    }
    return out;
  }

  /// Measures plans that differ in one thing, those first that should gain most, and goes on from
  /// what is faster. Each kernel that is new gets `each` of the budget.
  Result<Done> try_plans(milliseconds each) {
    // The estimate knows CPUs.
    if (engine_.target.is_cuda()) return Done();
    PlannedGraph plan{model_.graph, {}};
    auto groups = ops::parse_plan(model_.plan, model_.bound_dims, plan.graph);
    if (!groups) return Done();  // As where nodes do not share kernels.
    plan.groups = *std::move(groups);
    plan_ = std::move(plan);
    const auto end = Clock::now() + options_.budget / kPlanShare;
    std::set<std::pair<KernelCounts, KernelCounts>> known;
    while (!stopped() && Clock::now() < end && left() >= kShortest) {
      std::vector<PlanChange> changes = plan_changes(*plan_, model_.bound_dims, drafts_);
      std::erase_if(changes, [&](const PlanChange& c) { return known.contains({c.gone, c.come}); });
      PlanChange* best = most_promising(changes);
      if (!best) break;
      known.emplace(best->gone, best->come);
      if (auto f = measure(*best, each); !f) return f.failure();
    }
    return Done();
  }

  /// What a change should save of the time of the kernels that go, as a share of it.
  double promise(const PlanChange& change) {
    double measured = 0, before = 0, after = 0;
    for (const auto& [problem, count] : change.gone) {
      measured += count * kernel(problem).result.time_us;
      before += count * drafts_.cycles(problem);
    }
    for (const auto& [problem, count] : change.come) {
      const TunedKernel& k = kernel(problem);
      after +=
          count * (k.runs > 0 ? k.result.time_us * before / measured : drafts_.cycles(problem));
    }
    return measured > 0 && before > 0 ? 1 - after / before : -1;
  }

  PlanChange* most_promising(std::vector<PlanChange>& changes) {
    PlanChange* best = nullptr;
    double most = 0;
    for (PlanChange& c : changes) {
      const double share = promise(c);
      if (!(share > -kDoubt)) continue;
      double measured = 0;
      for (const auto& [problem, count] : c.gone) {
        measured += count * kernel(problem).result.time_us;
      }
      const double saved = (share + kDoubt) * measured;
      if (saved > most) {
        most = saved;
        best = &c;
      }
    }
    return best;
  }

  Result<Done> measure(PlanChange& change, milliseconds each) {
    TriedChange tried{change.what};
    for (const auto& [problem, count] : change.gone) {
      tried.gone_us += count * kernel(problem).result.time_us;
    }
    for (const auto& [problem, count] : change.come) {
      TunedKernel& k = kernel(problem);
      if (k.runs == 0) {
        k.ops = {change.what};
        if (auto f = turn(k, each); !f) return f.failure();
      }
      tried.come_us += count * k.result.time_us;
      if (stopped()) return Done();
    }
    tried.taken = tried.come_us < (1 - kWorth) * tried.gone_us;
    if (tried.taken) {
      plan_ = std::move(change.plan);
      for (const auto& [problem, count] : change.gone) kernel(problem).uses -= count;
      for (const auto& [problem, count] : change.come) kernel(problem).uses += count;
    }
    tried_.push_back(std::move(tried));
    return Done();
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
    const bool ended = r.end == TuneEnd::kLimit || r.end == TuneEnd::kExhausted ||
                       r.end == TuneEnd::kHit || r.busy;
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
  std::optional<PlannedGraph> plan_;  ///< none: before plans are tried
  std::vector<TriedChange> tried_;
};

}  // namespace

Result<TunedModel> tune_model(EngineState& engine, const ModelState& model,
                              const TuneOptions& options,
                              const std::function<void(const TunedKernel&)>& told) {
  return ModelTuner(engine, model, options, told).run();
}

}  // namespace hone::runtime
