// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "runtime/cache/record.h"

namespace hone::runtime {

/// Records as text for people and version control: one block of `field: value` lines a record,
/// blank lines between, sorted. The same records give the same bytes.
std::string print_records(std::vector<Record> records);

/// Reads what print_records wrote. Errors name `origin`, the line, and what was expected.
Result<std::vector<Record>> parse_records(std::string_view text, std::string_view origin);

}  // namespace hone::runtime
