// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/quantize_ranges.h"

#include <algorithm>
#include <cmath>

namespace hone::runtime {
namespace {

/// Parts of a range that values are counted in.
/// Chosen: eight for each of the numbers of 8 bits (not measured).
constexpr size_t kBins = 2048;
/// Shares of an end that are tried, from all of it downwards.
/// Chosen: steps of a fiftieth, down to a fiftieth (not measured).
constexpr int kTries = 50;
/// Fixed by: the largest number of 8 bits.
constexpr double kMost = 255;

Affine affine_of(double low, double high) {
  Affine out;
  if (!(high > low)) return out;
  out.scale = static_cast<float>((high - low) / kMost);
  // Of values next to nothing the scale may be no number that divides.
  if (!std::isnormal(out.scale)) return {};
  out.zero = static_cast<uint8_t>(std::clamp(std::nearbyint(-low / out.scale), 0.0, kMost));
  return out;
}

}  // namespace

bool SeenValues::see(std::span<const float> values) {
  bool finite = true;
  for (const float v : values) {
    finite &= std::isfinite(v);
    low_ = std::min<double>(low_, v);
    high_ = std::max<double>(high_, v);
  }
  return finite;
}

double SeenValues::width() const { return (high_ - low_) / kBins; }

double SeenValues::middle(size_t bin) const {
  return low_ + (static_cast<double>(bin) + 0.5) * width();
}

void SeenValues::count(std::span<const float> values) {
  counts_.resize(kBins);
  if (!(high_ > low_)) return;
  const double per = 1 / width();
  for (const float v : values) {
    const auto bin = static_cast<size_t>(std::max(0.0, (v - low_) * per));
    ++counts_[std::min(bin, kBins - 1)];
  }
}

/// The sum of squares of what the range changes.
double SeenValues::squares(const Range& r) const {
  const Affine a = affine_of(r.low, r.high);
  double sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const double x = middle(i);
    const double q = std::clamp(std::nearbyint(x / a.scale) + a.zero, 0.0, kMost);
    const double apart = x - (q - a.zero) * a.scale;
    sum += static_cast<double>(counts_[i]) * apart * apart;
  }
  return sum;
}

/// One end after the other is moved to where the sum is the least.
SeenValues::Range SeenValues::least_squares() const {
  Range best{low_, high_};
  double least = squares(best);
  for (double Range::*end : {&Range::high, &Range::low, &Range::high}) {
    const double whole = end == &Range::high ? high_ : low_;
    for (int i = 1; i <= kTries; ++i) {
      Range r = best;
      r.*end = whole * i / kTries;
      if (!(r.high > r.low)) continue;
      const double sum = squares(r);
      if (sum >= least) continue;
      least = sum;
      best = r;
    }
  }
  return best;
}

/// Half of the rest is left out at each end.
SeenValues::Range SeenValues::percentile(double percent) const {
  int64_t all = 0;
  for (const int64_t n : counts_) all += n;
  const auto out = static_cast<int64_t>(static_cast<double>(all) * (100 - percent) / 200);
  size_t low = 0, high = kBins;
  for (int64_t n = 0; low < kBins && (n += counts_[low]) <= out;) ++low;
  for (int64_t n = 0; high > low + 1 && (n += counts_[high - 1]) <= out;) --high;
  return {std::min(0.0, low_ + static_cast<double>(low) * width()),
          std::max(0.0, low_ + static_cast<double>(high) * width())};
}

Affine SeenValues::affine(RangeChoice choice, double percent) const {
  Range r{low_, high_};
  const bool counted = !counts_.empty() && high_ > low_;
  if (choice == RangeChoice::kSquares && counted) r = least_squares();
  if (choice == RangeChoice::kPercentile && counted) r = percentile(percent);
  return affine_of(r.low, r.high);
}

}  // namespace hone::runtime
