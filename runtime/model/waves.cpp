// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/waves.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

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
            const WaveRoom& room)
      : needs_(needs),
        cost_(cost),
        threads_(static_cast<size_t>(room.threads)),
        bytes_(room.bytes),
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

  /// The first of `steps` that there is memory for. What a chain has made is read before the next
  /// one makes as much, as if they ran one by one.
  std::vector<int> in_memory(const std::vector<int>& steps) {
    std::vector<int> out;
    double bytes = 0;
    for (const int step : steps) {
      if (!std::isfinite(cost(step).alone)) continue;
      bytes += cost(step).bytes;
      if (bytes > bytes_) break;
      out.push_back(step);
    }
    return out;
  }

  /// Those of `steps` that gain most: neighbours when they are ordered by their times. None where
  /// none gain.
  std::vector<int> best(const std::vector<int>& steps) {
    std::vector<int> some = in_memory(steps);
    std::stable_sort(some.begin(), some.end(),
                     [&](int a, int b) { return cost(a).alone > cost(b).alone; });
    Share chosen;
    for (size_t i = 0; i + 1 < some.size(); ++i) {
      Share share = best_of(std::span(some).subspan(i));
      if (share.gain > chosen.gain) chosen = std::move(share);
    }
    std::vector<int> wave;
    for (const std::vector<int>& part : chosen.of_thread) {
      wave.insert(wave.end(), part.begin(), part.end());
    }
    return wave;
  }

  /// Steps of each thread, and the cycles that this gains.
  struct Share {
    double gain = 0;
    std::vector<std::vector<int>> of_thread;
  };

  /// As many of the first ones as gain most. Each goes to the thread with the least to do.
  Share best_of(std::span<const int> steps) {
    const double wake =
        schedules::default_weights()[static_cast<size_t>(schedules::Term::kThreads)];
    std::vector<double> busy(std::min(threads_, steps.size()), 0);
    std::vector<std::vector<int>> of_thread(busy.size());
    Share best;
    double one_by_one = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto least =
          static_cast<size_t>(std::min_element(busy.begin(), busy.end()) - busy.begin());
      busy[least] += cost(steps[i]).alone;
      of_thread[least].push_back(steps[i]);
      one_by_one += cost(steps[i]).shared;
      const double gain = one_by_one - wake - *std::max_element(busy.begin(), busy.end());
      if (i > 0 && gain > best.gain && gain >= kLeastGain * one_by_one) best = {gain, of_thread};
    }
    return best;
  }

  const std::vector<std::vector<int>>& needs_;
  const std::function<StepCost(int)>& cost_;
  size_t threads_;
  double bytes_;
  std::vector<std::optional<StepCost>> costs_;
  std::vector<bool> done_;
  Waves waves_;
};

}  // namespace

Waves form_waves(const std::vector<std::vector<int>>& needs,
                 const std::function<StepCost(int)>& cost, const WaveRoom& room) {
  return WaveMaker(needs, cost, room).run();
}

}  // namespace hone::runtime
