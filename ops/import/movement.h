// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/import/importer.h"

namespace hone::ops {

/// One output whose element at `i0,i1` is the input's at `at`, over declared dims. `outside` says
/// what stands where there is none.
void import_moved(const ImportNode& node, size_t output, const ImportShape& shape,
                  const std::vector<std::string>& in, const std::vector<std::string>& out,
                  const std::vector<std::string>& at, const char* outside = "");

/// An attribute's integers as sizes.
ImportShape sizes_in(const ImportNode& node, std::string_view name);

}  // namespace hone::ops
