// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/cache.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/cache/text.h"

namespace fs = std::filesystem;
using namespace hone::runtime;

namespace {

constexpr const char* kTarget = "x86 isa=avx2 cpu=any threads=2 l1d=32K l2=1M l3=16M";

/// A folder of its own, removed at the end.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "hone-cache-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() {
    fs::permissions(path, fs::perms::owner_all);
    fs::remove_all(path);
  }
  std::string file() const { return (path / "cache.db").string(); }
  fs::path path;
};

struct Opened {
  explicit Opened(std::string path, std::string shipped = "")
      : cache({std::move(path), std::move(shipped), int64_t{256} << 20,
               [this](const std::string& text) { notices.push_back(text); }}) {}
  std::vector<std::string> notices;
  Cache cache;
};

Record record(std::string problem, std::string schedule, double us) {
  Record r;
  r.key = {std::move(problem), kTarget, 1};
  r.schedule = std::move(schedule);
  r.median_us = us;
  r.samples_us = {us, us + 0.25};
  r.numerics = "seq";
  r.seed = 7;
  return r;
}

}  // namespace

TEST_CASE("cache: the best record survives the process's end") {
  const Folder folder;
  {
    Opened c(folder.file());
    c.cache.put(record("mm M=8", "split a 4 -> b c", 3));
    c.cache.put(record("mm M=8", "split a 8 -> b c", 2));
    CHECK(c.notices.empty());
  }
  Opened c(folder.file());
  const auto best = c.cache.best({"mm M=8", kTarget, 1});
  REQUIRE(best);
  CHECK(best->schedule == "split a 8 -> b c");
  CHECK(best->samples_us == std::vector<double>{2, 2.25});
  CHECK(best->seed == 7);
  CHECK_FALSE(c.cache.best({"mm M=8", kTarget, 2}));
  CHECK_FALSE(c.cache.best({"mm M=9", kTarget, 1}));
  CHECK(c.cache.path() == folder.file());
}

TEST_CASE("cache: a quarantined schedule is not served, and stays so") {
  const Folder folder;
  Opened c(folder.file());
  Record bad = record("mm M=8", "fast but wrong", 1);
  c.cache.put(bad);
  c.cache.put(record("mm M=8", "slow", 2));
  bad.verdict = "wrong";
  bad.note = "Y[3] is 7, expected 8";
  c.cache.put(bad);
  CHECK(c.cache.best(bad.key)->schedule == "slow");
  bad.verdict = "ok";
  c.cache.unite({bad});
  CHECK(c.cache.best(bad.key)->schedule == "slow");
  c.cache.put(bad);
  CHECK(c.cache.best(bad.key)->schedule == "slow");
  REQUIRE(c.cache.quarantine(bad.key).size() == 1);
  CHECK(c.cache.quarantine(bad.key)[0].note == "Y[3] is 7, expected 8");
}

TEST_CASE("cache: near records come by distance of shape and context") {
  const Folder folder;
  Opened c(folder.file());
  c.cache.put(record("mm M=8 N=64 T=f32", "near", 1));
  c.cache.put(record("mm M=512 N=64 T=f32", "far", 1));
  c.cache.put(record("mm M=16 N=64 T=f64", "another type", 1));
  c.cache.put(record("mm M=1..16 N=64 T=f32", "range", 1));
  Record elsewhere = record("mm M=16 N=64 T=f32", "elsewhere", 1);
  elsewhere.key.target = "x86 isa=avx512 cpu=any threads=2 l1d=32K l2=1M l3=16M";
  c.cache.put(elsewhere);
  const auto near = c.cache.near({"mm M=16 N=64 T=f32", kTarget, 1});
  REQUIRE(near.size() == 4);
  CHECK(near[0].schedule == "range");
  CHECK(near[1].schedule == "near");
  CHECK(near[2].schedule == "far");
  CHECK(near[3].schedule == "elsewhere");
}

TEST_CASE("cache: family and distance read the problem's text") {
  CHECK(family_of("mm M=8 N=64 T=f32 const=W") == "mm M= N= T=f32 const=W");
  CHECK(family_of("op f(A: T[M=3]) { x } M=8") == "op f(A: T[M=3]) { x } M=");
  CHECK(family_of("mm M=1..512 at 1,8 N=3") == "mm M= N=");
  CHECK(family_of("mm M=1..512 align=64") == "mm M= align=");
  CHECK(shape_distance("mm M=7", "mm M=15") == doctest::Approx(1));
}

TEST_CASE("cache: text is sorted, reads back, and merges in any order") {
  std::vector<Record> a = {record("b", "s", 2), record("a", "t", 1)};
  std::vector<Record> b = {record("a", "t", 3), record("a", "", 4)};
  b[0].verdict = "crash";
  b[0].note = "signal 11\nat 3";
  const std::string text = print_records(a);
  CHECK(text.starts_with("hone-records 1\n\nproblem: a\ntarget: x86 isa=avx2"));
  const auto back = parse_records(text, "a.txt");
  REQUIRE(back);
  CHECK(print_records(*back) == text);
  const Folder one, two;
  Opened left(one.file()), right(two.file());
  left.cache.unite(a);
  left.cache.unite(b);
  right.cache.unite(b);
  right.cache.unite(a);
  right.cache.unite(b);
  CHECK(left.cache.all().size() == 3);
  CHECK(print_records(left.cache.all()) == print_records(right.cache.all()));
}

TEST_CASE("cache: bad record text names the line and what would do") {
  const auto message = [](std::string text) {
    const auto r = parse_records(text, "r.txt");
    REQUIRE_FALSE(r);
    return r.failure().message;
  };
  const std::string head = "hone-records 1\n";
  CHECK(message("") == "r.txt:0: expected `hone-records 1`");
  CHECK(message("{}") == "r.txt:1: expected `hone-records 1`");
  CHECK(message(head + "speed: 3").starts_with("r.txt:2: expected `field: value`, with field one"));
  CHECK(message(head + "median_us: fast") == "r.txt:2: `fast` is no value of median_us");
  CHECK(message(head + "median_us: nan") == "r.txt:2: `nan` is no value of median_us");
  CHECK(message(head + "problem: a\n\n") == "r.txt:3: the record that ends here has no `target`");
  CHECK(message(head + "seed: 1\nseed: 2") == "r.txt:3: a second `seed` in one record");
}

TEST_CASE("cache: a corrupt file is set aside and work goes on") {
  const Folder folder;
  std::ofstream(folder.file()) << std::string(10000, 'x');
  Opened c(folder.file());
  c.cache.put(record("a", "s", 1));
  CHECK(c.cache.best({"a", kTarget, 1}));
  REQUIRE(c.notices.size() == 1);
  CHECK(c.notices[0].find(".corrupt-1") != std::string::npos);
  CHECK(fs::file_size(folder.file() + ".corrupt-1") == 10000);
  Opened again(folder.file());
  CHECK(again.cache.best({"a", kTarget, 1}));
  CHECK(again.notices.empty());
}

TEST_CASE("cache: a file damaged in the middle is set aside when the damage shows") {
  const Folder folder;
  {
    Opened c(folder.file());
    for (int i = 0; i < 300; ++i) {
      c.cache.put(record("problem number " + std::to_string(i), std::string(200, 's'), 1));
    }
  }
  {
    std::fstream file(folder.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(60000, '\xa5');
  }
  Opened c(folder.file());
  for (int i = 0; i < 300; ++i) {
    c.cache.best({"problem number " + std::to_string(i), kTarget, 1});
  }
  CHECK(fs::exists(folder.file() + ".corrupt-1"));
  c.cache.put(record("a", "s", 1));
  CHECK(c.cache.best({"a", kTarget, 1}));
  CHECK(c.cache.integrity() == "");
}

TEST_CASE("cache: another program's database is left alone") {
  const Folder folder;
  {
    auto db = Database::open(folder.file(), Database::Mode::kWrite);
    REQUIRE(db);
    REQUIRE(db->run("CREATE TABLE mine(x)"));
  }
  Opened c(folder.file());
  c.cache.put(record("a", "s", 1));
  CHECK(c.cache.best({"a", kTarget, 1}));
  CHECK(c.cache.path() == ":memory:");
  REQUIRE(c.notices.size() == 1);
  CHECK(c.notices[0].find("something else") != std::string::npos);
  CHECK_FALSE(fs::exists(folder.file() + ".corrupt-1"));
}

TEST_CASE("cache: where no file can be, records stay in memory") {
  Opened c("/proc/hone/cache.db");
  c.cache.put(record("a", "s", 1));
  CHECK(c.cache.best({"a", kTarget, 1}));
  CHECK(c.notices.size() == 1);
}

TEST_CASE("cache: a shipped cache is read below the user's") {
  const Folder folder, shipped;
  {
    Opened c(shipped.file());
    c.cache.put(record("a", "shipped", 2));
  }
  Opened c(folder.file(), shipped.file());
  CHECK(c.cache.best({"a", kTarget, 1})->schedule == "shipped");
  c.cache.put(record("a", "own", 1));
  CHECK(c.cache.best({"a", kTarget, 1})->schedule == "own");
  CHECK(c.cache.all().size() == 1);
  CHECK(c.notices.empty());
}

TEST_CASE("cache: logs and records past the size go, the oldest first") {
  auto store = Store::open(":memory:", Database::Mode::kWrite);
  REQUIRE(store);
  for (int i = 0; i < 400; ++i) {
    REQUIRE(store->log({{"p", kTarget, 1}, "r", i, std::string(200, 's'), "ok", 1, ""}));
    Record r = record("p", "schedule " + std::to_string(i), 1);
    r.note = std::string(400, 'n');
    REQUIRE(store->put(r, Meeting::kReplace, 1000 + i));
  }
  REQUIRE(store->evict(150000));
  CHECK(store->counts()->trials == 0);
  CHECK(store->counts()->bytes <= 150000);
  const auto left = store->all();
  REQUIRE(left);
  CHECK(left->size() > 50);
  bool newest = false, oldest = false;
  for (const Record& r : *left) {
    newest |= r.schedule == "schedule 399";
    oldest |= r.schedule == "schedule 0";
  }
  CHECK(newest);
  CHECK_FALSE(oldest);
  CHECK(*store->prune({1399, std::nullopt, true}) == static_cast<int64_t>(left->size()) - 1);
  CHECK(*store->prune({0, 2, true}) == 1);
  CHECK(store->counts()->keys == 0);
}

TEST_CASE("cache: a full disk loses nothing that was there, and work goes on") {
  const Folder folder;
  {
    Opened c(folder.file());
    c.cache.put(record("a", "before", 1));
  }
  const pid_t child = fork();
  if (child == 0) {
    // A host that knows nothing of this signal would be ended by it.
    signal(SIGXFSZ, SIG_DFL);
    const rlimit limit = {64 << 10, 64 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    Opened c(folder.file());
    for (int i = 0; i < 500; ++i) {
      c.cache.put(record("b" + std::to_string(i), std::string(500, 's'), 1));
    }
    const bool served = c.cache.best({"a", kTarget, 1}) && c.cache.best({"b499", kTarget, 1});
    sigset_t mask, pending;
    const bool as_before = pthread_sigmask(SIG_SETMASK, nullptr, &mask) == 0 &&
                           sigismember(&mask, SIGXFSZ) == 0 && sigpending(&pending) == 0 &&
                           sigismember(&pending, SIGXFSZ) == 0;
    _exit(served && as_before && c.notices.size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  Opened c(folder.file());
  CHECK(c.cache.best({"a", kTarget, 1})->schedule == "before");
  CHECK(c.cache.integrity() == "");
}

TEST_CASE("cache: a child after fork opens the file itself") {
  const Folder folder;
  Opened c(folder.file());
  c.cache.put(record("a", "parent", 1));
  const pid_t child = fork();
  if (child == 0) {
    const bool seen = c.cache.best({"a", kTarget, 1}).has_value();
    c.cache.put(record("b", "child", 1));
    _exit(seen ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  c.cache.put(record("c", "parent", 1));
  CHECK(c.cache.best({"b", kTarget, 1}));
  CHECK(c.cache.integrity() == "");
}

TEST_CASE("cache: eight writers killed at random leave a sound file") {
  const Folder folder;
  std::mt19937 random(11);
  std::vector<pid_t> children;
  int begun[2];
  REQUIRE(pipe(begun) == 0);
  for (int n = 0; n < 8; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      Opened c(folder.file());
      for (int i = 0;; ++i) {
        const std::string problem = "p" + std::to_string(n) + " M=" + std::to_string(i);
        c.cache.log({{problem, kTarget, 1}, "r", i, "s", "ok", 1, ""});
        c.cache.put(record(problem, std::string(300, 's'), i));
        if (i == 0 && write(begun[1], "x", 1) != 1) _exit(1);
      }
    }
    children.push_back(child);
  }
  char byte = 0;
  for (int n = 0; n < 8; ++n) REQUIRE(read(begun[0], &byte, 1) == 1);
  for (pid_t child : children) {
    usleep(static_cast<useconds_t>(random() % 50'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  close(begun[0]);
  close(begun[1]);
  Opened c(folder.file());
  CHECK(c.cache.integrity() == "");
  CHECK(c.notices.empty());
  for (int n = 0; n < 8; ++n) {
    CHECK_MESSAGE(c.cache.best({"p" + std::to_string(n) + " M=0", kTarget, 1}), "writer " << n);
  }
  // Each writer put its records in order: none is missing below the last.
  const StoreCounts counts = c.cache.counts();
  CHECK(counts.records >= counts.trials - 8);
  CHECK(counts.records <= counts.trials);
}
