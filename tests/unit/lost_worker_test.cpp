// SPDX-License-Identifier: Apache-2.0
// Tuning with workers that are killed from outside, hang, lie, or are none: no verdict on code, and
// no wait past the budget.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "include/hone/hone.h"
#include "jit/code.h"
#include "runtime/cache/cache.h"
#include "runtime/worker/process.h"

using namespace hone;

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kProblem = "matmul M=24 N=40 K=56";

/// A folder with a cache and a worker that is a shell script. The real one is $REAL; $COUNT says
/// how many were started before.
class ScriptedWorker {
 public:
  explicit ScriptedWorker(const std::string& script) {
    std::string name = (fs::temp_directory_path() / "hone-lost-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::ofstream file(worker());
    file << "#!/bin/sh\nREAL='" << runtime::find_worker("") << "'\n"
         << "COUNT=$(cat '" << folder_.string() << "/count' 2>/dev/null || echo 0)\n"
         << "echo $((COUNT + 1)) > '" << folder_.string() << "/count'\n"
         << script << "\n";
    file.close();
    ::chmod(worker().c_str(), 0755);
  }
  ~ScriptedWorker() { fs::remove_all(folder_); }
  ScriptedWorker(const ScriptedWorker&) = delete;
  ScriptedWorker& operator=(const ScriptedWorker&) = delete;

  Result<TuneResult> tune(TuneOptions options) const {
    EngineOptions o;
    o.worker = worker();
    o.cache = (folder_ / "cache.db").string();
    o.threads = 1;
    Engine engine(o);
    return engine.try_tune(kProblem, options);
  }
  /// Records of the problem, good or not, and its log.
  size_t kept() const {
    runtime::Cache cache({.path = (folder_ / "cache.db").string(), .shipped = "", .notice = {}});
    size_t trials = 0;
    for (const runtime::Record& r : cache.all()) trials += cache.trials(r.key).size();
    return cache.all().size() + trials + static_cast<size_t>(cache.counts().trials);
  }
  size_t quarantined() const {
    runtime::Cache cache({.path = (folder_ / "cache.db").string(), .shipped = "", .notice = {}});
    return static_cast<size_t>(cache.counts().quarantined);
  }

 private:
  std::string worker() const { return (folder_ / "worker").string(); }
  fs::path folder_;
};

TuneOptions some_trials(int64_t n) {
  TuneOptions o;
  o.budget = std::chrono::milliseconds(0);
  o.trials = n;
  return o;
}

bool no_search_here() {
  return Engine({.cache = ":memory:"}).target().find("isa=none") != std::string::npos;
}

/// Opens the problem, then says `answers` of every trial.
std::string liar(const std::string& answer) {
  return "read line <&3; echo opened >&3; while read line <&3; do printf '" + answer +
         "\\n' >&3; done";
}

}  // namespace

TEST_CASE("lost worker: who is silent, floods or closes its line is not waited for") {
  if (no_search_here()) return;
  const char* scripts[] = {
      "exec sleep 60",
      "exec 3>&-; exec sleep 60",
      "exec cat /dev/zero >&3",
      "exec yes >&3",
      "read line <&3; echo opened >&3; exec sleep 60",
      "read line <&3; echo opened >&3; read line <&3; exec cat /dev/zero >&3",
      "read line <&3; echo opened >&3; read line <&3; exec 3>&-; exec sleep 60",
      "exit 0",
      "exit 127",
  };
  std::vector<std::string> wrong(std::size(scripts));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::size(scripts); ++i) {
    threads.emplace_back([&, i] {
      const ScriptedWorker worker(scripts[i]);
      TuneOptions options;
      options.budget = std::chrono::milliseconds(1000);
      const auto start = Clock::now();
      const auto r = worker.tune(options);
      if (r) wrong[i] = "it found something";
      if (!r && r.failure().code != ErrorCode::kUnsupported) wrong[i] = r.failure().message;
      if (Clock::now() - start > std::chrono::seconds(15)) wrong[i] = "it took long";
      if (worker.kept() > 0) wrong[i] = "it kept something";
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t i = 0; i < std::size(scripts); ++i) {
    CAPTURE(std::string(scripts[i]));
    CHECK(wrong[i] == "");
  }
}

TEST_CASE("lost worker: a stop ends a wait for one that says nothing") {
  if (no_search_here()) return;
  const ScriptedWorker worker("exec sleep 60");
  std::stop_source source;
  TuneOptions options;
  options.stop = source.get_token();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const auto start = Clock::now();
  const auto r = worker.tune(options);
  stopper.join();
  REQUIRE_FALSE(r);
  CHECK(r.failure().code == ErrorCode::kCancelled);
  CHECK(Clock::now() - start < std::chrono::seconds(3));
}

TEST_CASE("lost worker: what no worker says is not believed, nor kept") {
  if (no_search_here()) return;
  const char* answers[] = {
      "result\\tverdict=ok\\tmedian_us=-5\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=inf\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=nan\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=0\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=1e999\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=fast\\tsamples_us=1",
      "result\\tverdict=ok\\tmedian_us=5\\tsamples_us=1,-2",
      "result\\tverdict=ok\\tmedian_us=5\\tsamples_us=1,x",
      "result\\tverdict=ok\\tmedian_us=5\\tsamples_us=1\\tcores=nan",
      "result\\tverdict=splendid\\tmedian_us=5\\tsamples_us=1",
      "result\\tmedian_us=5",
      "opened",
      "hello",
  };
  for (const char* answer : answers) {
    CAPTURE(std::string(answer));
    const ScriptedWorker worker(liar(answer));
    const auto r = worker.tune(some_trials(50));
    REQUIRE_FALSE(r);
    CHECK(r.failure().code == ErrorCode::kUnsupported);
    CHECK(r.failure().message.find("does not last: no worker: ") != std::string::npos);
    CHECK(worker.kept() == 0);
  }
}

TEST_CASE("lost worker: killed from outside, it is started again and no schedule is blamed") {
  if (no_search_here()) return;
  // At its start, while it opens the problem or works on a trial, and by signals of code too.
  const char* scripts[] = {
      "[ $COUNT -lt 3 ] && kill -KILL $$; exec \"$REAL\"",
      "[ $COUNT -lt 2 ] && kill -TERM $$; exec \"$REAL\"",
      ("[ $COUNT -lt 2 ] && { read line <&3; echo opened >&3; read line <&3; kill -KILL $$; }; "
       "exec \"$REAL\""),
      "[ $COUNT -lt 4 ] && { sleep 0.0$COUNT; kill -KILL $$; } & exec \"$REAL\"",
      // Once it handles SIGSEGV, bit 10 of what it catches. A sanitizer's handler would come first,
      // and may wait for locks that the signal found taken.
      ("[ $COUNT -lt 2 ] && { until grep -q '^SigCgt:.*[4-7c-f]..$' /proc/$$/status || "
       "[ ! -e /proc/$$ ]; do sleep 0.01; done; sleep 0.02; kill -SEGV $$; } & "
       "ASAN_OPTIONS=\"$ASAN_OPTIONS:handle_segv=0\" exec \"$REAL\""),
  };
  for (const char* script : scripts) {
    CAPTURE(std::string(script));
    const ScriptedWorker worker(script);
    const auto r = worker.tune(some_trials(6));
    REQUIRE_MESSAGE(static_cast<bool>(r), r.failure().message);
    CHECK(r->failed == 0);
    CHECK(r->measured > 0);
    CHECK(worker.quarantined() == 0);
  }
}

TEST_CASE("lost worker: where all are killed the run ends, and blames no schedule") {
  if (no_search_here()) return;
  const ScriptedWorker worker(
      "read line <&3; echo opened >&3; read line <&3; kill -KILL $$; exit 1");
  const auto r = worker.tune(some_trials(50));
  REQUIRE_FALSE(r);
  CHECK(r.failure().message.find("killed: by signal 9") != std::string::npos);
  CHECK(worker.kept() == 0);
}

TEST_CASE("lost worker: a signal of code is a verdict, as is the tuner's own patience") {
  auto worker = runtime::WorkerProcess::start(runtime::find_worker(""));
  REQUIRE(worker);
  CHECK_FALSE((*worker)->ask({"nonsense", {}}, {.most_ms = 2000})->get("error").empty());
  CHECK((*worker)->ending() == runtime::Ending::kNone);
  (*worker)->stop();
  const std::pair<const char*, runtime::Ending> deaths[] = {
      {"kill -SEGV $$", runtime::Ending::kCrashed}, {"kill -ABRT $$", runtime::Ending::kCrashed},
      {"kill -KILL $$", runtime::Ending::kLost},    {"kill -HUP $$", runtime::Ending::kLost},
      {"exec sleep 60", runtime::Ending::kHung},
  };
  for (const auto& [script, ending] : deaths) {
    CAPTURE(std::string(script));
    const std::string path =
        (fs::temp_directory_path() / "hone-death").string() + std::to_string(::getpid());
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path.c_str(), 0755);
    auto dying = runtime::WorkerProcess::start(path);
    REQUIRE(dying);
    CHECK_FALSE((*dying)->ask({"open", {}}, {.most_ms = 300}));
    CHECK((*dying)->ending() == ending);
    fs::remove(path);
  }
}
