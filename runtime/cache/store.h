// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache/binary.h"
#include "runtime/cache/record.h"
#include "runtime/cache/sqlite.h"

namespace hone::runtime {

/// Counts of a store.
struct StoreCounts {
  int64_t keys = 0;
  int64_t records = 0;
  int64_t quarantined = 0;
  int64_t trials = 0;
  int64_t binaries = 0;
  int64_t bytes = 0;
};

/// How a record meets one of the same key and schedule.
enum class Meeting : uint8_t {
  kReplace,  ///< a new measurement: the old one is history
  kUnite,    ///< import and merge: the result does not depend on the order
};

/// What to remove from a store.
struct PruneOptions {
  int64_t unused_since = 0;         ///< records not served since this time (seconds, Unix); 0: keep
  std::optional<int> keep_codegen;  ///< records of every other code generation
  bool trials = false;              ///< the logs of tuning runs
};

/// One cache file (or memory): the schema and its queries. Not for several threads at a time.
class Store {
 public:
  /// Opens and, in mode kWrite, creates. ":memory:" keeps nothing.
  static Result<Store, Trouble> open(const std::string& path, Database::Mode mode);

  /// All records of a problem, whatever their context and verdict.
  Result<std::vector<Record>, Trouble> of_problem(const std::string& problem);
  /// Good records of the problem's family, the best of each key only.
  Result<std::vector<Record>, Trouble> of_family(const std::string& family);
  /// Everything, ordered by key and schedule.
  Result<std::vector<Record>, Trouble> all();
  Result<bool, Trouble> put(const Record& record, Meeting meeting, int64_t now);
  /// One transaction.
  Result<bool, Trouble> put_all(const std::vector<Record>& records, int64_t now);

  Result<bool, Trouble> log(const Trial& trial);
  /// The trials of a key in the order they were made.
  Result<std::vector<Trial>, Trouble> trials(const Key& key);

  /// The trials of all problems in the key's context, in the order they were made.
  Result<std::vector<Trial>, Trouble> trials_in(const Key& context);
  /// How many there are.
  Result<int64_t, Trouble> count_trials_in(const Key& context);
  /// Weights that were fitted in a context; nothing where none were.
  Result<std::optional<Weights>, Trouble> weights(const Key& context);
  Result<bool, Trouble> keep_weights(const Key& context, const Weights& weights);

  /// Machine code for a GPU; where the key names no compiler, from the newest there is.
  Result<std::optional<Bytes>, Trouble> binary(const BinaryKey& key);
  Result<bool, Trouble> keep_binary(const BinaryKey& key, const Bytes& bytes, int64_t now);

  /// The best rate ever measured of what a target can do, by its name; 0: none.
  Result<double, Trouble> ceiling(const std::string& target, const std::string& name);
  Result<bool, Trouble> keep_ceiling(const std::string& target, const std::string& name,
                                     double rate);

  /// Notes that a record was served; writes at most once a day for each.
  Result<bool, Trouble> touch(const Record& record, int64_t now);
  Result<StoreCounts, Trouble> counts();
  /// Removes what was served longest ago, logs first, then machine code, until `max_bytes` hold the
  /// rest.
  Result<bool, Trouble> evict(int64_t max_bytes);
  /// Returns how many records went.
  Result<int64_t, Trouble> prune(const PruneOptions& options);
  /// Empty when SQLite finds the file sound.
  Result<std::string, Trouble> integrity();
  /// How many rows were met, and left out, that are not what was written.
  int64_t damaged() const { return damaged_; }
  /// How long to wait for another process that writes.
  void set_patience(int milliseconds) { db_.set_patience(milliseconds); }
  void abandon() { db_.abandon(); }

 private:
  Result<std::vector<Trial>, Trouble> select_trials(const std::string& condition, const Key& key);
  Store(Database db, bool sums) : db_(std::move(db)), sums_(sums) {}
  std::string sound(std::string_view sum) const;
  Result<int64_t, Trouble> key_id(const Key& key);
  Result<std::vector<Record>, Trouble> select(const std::string& condition,
                                              const std::string& parameter);
  Result<bool, Trouble> make_binaries();
  Result<bool, Trouble> prune_binaries(int generation);
  Result<int64_t, Trouble> count_binaries();
  Database db_;
  bool sums_;  ///< rows have checksums
  int64_t damaged_ = 0;
};

}  // namespace hone::runtime
