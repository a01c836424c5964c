// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "bench/suites.h"

namespace hone::bench {

/// The rows of bench/speed/rows.txt in turns with peers, against the bound; the exit code.
int run_speed(const Options& options);

/// The texts of bench/speed/rows.txt and bench/speed/ops.hone.
std::string_view speed_rows();
std::string_view speed_ops();

}  // namespace hone::bench
