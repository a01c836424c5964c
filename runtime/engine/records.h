// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "include/hone/cache.h"
#include "include/hone/error.h"
#include "runtime/cache/record.h"
#include "runtime/engine/engine_state.h"

namespace hone::runtime {

/// `PROBLEM | TARGET | SCHEDULE` of a record.
std::string place_of(const Record& record);

/// Puts the records that make sense into the cache's file, and tells of the others. A failure where
/// they would be gone with this process.
Result<CacheReport> take_in(EngineState& engine, std::vector<Record> records);

/// Checks the cache's file and every record in it.
CacheReport verify(EngineState& engine);

}  // namespace hone::runtime
