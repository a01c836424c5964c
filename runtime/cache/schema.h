// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "runtime/cache/sqlite.h"

namespace hone::runtime {

/// What the checksum of a record is made of, as SQL over `records` and `keys`.
inline constexpr std::string_view kRecordSum =
    "hone_sum(problem, target, codegen, family, schedule, verdict, median_us, samples, numerics, "
    "seed, note)";
/// The same of a line of the log, over `trials` and `keys`.
inline constexpr std::string_view kTrialSum =
    "hone_sum(problem, target, codegen, family, run, number, schedule, verdict, median_us, note)";
/// The same of machine code, over `binaries`.
inline constexpr std::string_view kBinarySum = "hone_sum(source, codegen, nvrtc, sm, code)";

/// Makes a file ours, or checks that it is: journal, durability, tables; what an older version
/// wrote gets checksums. Returns whether rows have them: those of an older file that is only read
/// have none.
Result<bool, Trouble> prepare_schema(Database* db, bool write);

/// Whether there is a table of machine code.
Result<bool, Trouble> has_binaries(Database* db);

}  // namespace hone::runtime
