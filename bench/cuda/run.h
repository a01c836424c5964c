// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/suites.h"

namespace hone::bench {

/// `bench --target cuda`: every problem of the groups by hone and, if asked, by other libraries,
/// then the table; in pieces of some minutes where the options say so. The exit code.
int run_gpu(const Options& options, char** argv);

}  // namespace hone::bench
