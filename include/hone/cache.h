// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// A record of the cache that makes no sense.
struct CacheFlaw {
  std::string record;  ///< `PROBLEM | TARGET | SCHEDULE`, or the file
  std::string flaw;    ///< what is wrong with it
};

/// What came of reading records.
struct CacheReport {
  int64_t records = 0;  ///< read; of an import those that were taken
  std::vector<CacheFlaw> flaws;
};

}  // namespace hone
