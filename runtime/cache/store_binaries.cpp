// SPDX-License-Identifier: Apache-2.0
// Machine code for GPUs in a cache file: a table that is made when it is first written to.
#include <fmt/format.h>

#include "runtime/cache/schema.h"
#include "runtime/cache/store.h"

namespace hone::runtime {

Result<bool, Trouble> Store::make_binaries() {
  return db_.run(
      "CREATE TABLE IF NOT EXISTS binaries(id INTEGER PRIMARY KEY, source TEXT NOT NULL, "
      "codegen INTEGER NOT NULL, nvrtc TEXT NOT NULL, sm INTEGER NOT NULL, code BLOB NOT NULL, "
      "hit INTEGER NOT NULL, sum INTEGER, UNIQUE(source, codegen, nvrtc, sm))");
}

Result<int64_t, Trouble> Store::count_binaries() {
  const auto table = has_binaries(&db_);
  if (!table) return table.failure();
  if (!*table) return int64_t{0};
  return db_.integer("SELECT count(*) FROM binaries");
}

Result<bool, Trouble> Store::prune_binaries(int generation) {
  const auto made = make_binaries();
  if (!made) return made.failure();
  auto rows = db_.prepare("DELETE FROM binaries WHERE codegen <> ?1");
  if (!rows) return rows.failure();
  return rows->bind(int64_t{generation}).step();
}

Result<std::optional<Bytes>, Trouble> Store::binary(const BinaryKey& key) {
  const auto count = count_binaries();
  if (!count) return count.failure();
  if (*count == 0) return std::optional<Bytes>();
  auto rows = db_.prepare(
      fmt::format("SELECT code, {} FROM binaries WHERE source = ?1 AND codegen = ?2 AND sm = ?3 "
                  "AND (?4 = '' OR nvrtc = ?4) ORDER BY id DESC LIMIT 1",
                  sound(kBinarySum)));
  if (!rows) return rows.failure();
  rows->bind(key.source).bind(int64_t{key.generation}).bind(int64_t{key.sm}).bind(key.nvrtc);
  const auto found = rows->step();
  if (!found) return found.failure();
  if (!*found) return std::optional<Bytes>();
  if (rows->integer(1) == 0) {
    ++damaged_;
    return std::optional<Bytes>();
  }
  return std::optional<Bytes>(rows->bytes(0));
}

Result<bool, Trouble> Store::keep_binary(const BinaryKey& key, const Bytes& bytes, int64_t now) {
  const auto made = make_binaries();
  if (!made) return made.failure();
  auto insert = db_.prepare(
      "INSERT OR REPLACE INTO binaries(source, codegen, nvrtc, sm, code, hit, sum) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, hone_sum(?1, ?2, ?3, ?4, ?5))");
  if (!insert) return insert.failure();
  insert->bind(key.source).bind(int64_t{key.generation}).bind(key.nvrtc);
  insert->bind(int64_t{key.sm}).bind_bytes(bytes).bind(now);
  const auto done = insert->step();
  if (!done) return done.failure();
  return true;
}

}  // namespace hone::runtime
