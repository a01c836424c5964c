// SPDX-License-Identifier: Apache-2.0
// Cache files with wrong bytes, from older versions, under another's lock, and that are no files.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/cache/cache.h"
#include "runtime/cache/text.h"

namespace fs = std::filesystem;
using namespace hone::runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// A folder with a cache file, removed at the end.
class CacheFolder {
 public:
  CacheFolder() {
    std::string name = (fs::temp_directory_path() / "hone-damage-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CacheFolder() { fs::remove_all(folder_); }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  std::string file(const char* name = "cache.db") const { return (folder_ / name).string(); }

 private:
  fs::path folder_;
};

/// A cache and what it told.
struct Listened {
  explicit Listened(std::string path)
      : cache({std::move(path), "", int64_t{256} << 20,
               [this](const std::string& text) { notices.push_back(text); }}) {}
  std::vector<std::string> notices;
  Cache cache;
};

Record record(int n) {
  Record r;
  r.key = {"mm M=" + std::to_string(8 + n % 7), "x86 isa=avx2 cpu=any threads=1", 1};
  r.schedule = "split a " + std::to_string(n) + " -> b c";
  r.verdict = n % 5 == 4 ? "wrong" : "ok";
  r.median_us = 1.5 + n;
  r.samples_us = {1.5 + n, 2.25 + n};
  r.numerics = "seq";
  r.seed = 7;
  return r;
}

Trial trial(int n) {
  return {record(0).key, "seed=1", n, record(n).schedule, "ok", 2.5 + n, "point=0:1"};
}

std::string text_of(const Trial& t) {
  return t.run + "|" + std::to_string(t.number) + "|" + t.schedule + "|" + t.verdict + "|" +
         std::to_string(t.median_us) + "|" + t.note;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A file with records and trials, closed.
void fill(const std::string& path) {
  Listened c(path);
  for (int n = 0; n < 40; ++n) c.cache.put(record(n));
  for (int n = 0; n < 20; ++n) c.cache.log(trial(n));
  c.cache.keep_binary({"source", 1, "13.0", 90}, Bytes(300, 0x5a));
}

}  // namespace

TEST_CASE("cache: no record with a wrong byte is served, and the damage is told") {
  const CacheFolder folder;
  fill(folder.file());
  const std::string whole = bytes_of(folder.file());
  std::set<std::string> records, trials;
  for (int n = 0; n < 40; ++n) records.insert(print_records({record(n)}));
  for (int n = 0; n < 20; ++n) trials.insert(text_of(trial(n)));
  std::mt19937 random(11);
  int told = 0;
  for (int round = 0; round < 300; ++round) {
    std::string spoilt = whole;
    const size_t at = random() % spoilt.size();
    spoilt[at] = static_cast<char>(spoilt[at] ^ (1 + random() % 255));
    CAPTURE(at);
    const std::string path = folder.file("spoilt.db");
    for (const char* suffix : {"", "-wal", "-shm", ".lock"}) fs::remove(path + suffix);
    std::ofstream(path, std::ios::binary) << spoilt;
    Listened c(path);
    size_t found = 0;
    for (const Record& r : c.cache.all()) {
      ++found;
      CHECK(records.count(print_records({r})) == 1);
    }
    for (const Trial& t : c.cache.trials(record(0).key)) {
      ++found;
      CHECK(trials.count(text_of(t)) == 1);
    }
    if (const auto binary = c.cache.binary({"source", 1, "13.0", 90})) {
      ++found;
      CHECK(*binary == Bytes(300, 0x5a));
    }
    for (int m = 8; m < 15; ++m) {
      Key key = record(0).key;
      key.problem = "mm M=" + std::to_string(m);
      for (const Record& r : c.cache.near(key)) CHECK(records.count(print_records({r})) == 1);
    }
    const bool seen = !c.notices.empty() || !c.cache.integrity().empty();
    told += seen;
    if (found < 61) CHECK(seen);
  }
  CHECK(told > 0);
}

TEST_CASE("cache: a damaged record is replaced by what is measured again") {
  const CacheFolder folder;
  fill(folder.file());
  auto db = Database::open(folder.file(), Database::Mode::kWrite);
  REQUIRE(db);
  REQUIRE(db->run("UPDATE records SET median_us = 1e-9"));
  Listened c(folder.file());
  CHECK(c.cache.all().empty());
  CHECK(c.notices.size() == 1);
  CHECK_FALSE(c.cache.integrity().empty());
  c.cache.put(record(3));
  const auto best = c.cache.best(record(3).key);
  REQUIRE(best);
  CHECK(best->median_us == record(3).median_us);
}

TEST_CASE("cache: what an older version wrote is read, and is guarded from then on") {
  const CacheFolder folder;
  {
    auto db = Database::open(folder.file(), Database::Mode::kWrite);
    REQUIRE(db);
    REQUIRE(db->run(R"sql(
      CREATE TABLE keys(id INTEGER PRIMARY KEY, problem TEXT NOT NULL, target TEXT NOT NULL,
        codegen INTEGER NOT NULL, family TEXT NOT NULL, UNIQUE(problem, target, codegen));
      CREATE TABLE records(key INTEGER NOT NULL, schedule TEXT NOT NULL, verdict TEXT NOT NULL,
        median_us REAL NOT NULL, samples TEXT NOT NULL, numerics TEXT NOT NULL,
        seed INTEGER NOT NULL, note TEXT NOT NULL, hit INTEGER NOT NULL,
        PRIMARY KEY(key, schedule)) WITHOUT ROWID;
      CREATE TABLE trials(id INTEGER PRIMARY KEY, key INTEGER NOT NULL, run TEXT NOT NULL,
        number INTEGER NOT NULL, schedule TEXT NOT NULL, verdict TEXT NOT NULL,
        median_us REAL NOT NULL, note TEXT NOT NULL);
      INSERT INTO keys VALUES(1, 'mm M=8', 'x86 isa=avx2 cpu=any threads=1', 1, 'mm M');
      INSERT INTO records VALUES(1, 's', 'ok', 2, '2 2.5', 'seq', 7, '', 0);
      INSERT INTO trials VALUES(1, 1, 'run', 0, 's', 'ok', 2, 'point=0:');
      PRAGMA application_id = 1752133221;
      PRAGMA user_version = 1)sql"));
  }
  const Key key = record(0).key;
  // Where it can only be read, as a shipped cache is, it is taken as it is.
  auto read = Store::open(folder.file(), Database::Mode::kRead);
  REQUIRE(read);
  CHECK(read->all()->size() == 1);
  {
    Listened c(folder.file());
    REQUIRE(c.cache.best(key));
    CHECK(c.cache.best(key)->median_us == 2);
    CHECK(c.cache.trials(key).size() == 1);
    CHECK(c.cache.integrity() == "");
    CHECK(c.notices.empty());
  }
  auto db = Database::open(folder.file(), Database::Mode::kWrite);
  REQUIRE(db);
  REQUIRE(db->run("UPDATE records SET median_us = 1"));
  Listened c(folder.file());
  CHECK_FALSE(c.cache.best(key));
  CHECK(c.notices.size() == 1);
}

TEST_CASE("cache: another's lock delays once, and what waited is written when it goes") {
  const CacheFolder folder;
  fill(folder.file());
  auto other = Database::open(folder.file(), Database::Mode::kWrite);
  REQUIRE(other);
  {
    Listened c(folder.file());
    CHECK(c.cache.all().size() == 40);
    REQUIRE(other->run("BEGIN IMMEDIATE"));
    const auto start = Clock::now();
    for (int n = 100; n < 120; ++n) {
      c.cache.put(record(n));
      c.cache.log(trial(n));
    }
    CHECK(Clock::now() - start < std::chrono::seconds(4));
    CHECK(c.notices.size() == 1);
    CHECK(c.cache.all().size() == 60);  // served meanwhile
    CHECK(c.cache.trials(record(0).key).size() == 40);
    REQUIRE(other->run("COMMIT"));
    c.cache.put(record(120));
    CHECK(c.cache.all().size() == 61);
    CHECK(c.cache.trials(record(0).key).size() == 40);
    REQUIRE(other->run("BEGIN IMMEDIATE"));
    c.cache.put(record(121));
    REQUIRE(other->run("COMMIT"));
  }
  // The last one was written when the cache was closed.
  Listened c(folder.file());
  CHECK(c.cache.all().size() == 62);
  CHECK(c.cache.trials(record(0).key).size() == 40);
}

TEST_CASE("cache: a pipe or a folder is no cache, and nobody waits for it") {
  const CacheFolder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0644) == 0);
  fs::create_directory(folder.file("folder"));
  for (const char* name : {"pipe", "folder"}) {
    const auto start = Clock::now();
    Listened c(folder.file(name));
    c.cache.put(record(0));
    CHECK(c.cache.all().size() == 1);
    REQUIRE(c.notices.size() == 1);
    CHECK(c.notices[0].find("no regular file") != std::string::npos);
    CHECK(Clock::now() - start < std::chrono::seconds(2));
  }
}
