// SPDX-License-Identifier: Apache-2.0
// What machines can do at best, in a cache file: a table that is made when it is first written to.
#include "runtime/cache/store.h"

namespace hone::runtime {

Result<double, Trouble> Store::ceiling(const std::string& target, const std::string& name) {
  const auto table =
      db_.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'ceilings'");
  if (!table) return table.failure();
  if (*table == 0) return 0.0;
  auto rows = db_.prepare("SELECT rate FROM ceilings WHERE target = ?1 AND name = ?2");
  if (!rows) return rows.failure();
  const auto found = rows->bind(target).bind(name).step();
  if (!found) return found.failure();
  return *found ? rows->real(0) : 0.0;
}

Result<bool, Trouble> Store::keep_ceiling(const std::string& target, const std::string& name,
                                          double rate) {
  const auto made = db_.run(
      "CREATE TABLE IF NOT EXISTS ceilings(target TEXT NOT NULL, name TEXT NOT NULL, "
      "rate REAL NOT NULL, PRIMARY KEY(target, name)) WITHOUT ROWID");
  if (!made) return made.failure();
  auto insert = db_.prepare(
      "INSERT INTO ceilings(target, name, rate) VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE SET "
      "rate = max(rate, excluded.rate)");
  if (!insert) return insert.failure();
  const auto done = insert->bind(target).bind(name).bind(rate).step();
  if (!done) return done.failure();
  return true;
}

}  // namespace hone::runtime
