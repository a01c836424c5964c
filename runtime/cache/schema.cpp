// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/schema.h"

#include <fmt/format.h>

#include <string>

namespace hone::runtime {
namespace {

/// Fixed by: the file's format.
constexpr int64_t kApplicationId = 0x686f6e65;  // "hone"
constexpr int64_t kSchema = 2;

constexpr const char* kCreate = R"sql(
  BEGIN IMMEDIATE;
  CREATE TABLE IF NOT EXISTS keys(
    id INTEGER PRIMARY KEY, problem TEXT NOT NULL, target TEXT NOT NULL, codegen INTEGER NOT NULL,
    family TEXT NOT NULL, UNIQUE(problem, target, codegen));
  CREATE INDEX IF NOT EXISTS keys_family ON keys(family);
  CREATE TABLE IF NOT EXISTS records(
    key INTEGER NOT NULL REFERENCES keys(id), schedule TEXT NOT NULL, verdict TEXT NOT NULL,
    median_us REAL NOT NULL, samples TEXT NOT NULL, numerics TEXT NOT NULL, seed INTEGER NOT NULL,
    note TEXT NOT NULL, hit INTEGER NOT NULL, sum INTEGER, PRIMARY KEY(key, schedule))
    WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS trials(
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL REFERENCES keys(id), run TEXT NOT NULL,
    number INTEGER NOT NULL, schedule TEXT NOT NULL, verdict TEXT NOT NULL, median_us REAL NOT NULL,
    note TEXT NOT NULL, sum INTEGER);
  CREATE INDEX IF NOT EXISTS trials_key ON trials(key);
  PRAGMA application_id = 1752133221;
  PRAGMA user_version = 2;
  COMMIT;
)sql";

/// Rows that an older version wrote have no checksums: they are taken as they are.
Result<bool, Trouble> add_sums_within(Database* db) {
  const auto schema = db->integer("PRAGMA user_version");
  if (!schema) return schema.failure();
  if (*schema == kSchema) return true;  // another process was faster
  const auto binaries = has_binaries(db);
  if (!binaries) return binaries.failure();
  const std::pair<std::string, std::string_view> tables[] = {
      {"records", kRecordSum}, {"trials", kTrialSum}, {"binaries", kBinarySum}};
  for (const auto& [table, sum] : tables) {
    if (table == "binaries" && !*binaries) continue;
    const std::string of = table == "binaries"
                               ? std::string(sum)
                               : fmt::format("(SELECT {} FROM keys WHERE id = {}.key)", sum, table);
    const std::string sql =
        fmt::format("ALTER TABLE {0} ADD COLUMN sum INTEGER; UPDATE {0} SET sum = {1}", table, of);
    const auto added = db->run(sql.c_str());
    if (!added) return added.failure();
  }
  return db->run("PRAGMA user_version = 2");
}

Result<bool, Trouble> add_sums(Database* db) {
  const auto schema = db->integer("PRAGMA user_version");
  if (!schema) return schema.failure();
  if (*schema == kSchema) return true;
  auto result = db->run("BEGIN IMMEDIATE");
  if (!result) return result.failure();
  result = add_sums_within(db);
  if (result) result = db->run("COMMIT");
  if (!result) {
    const auto rolled_back = db->run("ROLLBACK");
    static_cast<void>(rolled_back);  // the first failure is the one to report
  }
  return result;
}

}  // namespace

Result<bool, Trouble> has_binaries(Database* db) {
  const auto table =
      db->integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'binaries'");
  if (!table) return table.failure();
  return *table > 0;
}

Result<bool, Trouble> prepare_schema(Database* db, bool write) {
  // Tables first: whoever finds some also finds the identity, which is written with them.
  const auto tables = db->integer("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.failure();
  const auto id = db->integer("PRAGMA application_id");
  if (!id) return id.failure();
  const auto schema = db->integer("PRAGMA user_version");
  if (!schema) return schema.failure();
  if (*tables > 0 && *id != kApplicationId) {
    return Trouble{Trouble::kForeign, "it is a SQLite database of something else"};
  }
  if (*schema > kSchema) {
    return Trouble{Trouble::kForeign,
                   fmt::format("it has schema {}, this version reads up to {}", *schema, kSchema)};
  }
  if (!write) {
    if (*tables == 0) return Trouble{Trouble::kForeign, "it is empty"};
    return *schema == kSchema;
  }
  if (*tables == 0) {
    const auto vacuum = db->run("PRAGMA auto_vacuum = INCREMENTAL");
    if (!vacuum) return vacuum.failure();
  }
  // Some file systems have no shared memory: there the rollback journal serves.
  const auto wal = db->text("PRAGMA journal_mode = WAL");
  if (!wal) {
    if (wal.failure().kind == Trouble::kBusy) return wal.failure();
    const auto journal = db->text("PRAGMA journal_mode = DELETE");
    if (!journal) return journal.failure();
  }
  const auto sync = db->run("PRAGMA synchronous = NORMAL");
  if (!sync) return sync.failure();
  if (*tables > 0) return add_sums(db);
  auto created = db->run(kCreate);
  if (!created) {
    const auto rolled_back = db->run("ROLLBACK");
    static_cast<void>(rolled_back);  // there may be no transaction to roll back
    return created.failure();
  }
  return true;
}

}  // namespace hone::runtime
