// SPDX-License-Identifier: Apache-2.0
// The logs of tuning runs in a cache file, and the weights that are fitted to them. Weights are a
// table that is made when it is first written to.
#include <fmt/format.h>

#include "runtime/cache/schema.h"
#include "runtime/cache/store.h"

namespace hone::runtime {

Result<std::vector<Trial>, Trouble> Store::select_trials(const std::string& condition,
                                                         const Key& key) {
  auto rows = db_.prepare(
      fmt::format("SELECT run, number, schedule, verdict, median_us, note, {}, problem FROM trials "
                  "JOIN keys ON keys.id = trials.key WHERE target = ?1 AND codegen = ?2 AND {} "
                  "ORDER BY trials.id",
                  sound(kTrialSum), condition));
  if (!rows) return rows.failure();
  rows->bind(key.target).bind(int64_t{key.codegen}).bind(key.problem);
  std::vector<Trial> trials;
  while (true) {
    const auto more = rows->step();
    if (!more) return more.failure();
    if (!*more) return trials;
    if (rows->integer(6) == 0) {
      ++damaged_;
      continue;
    }
    trials.push_back({{rows->text(7), key.target, key.codegen},
                      rows->text(0),
                      rows->integer(1),
                      rows->text(2),
                      rows->text(3),
                      rows->real(4),
                      rows->text(5)});
  }
}

Result<std::vector<Trial>, Trouble> Store::trials(const Key& key) {
  return select_trials("problem = ?3", key);
}

Result<std::vector<Trial>, Trouble> Store::trials_in(const Key& context) {
  return select_trials("?3 = ?3", context);
}

Result<int64_t, Trouble> Store::count_trials_in(const Key& context) {
  auto rows = db_.prepare(
      "SELECT count(*) FROM trials JOIN keys ON keys.id = trials.key WHERE target = ?1 AND "
      "codegen = ?2");
  if (!rows) return rows.failure();
  const auto found = rows->bind(context.target).bind(int64_t{context.codegen}).step();
  if (!found) return found.failure();
  return *found ? rows->integer(0) : 0;
}

Result<std::optional<Weights>, Trouble> Store::weights(const Key& context) {
  const auto table =
      db_.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'weights'");
  if (!table) return table.failure();
  if (*table == 0) return std::optional<Weights>();
  auto rows = db_.prepare("SELECT text, trials FROM weights WHERE target = ?1 AND codegen = ?2");
  if (!rows) return rows.failure();
  const auto found = rows->bind(context.target).bind(int64_t{context.codegen}).step();
  if (!found) return found.failure();
  return *found ? std::optional(Weights{rows->text(0), rows->integer(1)}) : std::nullopt;
}

Result<bool, Trouble> Store::keep_weights(const Key& context, const Weights& weights) {
  const auto made = db_.run(
      "CREATE TABLE IF NOT EXISTS weights(target TEXT NOT NULL, codegen INTEGER NOT NULL, text "
      "TEXT NOT NULL, trials INTEGER NOT NULL, PRIMARY KEY(target, codegen)) WITHOUT ROWID");
  if (!made) return made.failure();
  auto insert = db_.prepare("INSERT OR REPLACE INTO weights VALUES(?1, ?2, ?3, ?4)");
  if (!insert) return insert.failure();
  insert->bind(context.target).bind(int64_t{context.codegen});
  const auto done = insert->bind(weights.text).bind(weights.trials).step();
  if (!done) return done.failure();
  return true;
}

}  // namespace hone::runtime
