// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// Arithmetic on numbers that are known; false where they are not, and nothing is done.
bool compute_known(const ImportNode& node);

/// The same for a cast of integers that are known.
bool cast_known(const ImportNode& node, DType to);

}  // namespace hone::ops
