// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/waking.h"

namespace hone::runtime {
namespace {

/// Weight of the newest cost; gain for a cost, since data have to move to other cores as well.
/// Chosen: a few calls are remembered, and a loss weighs more than a gain (not measured).
constexpr double kNewest = 0.25, kMargin = 1.5;

}  // namespace

void Waking::begin(int workers, Clock::time_point now) {
  workers_ = workers;
  begun_ = now;
  if (now - ended_ > awake_) lost_ = Duration(0);
}

bool Waking::pays(double done, double all, Clock::time_point now) const {
  const Duration left = Duration(now - begun_) * ((all - done) / done);
  return lost_ + gain_of(left) > kMargin * cost_;
}

void Waking::end(bool alone, Clock::time_point now) {
  lost_ = alone ? lost_ + gain_of(now - begun_) : Duration(0);
  ended_ = now;
}

void Waking::woke(Duration after) { cost_ = (1 - kNewest) * cost_ + kNewest * after; }

}  // namespace hone::runtime
