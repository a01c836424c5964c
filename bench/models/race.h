// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/models/results.h"
#include "bench/suites.h"

namespace hone::bench {

/// Measures one model: loads and first calls, then calls of the fused model, of the same node by
/// node, and of the peers in turns, all on the same random inputs. What a peer cannot do is told in
/// its row, and so is how far its outputs are from hone's.
ModelRow race_model(const Options& options, const std::string& path);

}  // namespace hone::bench
