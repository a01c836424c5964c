// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/waking.h"

#include <algorithm>

namespace hone::runtime {
namespace {

/// Weight of the newest cost; gain for a cost, since data have to move to other cores as well.
/// Chosen: a few calls are remembered, and a loss weighs more than a gain (not measured).
constexpr double kNewest = 0.25, kMargin = 1.5;
/// How fast a cost that is not met any more is forgotten, each call.
/// Chosen: a machine is not busy for ever (not measured).
constexpr double kForgotten = 0.01;
/// Iterations of each worker: fewer, and trying one takes too large a part.
/// Chosen: a call that wakes workers loses a small part of its time (not measured).
constexpr int64_t kFew = 4;
/// A worker that comes later has no core to run on, which says nothing of waking.
/// Chosen: several times what was seen on quiet machines (not measured).
constexpr Waking::Duration kMostCost{100};

}  // namespace

bool Waking::are_few() const { return n_ < kFew * workers_; }

void Waking::begin(size_t kind, int64_t n, int workers, Clock::time_point now) {
  kind_ = kind;
  n_ = n;
  workers_ = workers;
  begun_ = warm_ = now;
  before_ = 0;
  if (now - ended_ > awake_) lost_ = Duration(0);
}

bool Waking::pays_at_once() const {
  if (!are_few()) return false;
  const auto& usual = usual_[alike()];
  return !usual || lost_ + gain_of(*usual) > kMargin * cost_;
}

bool Waking::pays(int64_t done, Clock::time_point now) {
  const Duration dear = kMargin * cost_;
  const bool first = before_ == 0;
  const Duration took = now - warm_;
  const auto left = static_cast<double>(n_ - done), tried = static_cast<double>(done - before_);
  const bool pays = lost_ + gain_of(took * (left / tried)) > dear;
  if (first) {
    before_ = done;
    warm_ = now;
  }
  return pays && (!first || took > dear);
}

void Waking::end(int workers, Duration after, Clock::time_point now) {
  const Duration took = now - begun_;
  const Duration waited = std::min({after, kMostCost, took});
  if (waited > Duration(0)) {
    cost_ = (1 - kNewest) * cost_ + kNewest * waited;
  } else if (cost_ > kUsualCost) {
    cost_ += kForgotten * (kUsualCost - cost_);
  }
  lost_ = workers == 1 ? lost_ + gain_of(took) : Duration(0);
  ended_ = now;
  if (!are_few()) return;
  const Duration one = (took - waited) * workers;
  auto& usual = usual_[alike()];
  usual = usual ? (1 - kNewest) * *usual + kNewest * one : one;
}

}  // namespace hone::runtime
