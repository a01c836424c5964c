// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace hone::runtime {

/// The share of the best time that as many trials again should save. It is what the last half of
/// them saved, and no more than the machine's limit leaves; 0 of a few trials. `times_us` are in
/// the order of the trials, infinite where nothing was timed. `of_limit` is the share of the limit
/// that is reached; 0: unknown.
double expected_gain(std::span<const double> times_us, double of_limit);

}  // namespace hone::runtime
