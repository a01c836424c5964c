// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/checksum.h"

#include <sqlite3.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace hone::runtime {
namespace {

/// FNV-1a: each step can be undone, so that one wrong byte never goes unseen.
struct Fnv {
  uint64_t value = 0xcbf29ce484222325;

  void add(const void* data, size_t n) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < n; ++i) value = (value ^ bytes[i]) * 0x100000001b3;
  }
  void add(uint64_t number) { add(&number, sizeof number); }
};

void sum(sqlite3_context* context, int count, sqlite3_value** values) {
  Fnv h;
  for (int i = 0; i < count; ++i) {
    const int type = sqlite3_value_type(values[i]);
    h.add(static_cast<uint64_t>(type));
    if (type == SQLITE_INTEGER) {
      h.add(static_cast<uint64_t>(sqlite3_value_int64(values[i])));
    } else if (type == SQLITE_FLOAT) {
      h.add(std::bit_cast<uint64_t>(sqlite3_value_double(values[i])));
    } else if (type != SQLITE_NULL) {
      const void* bytes = sqlite3_value_blob(values[i]);
      const auto size = static_cast<size_t>(sqlite3_value_bytes(values[i]));
      h.add(size);
      if (bytes) h.add(bytes, size);
    }
  }
  sqlite3_result_int64(context, static_cast<int64_t>(h.value));
}

}  // namespace

int add_checksum(sqlite3* db) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  return sqlite3_create_function(db, "hone_sum", -1, kFlags, nullptr, sum, nullptr, nullptr);
}

}  // namespace hone::runtime
