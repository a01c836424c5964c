// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::ops {

/// What random problems may contain beside fixed dims.
struct RandomOptions {
  bool ranged = true;   ///< a dim known only at the call
  bool layouts = true;  ///< storage orders, strides, `const`, alignment
  bool data = true;     ///< indices and ranges that are read from tensors
  /// Largest dim. Past 64 dims are of all sizes, as many in each octave, one in four a power of
  /// two.
  int64_t most_dim = 64;
  double most_points = 20000;  ///< of the iteration space of a stage
  /// Terms of a reduction. Longer sums of terms that are all alike round one way, and leave the
  /// bounds that candidates are held to.
  double most_terms = 500;
};

/// A random problem, its op in full, that parses: one to four statements of anything that the
/// language has. The same seed gives the same text.
std::string random_problem(uint64_t seed, const RandomOptions& options = {});

/// Problems that parse and are simpler than `problem` by one step, the boldest steps first. Steps:
/// a smaller dim, no `where`, a part of an expression in place of the whole, a plain layout. To
/// shrink a failure, take the first that still fails, again and again.
std::vector<std::string> simpler_problems(const std::string& problem);

}  // namespace hone::ops
