// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::tests {

/// How much work a run of the suites is to do.
enum class Effort {
  kSmoke,  ///< a sample of the cases: for sanitizers, the second compiler and emulators
  kQuick,  ///< `./dev test --quick`, and a test program started by hand
  kFull,   ///< `./dev test`
  kLong,   ///< `./dev test --long`: samples of `full` are whole, searches of faults go on
};

/// The effort that HONE_TEST_EFFORT asks for: smoke, quick, full or long; quick when it is not
/// set.
Effort effort();

/// Picks the count, or the seconds, that belongs to effort().
double by_effort(double smoke, double quick, double full);
double by_effort(double smoke, double quick, double full, double longest);

/// The number that an environment variable gives, as HONE_FUZZ_SEED does, else `otherwise`.
double setting(const char* name, double otherwise);

}  // namespace hone::tests
