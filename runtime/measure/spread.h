// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace hone::runtime {

/// The middle value; the mean of the two middle ones of an even number; 0 of none.
double median(std::vector<double> values);

/// A median with the middle half of its values.
struct Spread {
  double low = 0;  ///< a quarter of the values are below
  double median = 0;
  double high = 0;  ///< a quarter are above
};
Spread spread_of(std::vector<double> values);

}  // namespace hone::runtime
