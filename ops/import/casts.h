// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/import/importer.h"

namespace hone::ops {

/// An element of type `from` as one of type `to`. Floats of 8 bits that do not hold it become the
/// largest of its sign where `saturates` says so, else infinite or NaN. Floats become integers of
/// less than a byte by rounding, others by truncation; both saturate.
std::string cast_of(const std::string& value, DType from, DType to, bool saturates);

}  // namespace hone::ops
