// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "jit/ir/sort.h"

namespace hone::runtime {
namespace {

namespace fs = std::filesystem;

/// Chosen: patience with other processes and slow disks (not measured).
constexpr int kWritesPerEviction = 64;
constexpr int kPatientMs = 1000;  // for another process that writes; once, until it lets go
constexpr int kImportMs = 5000;   // the same where nothing but the file will do
constexpr int kLockMs = 5000;     // for another process that sets a file aside
constexpr std::string_view kMemory = ":memory:";

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Held while a corrupt file is set aside, so that two processes do not move a fresh one.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : fd_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NONBLOCK, 0644)) {
    for (int waited = 0; fd_ >= 0 && waited < kLockMs && flock(fd_, LOCK_EX | LOCK_NB) != 0;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      waited += 10;
    }
  }
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

bool better(const Record& a, const Record& b) {
  return a.median_us != b.median_us ? a.median_us < b.median_us : a.schedule < b.schedule;
}

}  // namespace

std::string default_cache_path() {
  if (std::string given = environment("HONE_CACHE"); !given.empty()) return given;
  if (std::string xdg = environment("XDG_CACHE_HOME"); xdg.starts_with('/')) {
    return xdg + "/hone/cache.db";
  }
  if (std::string home = environment("HOME"); home.starts_with('/')) {
    return home + "/.cache/hone/cache.db";
  }
  return std::string(kMemory);
}

Cache::Cache(CacheOptions options) : options_(std::move(options)) {
  if (options_.path.empty()) options_.path = default_cache_path();
}

Cache::~Cache() {
  if (opened_ && owner_ == getpid() && !waiting_.empty()) {
    if (file_) file_->set_patience(kPatientMs);
    if (!write_waiting()) tell(fmt::format("{} writes are lost: {}", waiting_.size(), trouble_));
  }
  // In a child after fork the handles are the parent's: closing them would touch its files.
  if (!opened_ || owner_ == getpid()) return;
  for (std::optional<Store>* store : {&file_, &shipped_, &memory_}) {
    if (*store) (*store)->abandon();
  }
}

void Cache::tell(const std::string& text) {
  if (options_.notice) options_.notice(text);
}

void Cache::ensure_open() {
  if (opened_ && owner_ == getpid()) return;
  if (opened_) {
    for (std::optional<Store>* store : {&file_, &shipped_, &memory_}) {
      if (*store) (*store)->abandon();
      store->reset();
    }
    waiting_.clear();  // the parent's to write
  }
  opened_ = true;
  owner_ = getpid();
  open_file();
  if (options_.shipped.empty()) return;
  auto shipped = Store::open(options_.shipped, Database::Mode::kImmutable);
  if (shipped) {
    shipped_.emplace(std::move(*shipped));
  } else {
    tell(fmt::format("shipped cache {} is not used: {}", options_.shipped,
                     shipped.failure().message));
  }
}

void Cache::open_file() {
  file_.reset();
  trouble_.clear();
  if (options_.path == kMemory) return;
  std::error_code ignored;
  const fs::path folder = fs::path(options_.path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, ignored);
  auto store = Store::open(options_.path, Database::Mode::kWrite);
  if (!store && store.failure().kind == Trouble::kCorrupt && set_aside()) {
    store = Store::open(options_.path, Database::Mode::kWrite);
  }
  if (store) {
    file_.emplace(std::move(*store));
    return;
  }
  const std::string why = store.failure().message;
  trouble_ = fmt::format("cache {}: {}", options_.path, why);
  if (store.failure().kind != Trouble::kForeign) {
    // Read what is there; a folder that cannot be written has no place for WAL's shared memory.
    for (Database::Mode mode : {Database::Mode::kRead, Database::Mode::kImmutable}) {
      auto readable = Store::open(options_.path, mode);
      if (!readable) continue;
      file_.emplace(std::move(*readable));
      tell(
          fmt::format("cache {} is only read, new records stay in memory: {}", options_.path, why));
      full_told_ = true;
      return;
    }
  }
  tell(fmt::format("cache {} is not used, records stay in memory: {}", options_.path, why));
}

bool Cache::set_aside() {
  file_.reset();
  const FileLock lock(options_.path + ".lock");
  // Another process may have set it aside since.
  const auto again = Store::open(options_.path, Database::Mode::kWrite);
  if (again) {
    auto copy = Store::open(options_.path, Database::Mode::kRead);
    const auto sound = copy ? copy->integrity() : Result<std::string, Trouble>(copy.failure());
    if (sound && sound->empty()) return true;
  }
  for (int n = 1; n < 1000; ++n) {
    const std::string aside = fmt::format("{}.corrupt-{}", options_.path, n);
    std::error_code error;
    if (fs::exists(aside, error)) continue;
    fs::rename(options_.path, aside, error);
    if (error) return false;
    for (const char* suffix : {"-wal", "-shm"}) {
      fs::rename(options_.path + suffix, aside + suffix, error);
    }
    tell(fmt::format("cache {} is corrupt; it was set aside as {} and a new one begun",
                     options_.path, aside));
    return true;
  }
  return false;
}

/// What becomes of records that the file did not take, told once.
void Cache::note_trouble(const Trouble& trouble) {
  trouble_ = fmt::format("cache {}: {}", options_.path, trouble.message);
  if (trouble.kind == Trouble::kBusy) {
    busy_ = true;
    if (file_) file_->set_patience(0);
    if (!busy_told_) tell(trouble_ + "; new records wait until another process lets go of it");
    busy_told_ = true;
    return;
  }
  if (!full_told_) tell(trouble_ + "; new records stay in memory");
  full_told_ = true;
}

void Cache::tell_damage(const Store& store, const std::string& path) {
  if (store.damaged() == 0 || damage_told_) return;
  damage_told_ = true;
  tell(fmt::format("cache {}: a record is damaged, its checksum does not fit; such are ignored",
                   path));
}

template <class F>
auto Cache::on_file(F&& f) -> std::optional<std::decay_t<decltype(*f(std::declval<Store&>()))>> {
  for (int attempt = 0; attempt < 2 && file_; ++attempt) {
    auto result = f(*file_);
    if (result) {
      if (std::exchange(busy_, false)) file_->set_patience(kPatientMs);
      tell_damage(*file_, options_.path);
      return std::move(*result);
    }
    const Trouble trouble = result.failure();
    if (trouble.kind == Trouble::kCorrupt && attempt == 0 && set_aside()) {
      open_file();
      continue;
    }
    note_trouble(trouble);
    return std::nullopt;
  }
  return std::nullopt;
}

template <class F>
std::vector<Record> Cache::gather(F&& f) {
  std::vector<Record> records;
  const auto add = [&](std::vector<Record> more) {
    records.insert(records.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  };
  if (auto found = on_file(f)) add(std::move(*found));
  for (std::optional<Store>* store : {&memory_, &shipped_}) {
    if (!*store) continue;
    if (auto found = f(**store)) add(std::move(*found));
    if (store == &shipped_) tell_damage(**store, options_.shipped);
  }
  return records;
}

/// Writes what had to wait; true where nothing waits any more.
bool Cache::write_waiting() {
  size_t done = 0;
  while (done < waiting_.size() && on_file(waiting_[done])) ++done;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(done));
  if (waiting_.empty() && done > 0 && only_waiting_) memory_.reset();
  return waiting_.empty();
}

bool Cache::write(Write f) {
  if (write_waiting() && on_file(f)) {
    evict_sometimes();
    return true;
  }
  // Made when it is first needed: most processes never do.
  if (!memory_) {
    if (auto memory = Store::open(std::string(kMemory), Database::Mode::kWrite)) {
      memory_.emplace(std::move(*memory));
    }
  }
  if (!memory_ || !f(*memory_)) tell("a record was lost: not even memory takes it");
  if (file_ && busy_) {
    waiting_.push_back(std::move(f));
    return true;
  }
  only_waiting_ = false;
  return false;
}

void Cache::evict_sometimes() {
  if (++writes_ % kWritesPerEviction != 0) return;
  on_file([&](Store& s) { return s.evict(options_.max_bytes); });
}

std::vector<Record> Cache::good_of(const Key& key) {
  std::vector<Record> records = gather([&](Store& s) { return s.of_problem(key.problem); });
  std::erase_if(records, [&](const Record& r) { return !(r.key == key); });
  std::vector<std::string> bad;
  for (const Record& r : records) {
    if (!r.ok()) bad.push_back(r.schedule);
  }
  std::vector<Record> good;
  for (Record& r : records) {
    // Of one schedule the nearest layer's record counts, which may have been measured again.
    const auto same = [&](const Record& other) { return other.schedule == r.schedule; };
    if (std::find(bad.begin(), bad.end(), r.schedule) != bad.end()) continue;
    if (std::none_of(good.begin(), good.end(), same)) good.push_back(std::move(r));
  }
  ir::stable_sort(good, better);
  return good;
}

std::vector<Record> Cache::good(const Key& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  return good_of(key);
}

std::optional<Record> Cache::best(const Key& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const std::vector<Record> records = good_of(key);
  if (records.empty()) return std::nullopt;
  on_file([&](Store& s) { return s.touch(records[0], seconds_now()); });
  return records[0];
}

std::vector<Record> Cache::near(const Key& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const std::string family = family_of(key.problem);
  std::vector<Record> records = gather([&](Store& s) { return s.of_family(family); });
  std::erase_if(records, [&](const Record& r) { return r.key == key; });
  const auto distance = [&](const Record& r) {
    return shape_distance(r.key.problem, key.problem) + context_distance(r.key, key);
  };
  std::erase_if(records, [&](const Record& r) { return !(distance(r) < 1e9); });
  ir::stable_sort(records, [&](const Record& a, const Record& b) {
    const double x = distance(a), y = distance(b);
    return x != y ? x < y : a.schedule < b.schedule;
  });
  return records;
}

std::vector<Record> Cache::quarantine(const Key& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  std::vector<Record> records = gather([&](Store& s) { return s.of_problem(key.problem); });
  std::erase_if(records, [&](const Record& r) { return !(r.key == key) || r.ok(); });
  return records;
}

void Cache::put(const Record& record) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  write([record](Store& s) { return s.put(record, Meeting::kReplace, seconds_now()); });
}

std::string Cache::unite(const std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  // Whoever brings records wants to know that they are kept.
  if (file_) file_->set_patience(kImportMs);
  const auto put = [records](Store& s) { return s.put_all(records, seconds_now()); };
  const bool kept = write_waiting() && on_file(put);
  if (file_ && !busy_) file_->set_patience(kPatientMs);
  if (kept) return "";
  const std::string why = trouble_;
  write(put);
  return why;
}

void Cache::log(const Trial& trial) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  write([trial](Store& s) { return s.log(trial); });
}

std::vector<Trial> Cache::trials(const Key& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  std::vector<Trial> trials;
  if (auto found = on_file([&](Store& s) { return s.trials(key); })) trials = std::move(*found);
  if (!memory_) return trials;
  if (auto found = memory_->trials(key)) {
    trials.insert(trials.end(), found->begin(), found->end());
  }
  return trials;
}

std::vector<Trial> Cache::trials_in(const Key& context) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  std::vector<Trial> trials;
  if (auto found = on_file([&](Store& s) { return s.trials_in(context); })) {
    trials = std::move(*found);
  }
  if (!memory_) return trials;
  if (auto found = memory_->trials_in(context)) {
    trials.insert(trials.end(), found->begin(), found->end());
  }
  return trials;
}

int64_t Cache::count_trials_in(const Key& context) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const int64_t kept =
      on_file([&](Store& s) { return s.count_trials_in(context); }).value_or(int64_t{0});
  if (!memory_) return kept;
  const auto more = memory_->count_trials_in(context);
  return kept + (more ? *more : 0);
}

std::optional<Weights> Cache::weights(const Key& context) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const auto kept = on_file([&](Store& s) { return s.weights(context); });
  if (kept && *kept) return *kept;
  if (!memory_) return std::nullopt;
  const auto there = memory_->weights(context);
  return there ? *there : std::nullopt;
}

void Cache::keep_weights(const Key& context, const Weights& weights) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  write([context, weights](Store& s) { return s.keep_weights(context, weights); });
}

std::optional<Bytes> Cache::binary(const BinaryKey& key) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const auto found = on_file([&](Store& s) { return s.binary(key); });
  if (found && *found) return *found;
  for (std::optional<Store>* store : {&memory_, &shipped_}) {
    if (!*store) continue;
    if (auto there = (*store)->binary(key); there && *there) return **there;
  }
  return std::nullopt;
}

void Cache::keep_binary(const BinaryKey& key, const Bytes& bytes) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  write([key, bytes](Store& s) { return s.keep_binary(key, bytes, seconds_now()); });
}

double Cache::ceiling(const std::string& target, const std::string& name) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  double best = on_file([&](Store& s) { return s.ceiling(target, name); }).value_or(0);
  if (!memory_) return best;
  const auto there = memory_->ceiling(target, name);
  return there ? std::max(best, *there) : best;
}

void Cache::keep_ceiling(const std::string& target, const std::string& name, double rate) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  write([&](Store& s) { return s.keep_ceiling(target, name, rate); });
}

std::vector<Record> Cache::all() {
  const std::lock_guard lock(mutex_);
  ensure_open();
  std::vector<Record> records;
  if (auto found = on_file([](Store& s) { return s.all(); })) records = std::move(*found);
  if (!memory_) return records;
  if (auto found = memory_->all()) records.insert(records.end(), found->begin(), found->end());
  return records;
}

StoreCounts Cache::counts() {
  const std::lock_guard lock(mutex_);
  ensure_open();
  const auto counts = on_file([](Store& s) { return s.counts(); });
  if (counts) return *counts;
  if (!memory_) return {};
  const auto kept = memory_->counts();
  return kept ? *kept : StoreCounts{};
}

int64_t Cache::prune(const PruneOptions& options) {
  const std::lock_guard lock(mutex_);
  ensure_open();
  return on_file([&](Store& s) { return s.prune(options); }).value_or(0);
}

std::string Cache::integrity() {
  const std::lock_guard lock(mutex_);
  ensure_open();
  if (!file_) return options_.path == kMemory ? "" : "the file cannot be opened";
  auto said = file_->integrity();
  return said ? *said : said.failure().message;
}

std::string Cache::path() {
  const std::lock_guard lock(mutex_);
  ensure_open();
  return file_ ? options_.path : std::string(kMemory);
}

}  // namespace hone::runtime
