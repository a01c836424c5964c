// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/suites.h"

namespace hone::bench {

/// Times the models of a folder, each fused, node by node and by the peers that are asked for, in
/// turns, with random weights and inputs: a row for each. A model that does not load has its reason
/// in its row. The exit code.
int run_models(const Options& options);

}  // namespace hone::bench
