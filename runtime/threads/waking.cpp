// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/waking.h"

#include <algorithm>

namespace hone::runtime {
namespace {

/// Weight of the newest cost; gain for a cost, since data have to move to other cores as well.
/// Chosen: a few calls are remembered, and a loss weighs more than a gain (not measured).
constexpr double kNewest = 0.25, kMargin = 1.5;
/// Iterations of each worker: fewer, and trying one takes too large a part.
/// Chosen: a call that wakes workers loses a small part of its time (not measured).
constexpr int64_t kFew = 4;
/// A worker that comes later has no core to run on, which says nothing of waking.
/// Chosen: several times what was seen on quiet machines (not measured).
constexpr Waking::Duration kMostCost{100};

}  // namespace

void Waking::begin(int64_t n, int workers, Clock::time_point now) {
  n_ = n;
  workers_ = workers;
  begun_ = now;
  if (now - ended_ > awake_) lost_ = Duration(0);
}

bool Waking::are_few() const { return n_ < kFew * workers_; }

bool Waking::pays_at_once() const {
  const auto n = static_cast<size_t>(n_);
  if (n >= usual_.size() || !usual_[n]) return true;
  return lost_ + gain_of(*usual_[n]) > kMargin * cost_;
}

bool Waking::pays(int64_t done, Clock::time_point now) const {
  const auto all = static_cast<double>(n_), tried = static_cast<double>(done);
  const Duration left = Duration(now - begun_) * ((all - tried) / tried);
  return lost_ + gain_of(left) > kMargin * cost_;
}

void Waking::end(bool alone, Clock::time_point now) {
  const Duration took = now - begun_;
  lost_ = alone ? lost_ + gain_of(took) : Duration(0);
  ended_ = now;
  if (!are_few() || static_cast<size_t>(n_) >= usual_.size()) return;
  std::optional<Duration>& usual = usual_[static_cast<size_t>(n_)];
  const Duration one = alone ? took : took * workers_;
  usual = usual ? (1 - kNewest) * *usual + kNewest * one : one;
}

void Waking::woke(Duration after) {
  cost_ = (1 - kNewest) * cost_ + kNewest * std::min(after, kMostCost);
}

}  // namespace hone::runtime
