// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// A tensor that a stage reads along another axis than it stores along.
struct Crossing {
  std::string tensor;
  std::string stored;     ///< variable along which the result runs on in memory
  std::string read;       ///< the one along which the tensor does
  size_t stored_dim = 0;  ///< dims of the tensor that they index
  size_t read_dim = 0;
  int64_t side = 0;  ///< of the squares that registers hold
};

/// The one tensor of a stage that is read across its store along `stored`, where registers can
/// transpose it. Else `plan` is told why they cannot.
std::optional<Crossing> crossing_of(Plan& plan, const std::string& stage,
                                    const std::string& stored);

/// Cuts the two loops into squares, transposed in registers. `outer` are the loops around them,
/// outermost first. False, with steps already added, where a step does not apply.
bool transpose_in_registers(Plan& plan, const std::string& stage, const Crossing& crossing,
                            const std::vector<std::string>& outer);

}  // namespace hone::schedules
