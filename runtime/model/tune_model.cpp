// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/tune_model.h"

#include <algorithm>
#include <chrono>
#include <map>

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

class ModelTuner {
 public:
  ModelTuner(EngineState& engine, const TuneOptions& options,
             const std::function<void(const TunedKernel&)>& told)
      : engine_(engine), options_(options), told_(told), end_(Clock::now() + options.budget) {}

  void add(const ModelState& model) {
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < model.calls.size(); ++i) {
      const std::string& problem = model.calls[i].kernel->problem;
      const auto [at, fresh] = places.emplace(problem, kernels_.size());
      if (fresh) {
        kernels_.emplace_back();
        kernels_.back().ops = model.steps[i].ops;
        kernels_.back().result.problem = problem;
      }
      ++kernels_[at->second].uses;
    }
  }

  Result<std::vector<TunedKernel>> run() {
    const auto count = static_cast<int64_t>(std::max<size_t>(kernels_.size(), 1));
    const milliseconds first =
        std::max(milliseconds(options_.budget.count() / kFirstShare / count), kShortest);
    for (TunedKernel& k : kernels_) {
      if (auto f = turn(k, first); !f) return f.failure();
      if (stopped()) return std::move(kernels_);
    }
    const milliseconds each = std::max(milliseconds(options_.budget.count() / kTurns), kShortest);
    for (TunedKernel* k = next(); k && !stopped() && left() >= kShortest; k = next()) {
      if (auto f = turn(*k, std::min(each, left())); !f) return f.failure();
    }
    return std::move(kernels_);
  }

 private:
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
  const TuneOptions& options_;
  const std::function<void(const TunedKernel&)>& told_;
  Clock::time_point end_;
  std::vector<TunedKernel> kernels_;
};

}  // namespace

Result<std::vector<TunedKernel>> tune_model(EngineState& engine, const ModelState& model,
                                            const TuneOptions& options,
                                            const std::function<void(const TunedKernel&)>& told) {
  ModelTuner tuner(engine, options, told);
  tuner.add(model);
  return tuner.run();
}

}  // namespace hone::runtime
