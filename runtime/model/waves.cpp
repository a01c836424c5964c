// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/waves.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "schedules/model/model.h"

namespace hone::runtime {
namespace {

/// How many steps that wait are looked at for a wave.
/// Chosen: lookups of a recommender, while what they make does not fill the caches (not measured).
constexpr size_t kWindow = 64;
/// The share of their time that steps have to gain by running at the same time.
/// Chosen: errors of the estimate (not measured).
constexpr double kLeastGain = 0.1;

class WaveMaker {
 public:
  WaveMaker(const std::vector<std::vector<int>>& needs, const std::function<StepCost(int)>& cost,
            int threads)
      : needs_(needs),
        cost_(cost),
        threads_(static_cast<size_t>(threads)),
        costs_(needs.size()),
        done_(needs.size()) {}

  Waves run() {
    std::vector<int> waiting(needs_.size());
    std::iota(waiting.begin(), waiting.end(), 0);
    while (!waiting.empty()) {
      std::vector<int> wave = best(ready(waiting));
      if (wave.empty()) wave = {waiting[0]};
      for (const int step : wave) done_[static_cast<size_t>(step)] = true;
      std::erase_if(waiting, [&](int step) { return done_[static_cast<size_t>(step)]; });
      waves_.push_back(std::move(wave));
    }
    return std::move(waves_);
  }

 private:
  std::vector<int> ready(const std::vector<int>& waiting) const {
    std::vector<int> out;
    for (size_t i = 0; threads_ > 1 && i < std::min(waiting.size(), kWindow); ++i) {
      const std::vector<int>& needs = needs_[static_cast<size_t>(waiting[i])];
      const auto done = [&](int step) { return done_[static_cast<size_t>(step)]; };
      if (std::all_of(needs.begin(), needs.end(), done)) out.push_back(waiting[i]);
    }
    return out;
  }

  const StepCost& cost(int step) {
    std::optional<StepCost>& known = costs_[static_cast<size_t>(step)];
    if (!known) known = cost_(step);
    return *known;
  }

  /// The longest of `steps`, as many as gain most; none where none gain. Each goes to the thread
  /// with the least to do.
  std::vector<int> best(std::vector<int> steps) {
    std::erase_if(steps, [&](int step) { return !std::isfinite(cost(step).alone); });
    if (steps.size() < 2) return {};
    std::stable_sort(steps.begin(), steps.end(),
                     [&](int a, int b) { return cost(a).alone > cost(b).alone; });
    const double begin =
        schedules::default_weights()[static_cast<size_t>(schedules::Term::kThreads)];
    std::vector<double> busy(std::min(threads_, steps.size()), 0);
    std::vector<std::vector<int>> of_thread(busy.size()), chosen;
    double one_by_one = 0, most = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto least =
          static_cast<size_t>(std::min_element(busy.begin(), busy.end()) - busy.begin());
      busy[least] += cost(steps[i]).alone;
      of_thread[least].push_back(steps[i]);
      one_by_one += cost(steps[i]).shared;
      const double gain = one_by_one - begin - *std::max_element(busy.begin(), busy.end());
      if (i == 0 || gain <= most || gain < kLeastGain * one_by_one) continue;
      most = gain;
      chosen = of_thread;
    }
    std::vector<int> wave;
    for (const std::vector<int>& part : chosen) wave.insert(wave.end(), part.begin(), part.end());
    return wave;
  }

  const std::vector<std::vector<int>>& needs_;
  const std::function<StepCost(int)>& cost_;
  size_t threads_;
  std::vector<std::optional<StepCost>> costs_;
  std::vector<bool> done_;
  Waves waves_;
};

}  // namespace

Waves form_waves(const std::vector<std::vector<int>>& needs,
                 const std::function<StepCost(int)>& cost, int threads) {
  return WaveMaker(needs, cost, threads).run();
}

}  // namespace hone::runtime
