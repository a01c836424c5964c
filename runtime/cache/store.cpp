// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/cache/schema.h"

namespace hone::runtime {
namespace {

/// Fixed by: the seconds of a day.
constexpr int64_t kDay = 24 * 60 * 60;

// A failing verdict outweighs a good one: a schedule that was ever seen wrong is not served. Ties
// go to the smaller median, then to the smaller text, so that uniting commutes.
constexpr std::string_view kPut = R"sql(
  INSERT INTO records(key, schedule, verdict, median_us, samples, numerics, seed, note, hit, sum)
  SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,
    hone_sum(problem, target, codegen, family, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  FROM keys WHERE id = ?1
  ON CONFLICT(key, schedule) DO UPDATE SET
    verdict = excluded.verdict, median_us = excluded.median_us, samples = excluded.samples,
    numerics = excluded.numerics, seed = excluded.seed, note = excluded.note,
    hit = max(hit, excluded.hit), sum = excluded.sum
  WHERE (?10 AND (excluded.verdict <> 'ok' OR verdict = 'ok')) OR
    (excluded.verdict = 'ok', excluded.median_us, excluded.verdict, excluded.samples,
     excluded.numerics, excluded.seed, excluded.note) <
    (verdict = 'ok', median_us, verdict, samples, numerics, seed, note)
)sql";

std::string print_samples(const std::vector<double>& samples) {
  std::string text;
  for (double s : samples) text += fmt::format("{}{}", text.empty() ? "" : " ", s);
  return text;
}

std::vector<double> parse_samples(const std::string& text) {
  std::vector<double> samples;
  const char* at = text.c_str();
  char* end = nullptr;
  for (double s = std::strtod(at, &end); end != at; s = std::strtod(at, &end)) {
    samples.push_back(s);
    at = end;
  }
  return samples;
}

}  // namespace

Result<Store, Trouble> Store::open(const std::string& path, Database::Mode mode) {
  // What is no file may never end, as a pipe does.
  struct stat info {};
  if (path != ":memory:" && ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return Trouble{Trouble::kForeign, "it is no regular file"};
  }
  // SQLite does not wait by itself while another process creates the file or turns it to WAL.
  const bool write = mode == Database::Mode::kWrite;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(write ? 5 : 0);
  while (true) {
    auto db = Database::open(path, mode);
    if (!db) return db.failure();
    const auto ready = prepare_schema(&*db, write);
    if (ready) return Store(std::move(*db), *ready);
    const bool late = std::chrono::steady_clock::now() > deadline;
    if (ready.failure().kind != Trouble::kBusy || late) return ready.failure();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Result<int64_t, Trouble> Store::key_id(const Key& key) {
  auto insert = db_.prepare(
      "INSERT INTO keys(problem, target, codegen, family) VALUES(?1, ?2, ?3, ?4) "
      "ON CONFLICT DO NOTHING");
  if (!insert) return insert.failure();
  insert->bind(key.problem).bind(key.target).bind(int64_t{key.codegen});
  const auto inserted = insert->bind(family_of(key.problem)).step();
  if (!inserted) return inserted.failure();
  auto select =
      db_.prepare("SELECT id FROM keys WHERE problem = ?1 AND target = ?2 AND codegen = ?3");
  if (!select) return select.failure();
  const auto row = select->bind(key.problem).bind(key.target).bind(int64_t{key.codegen}).step();
  if (!row) return row.failure();
  if (!*row) return Trouble{Trouble::kOther, "a key vanished while it was used"};
  return select->integer(0);
}

/// A condition: the row is what was written.
std::string Store::sound(std::string_view sum) const {
  return sums_ ? fmt::format("sum IS {}", sum) : "1";
}

Result<std::vector<Record>, Trouble> Store::select(const std::string& condition,
                                                   const std::string& parameter) {
  auto rows = db_.prepare(
      fmt::format("SELECT problem, target, codegen, schedule, verdict, median_us, samples, "
                  "numerics, seed, note, {} FROM records JOIN keys ON keys.id = records.key WHERE "
                  "{} ORDER BY problem, target, codegen, schedule",
                  sound(kRecordSum), condition));
  if (!rows) return rows.failure();
  rows->bind(parameter);
  std::vector<Record> records;
  while (true) {
    const auto more = rows->step();
    if (!more) return more.failure();
    if (!*more) return records;
    if (rows->integer(10) == 0) {
      ++damaged_;
      continue;
    }
    Record r;
    r.key = {rows->text(0), rows->text(1), static_cast<int>(rows->integer(2))};
    r.schedule = rows->text(3);
    r.verdict = rows->text(4);
    r.median_us = rows->real(5);
    r.samples_us = parse_samples(rows->text(6));
    r.numerics = rows->text(7);
    r.seed = static_cast<uint64_t>(rows->integer(8));
    r.note = rows->text(9);
    records.push_back(std::move(r));
  }
}

Result<std::vector<Record>, Trouble> Store::of_problem(const std::string& problem) {
  return select("problem = ?1", problem);
}

Result<std::vector<Record>, Trouble> Store::of_family(const std::string& family) {
  return select(
      fmt::format("family = ?1 AND verdict = 'ok' AND schedule = (SELECT schedule FROM records "
                  "WHERE key = keys.id AND verdict = 'ok' AND {} "
                  "ORDER BY median_us, schedule LIMIT 1)",
                  sound(kRecordSum)),
      family);
}

Result<std::vector<Record>, Trouble> Store::all() { return select("?1 = ''", ""); }

Result<bool, Trouble> Store::put(const Record& record, Meeting meeting, int64_t now) {
  const auto key = key_id(record.key);
  if (!key) return key.failure();
  // What is damaged has no say in what is put in its place.
  auto damaged = db_.prepare(
      fmt::format("DELETE FROM records WHERE key = ?1 AND schedule = ?2 AND NOT (SELECT {} FROM "
                  "keys WHERE id = records.key)",
                  sound(kRecordSum)));
  if (!damaged) return damaged.failure();
  const auto gone = damaged->bind(*key).bind(record.schedule).step();
  if (!gone) return gone.failure();
  auto insert = db_.prepare(kPut);
  if (!insert) return insert.failure();
  insert->bind(*key).bind(record.schedule).bind(record.verdict).bind(record.median_us);
  insert->bind(print_samples(record.samples_us)).bind(record.numerics);
  insert->bind(static_cast<int64_t>(record.seed)).bind(record.note).bind(now);
  const auto done = insert->bind(int64_t{meeting == Meeting::kReplace}).step();
  if (!done) return done.failure();
  return true;
}

Result<bool, Trouble> Store::put_all(const std::vector<Record>& records, int64_t now) {
  auto result = db_.run("BEGIN IMMEDIATE");
  if (!result) return result.failure();
  for (const Record& record : records) {
    result = put(record, Meeting::kUnite, now);
    if (!result) break;
  }
  if (result) result = db_.run("COMMIT");
  if (!result) {
    const auto rolled_back = db_.run("ROLLBACK");
    static_cast<void>(rolled_back);  // the first failure is the one to report
  }
  return result;
}

Result<bool, Trouble> Store::log(const Trial& trial) {
  const auto key = key_id(trial.key);
  if (!key) return key.failure();
  auto insert = db_.prepare(
      "INSERT INTO trials(key, run, number, schedule, verdict, median_us, note, sum) "
      "SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, hone_sum(problem, target, codegen, family, ?2, ?3, ?4, "
      "?5, ?6, ?7) FROM keys WHERE id = ?1");
  if (!insert) return insert.failure();
  insert->bind(*key).bind(trial.run).bind(trial.number).bind(trial.schedule);
  const auto done = insert->bind(trial.verdict).bind(trial.median_us).bind(trial.note).step();
  if (!done) return done.failure();
  return true;
}

Result<bool, Trouble> Store::touch(const Record& record, int64_t now) {
  auto fresh = db_.prepare(
      "SELECT hit, key FROM records JOIN keys ON keys.id = records.key WHERE problem = ?1 AND "
      "target = ?2 AND codegen = ?3 AND schedule = ?4");
  if (!fresh) return fresh.failure();
  fresh->bind(record.key.problem).bind(record.key.target).bind(int64_t{record.key.codegen});
  const auto found = fresh->bind(record.schedule).step();
  if (!found) return found.failure();
  if (!*found || fresh->integer(0) + kDay > now) return true;
  auto update = db_.prepare("UPDATE records SET hit = ?1 WHERE key = ?2 AND schedule = ?3");
  if (!update) return update.failure();
  const auto done = update->bind(now).bind(fresh->integer(1)).bind(record.schedule).step();
  if (!done) return done.failure();
  return true;
}

Result<StoreCounts, Trouble> Store::counts() {
  StoreCounts counts;
  const auto read = [&](const char* sql, int64_t* into) -> Result<bool, Trouble> {
    const auto value = db_.integer(sql);
    if (!value) return value.failure();
    *into = *value;
    return true;
  };
  int64_t pages = 0, page = 0, free_pages = 0;
  const std::pair<const char*, int64_t*> reads[] = {
      {"SELECT count(*) FROM keys", &counts.keys},
      {"SELECT count(*) FROM records WHERE verdict = 'ok'", &counts.records},
      {"SELECT count(*) FROM records WHERE verdict <> 'ok'", &counts.quarantined},
      {"SELECT count(*) FROM trials", &counts.trials},
      {"PRAGMA page_count", &pages},
      {"PRAGMA page_size", &page},
      {"PRAGMA freelist_count", &free_pages},
  };
  for (const auto& [sql, into] : reads) {
    const auto done = read(sql, into);
    if (!done) return done.failure();
  }
  const auto binaries = count_binaries();
  if (!binaries) return binaries.failure();
  counts.binaries = *binaries;
  counts.bytes = (pages - free_pages) * page;
  return counts;
}

Result<bool, Trouble> Store::evict(int64_t max_bytes) {
  // Each round drops a quarter of the logs, then of the records; a few rounds reach any size.
  const auto table = make_binaries();
  if (!table) return table.failure();
  constexpr const char* kRounds[] = {
      "DELETE FROM trials WHERE id IN (SELECT id FROM trials ORDER BY id LIMIT "
      "1 + (SELECT count(*) FROM trials) / 4)",
      "DELETE FROM binaries WHERE id IN (SELECT id FROM binaries ORDER BY hit, id LIMIT "
      "1 + (SELECT count(*) FROM binaries) / 4)",
      "DELETE FROM records WHERE (key, schedule) IN (SELECT key, schedule FROM records "
      "ORDER BY hit, key, schedule LIMIT 1 + (SELECT count(*) FROM records) / 4)",
  };
  for (const char* round : kRounds) {
    while (true) {
      const auto now = counts();
      if (!now) return now.failure();
      if (now->bytes <= max_bytes) return true;
      const auto gone = db_.run(round);
      if (!gone) return gone.failure();
      if (db_.changes() == 0) break;
      const auto shrunk = db_.run("PRAGMA incremental_vacuum");
      if (!shrunk) return shrunk.failure();
    }
  }
  return true;
}

Result<int64_t, Trouble> Store::prune(const PruneOptions& options) {
  int64_t gone = 0;
  const auto remove = [&](const std::string& sql) -> Result<bool, Trouble> {
    const auto done = db_.run(sql.c_str());
    if (done) gone += db_.changes();
    return done;
  };
  std::vector<std::string> steps;
  if (options.unused_since > 0) {
    steps.push_back(fmt::format("DELETE FROM records WHERE hit < {}", options.unused_since));
  }
  if (options.keep_codegen) {
    steps.push_back(
        fmt::format("DELETE FROM records WHERE key IN (SELECT id FROM keys WHERE codegen <> {})",
                    *options.keep_codegen));
  }
  if (options.keep_codegen) {
    const auto dropped = prune_binaries(*options.keep_codegen);
    if (!dropped) return dropped.failure();
  }
  for (const std::string& sql : steps) {
    const auto done = remove(sql);
    if (!done) return done.failure();
  }
  const int64_t records = gone;
  if (options.trials) {
    const auto done = remove("DELETE FROM trials");
    if (!done) return done.failure();
  }
  const auto orphans = db_.run(
      "DELETE FROM trials WHERE key NOT IN (SELECT id FROM keys);"
      "DELETE FROM keys WHERE id NOT IN (SELECT key FROM records) AND id NOT IN "
      "(SELECT key FROM trials); PRAGMA incremental_vacuum");
  if (!orphans) return orphans.failure();
  return records;
}

Result<std::string, Trouble> Store::integrity() {
  auto said = db_.text("PRAGMA integrity_check(8)");
  if (!said || *said != "ok") return said;
  const auto binaries = has_binaries(&db_);
  if (!binaries) return binaries.failure();
  const std::pair<std::string, std::string_view> tables[] = {
      {"records JOIN keys ON keys.id = records.key", kRecordSum},
      {"trials JOIN keys ON keys.id = trials.key", kTrialSum},
      {"binaries", kBinarySum},
  };
  int64_t damaged = 0;
  for (const auto& [table, sum] : tables) {
    if (table == "binaries" && !*binaries) continue;
    const auto count =
        db_.integer(fmt::format("SELECT count(*) FROM {} WHERE NOT ({})", table, sound(sum)));
    if (!count) return count.failure();
    damaged += *count;
  }
  if (damaged == 0) return std::string();
  return fmt::format("{} rows are damaged: their checksums do not fit", damaged);
}

}  // namespace hone::runtime
