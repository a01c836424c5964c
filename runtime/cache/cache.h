// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache/store.h"

namespace hone::runtime {

/// The cache file that is meant when none is named: HONE_CACHE, else hone/cache.db in the XDG cache
/// folder, else ":memory:".
std::string default_cache_path();

/// Options of a Cache.
struct CacheOptions {
  std::string path;     ///< empty: default_cache_path()
  std::string shipped;  ///< read-only layer below; empty: none
  int64_t max_bytes = int64_t{256} << 20;
  std::function<void(const std::string&)> notice;  ///< told once about each trouble
};

/// Durable records in one file, with a read-only layer below. Records stay in memory when the file
/// cannot take more. Safe from several threads and processes; a child after fork reopens the file.
/// Trouble with the file is never an error. A corrupt file is set aside as PATH.corrupt-N, and the
/// host is told.
class Cache {
 public:
  explicit Cache(CacheOptions options);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  /// The fastest good record of exactly this key.
  std::optional<Record> best(const Key& key);
  /// All good records of exactly this key, the fastest first.
  std::vector<Record> good(const Key& key);
  /// Good records to adapt: of this problem elsewhere, then of its family, nearest first.
  std::vector<Record> near(const Key& key);
  /// Schedules of this key that must not be tried again, with why.
  std::vector<Record> quarantine(const Key& key);
  void put(const Record& record);
  /// Takes in records from elsewhere. Empty, or why the file did not take them: then they are in
  /// memory, until this cache ends.
  std::string unite(const std::vector<Record>& records);
  void log(const Trial& trial);
  std::vector<Trial> trials(const Key& key);
  /// The trials of all problems in the key's context.
  std::vector<Trial> trials_in(const Key& context);
  /// How many there are.
  int64_t count_trials_in(const Key& context);
  /// Weights of the estimate that were fitted in a context.
  std::optional<Weights> weights(const Key& context);
  void keep_weights(const Key& context, const Weights& weights);
  /// Machine code for a GPU that was kept; the shipped layer's too.
  std::optional<Bytes> binary(const BinaryKey& key);
  void keep_binary(const BinaryKey& key, const Bytes& bytes);
  /// The best rate ever measured of what a target can do, by its name; 0: none.
  double ceiling(const std::string& target, const std::string& name);
  void keep_ceiling(const std::string& target, const std::string& name, double rate);
  /// Everything in the file and in memory, ordered; not the shipped layer.
  std::vector<Record> all();
  StoreCounts counts();
  int64_t prune(const PruneOptions& options);
  /// What SQLite says of the file; empty: sound.
  std::string integrity();
  /// The file in use, ":memory:" where nothing is kept.
  std::string path();

 private:
  void ensure_open();
  void open_file();
  bool set_aside();
  void evict_sometimes();
  void tell(const std::string& text);
  /// Runs `f` on the file; after corruption once more, on the fresh one.
  template <class F>
  auto on_file(F&& f) -> std::optional<std::decay_t<decltype(*f(std::declval<Store&>()))>>;
  template <class F>
  std::vector<Record> gather(F&& f);
  using Write = std::function<Result<bool, Trouble>(Store&)>;
  /// True when the file took it, or will when another process lets it.
  bool write(Write f);
  bool write_waiting();
  void note_trouble(const Trouble& trouble);
  void tell_damage(const Store& store, const std::string& path);
  std::vector<Record> good_of(const Key& key);

  std::mutex mutex_;
  CacheOptions options_;
  pid_t owner_ = 0;
  bool opened_ = false;
  bool full_told_ = false;
  bool busy_ = false;  ///< another process had the file when it was last tried
  bool busy_told_ = false;
  bool damage_told_ = false;
  bool only_waiting_ = true;    ///< what is in memory is also in `waiting_`
  std::vector<Write> waiting_;  ///< for another process to let go of the file
  std::string trouble_;  ///< why the file takes no records; empty: it does, or none is wanted
  int writes_ = 0;
  std::optional<Store> file_;
  std::optional<Store> shipped_;
  std::optional<Store> memory_;
};

}  // namespace hone::runtime
