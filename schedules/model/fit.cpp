// SPDX-License-Identifier: Apache-2.0
#include "schedules/model/fit.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::schedules {
namespace {

/// Chosen: noise of trials, and machines unlike those that weights begin with (not measured).
constexpr double kLinear = 0.7;      // of a logarithm: beyond it errors count less than squared
constexpr double kPull = 5e-4;       // of a weight to where it began, for each factor e squared
constexpr double kFarthest = 100;    // times the first weight, or a part of it
constexpr double kLast = 1.01;       // the smallest step, a factor
constexpr double kFirst = 4;         // the greatest
constexpr int kMostRounds = 200;     // through all weights
constexpr double kLeastGain = 1e-9;  // of the loss: less is none

/// Loss of estimates, which are kept, and updated weight by weight.
class Descent {
 public:
  Descent(std::span<const Timed> timed, const Terms& start)
      : timed_(timed), start_(start), weights_(start) {
    for (const Timed& t : timed) {
      problems_ = std::max(problems_, t.problem + 1);
      estimates_.push_back(weigh(t.terms, start));
      logs_.push_back(std::log(t.time_us));
    }
    counts_.resize(static_cast<size_t>(problems_));
    for (const Timed& t : timed) counts_[static_cast<size_t>(t.problem)] += 1;
    loss_ = loss_of(estimates_, weights_);
  }

  /// Moves one weight by a factor where that makes the loss less.
  bool move(size_t term, double factor) {
    Terms moved = weights_;
    moved[term] =
        std::clamp(weights_[term] * factor, start_[term] / kFarthest, start_[term] * kFarthest);
    const double step = moved[term] - weights_[term];
    if (step == 0) return false;
    std::vector<double> estimates = estimates_;
    for (size_t i = 0; i < estimates.size(); ++i) estimates[i] += step * timed_[i].terms[term];
    const double loss = loss_of(estimates, moved);
    if (!(loss < loss_ - kLeastGain)) return false;
    loss_ = loss;
    weights_ = moved;
    estimates_ = std::move(estimates);
    return true;
  }

  const Terms& weights() const { return weights_; }

  /// The mean error without the pull.
  double error() const {
    const std::vector<double> errors = errors_of(estimates_);
    double sum = 0;
    for (double e : errors) sum += std::abs(e);
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
  }

 private:
  std::vector<double> errors_of(const std::vector<double>& estimates) const {
    std::vector<double> errors, means(counts_.size());
    for (size_t i = 0; i < estimates.size(); ++i) {
      errors.push_back(std::log(std::max(estimates[i], 1e-9)) - logs_[i]);
      means[static_cast<size_t>(timed_[i].problem)] += errors[i];
    }
    for (size_t i = 0; i < errors.size(); ++i) {
      const auto p = static_cast<size_t>(timed_[i].problem);
      errors[i] -= means[p] / counts_[p];
    }
    return errors;
  }

  double loss_of(const std::vector<double>& estimates, const Terms& weights) const {
    const std::vector<double> errors = errors_of(estimates);
    double loss = 0;
    for (size_t i = 0; i < errors.size(); ++i) {
      const double e = std::abs(errors[i]);
      const double huber = e < kLinear ? e * e : kLinear * (2 * e - kLinear);
      loss += huber / counts_[static_cast<size_t>(timed_[i].problem)];
    }
    loss /= std::max(1, problems_);
    for (size_t t = 0; t < kTerms; ++t) {
      const double away = std::log(weights[t] / start_[t]);
      loss += kPull * away * away;
    }
    return loss;
  }

  std::span<const Timed> timed_;
  Terms start_, weights_;
  int problems_ = 0;
  std::vector<double> estimates_, logs_, counts_;
  double loss_ = 0;
};

}  // namespace

double error_of(std::span<const Timed> timed, const Terms& weights) {
  return Descent(timed, weights).error();
}

Fit fit(std::span<const Timed> timed, const Terms& start) {
  Descent descent(timed, start);
  double factor = kFirst;
  for (int round = 0; round < kMostRounds && factor > kLast; ++round) {
    bool moved = false;
    for (size_t t = 0; t < kTerms; ++t) {
      if (t == static_cast<size_t>(Term::kIssue)) continue;  // the unit
      while (descent.move(t, factor)) moved = true;
      while (descent.move(t, 1 / factor)) moved = true;
    }
    if (!moved) factor = std::sqrt(factor);
  }
  return {descent.weights(), descent.error()};
}

}  // namespace hone::schedules
