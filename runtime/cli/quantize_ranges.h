// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hone::runtime {

/// How the range that 8 bits span is chosen from the values of a tensor.
enum class RangeChoice : uint8_t {
  kSquares,     ///< the least mean square of what rounding and clipping change
  kPercentile,  ///< a share of the values in the middle
  kExtremes,    ///< all values
};

/// The number q of 0 to 255 stands for `(q - zero) * scale`.
struct Affine {
  float scale = 1;
  uint8_t zero = 0;
};

/// The values of a tensor over several samples, as a histogram. Each sample is seen twice: first
/// for the extremes, then to be counted between them.
class SeenValues {
 public:
  /// False where a value is not finite.
  bool see(std::span<const float> values);
  void count(std::span<const float> values);

  /// The scale and zero point of the range that `choice` has; 0 is one of its numbers. `percent` is
  /// the share of kPercentile.
  Affine affine(RangeChoice choice, double percent) const;

 private:
  struct Range {
    double low, high;
  };

  double width() const;
  double middle(size_t bin) const;
  double squares(const Range& r) const;
  Range least_squares() const;
  Range percentile(double percent) const;

  double low_ = 0, high_ = 0;  ///< 0 is always between
  std::vector<int64_t> counts_;
};

}  // namespace hone::runtime
