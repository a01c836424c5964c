// SPDX-License-Identifier: Apache-2.0
// Engine::tune: what it keeps, when it ends, what it carries on with.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "include/hone/hone.h"
#include "jit/code.h"
#include "runtime/cache/cache.h"
#include "runtime/machine/host.h"

using namespace hone;

namespace {

constexpr const char* kProblem = "matmul M=24 N=40 K=56";
/// Short rows: what the rules derive is far from the limit, so that a search does not end by it.
constexpr const char* kFarFromLimit = "softmax M=256 N=10";

/// Engines over one cache file that goes with it.
class Place {
 public:
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "hone-tune-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Place() { std::filesystem::remove_all(folder_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Engine engine(const std::string& worker = "") {
    EngineOptions o;
    o.worker = worker;
    o.cache = file();
    o.threads = 1;
    o.on_event = [this](const Event& e) {
      if (e.kind == Event::kBug) bugs.push_back(e.text);
      if (e.kind == Event::kCompile) compiles.push_back(e.text);
    };
    return Engine(o);
  }

  std::string file() const { return (folder_ / "cache.db").string(); }
  /// What the engines keep, opened beside them.
  runtime::Cache cache() const {
    return runtime::Cache({.path = file(), .shipped = "", .notice = {}});
  }

  std::vector<std::string> bugs, compiles;

 private:
  std::filesystem::path folder_;
};

bool nothing_to_tune() {
  return Engine({.cache = ":memory:"}).target().find("isa=none") != std::string::npos;
}

/// A worker that finds every schedule right but for one that the environment names.
std::string fickle_worker() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "unit/fickle_worker";
}

std::vector<std::string> schedules_of(const std::vector<runtime::Record>& records) {
  std::vector<std::string> texts;
  for (const runtime::Record& r : records) texts.push_back(r.schedule);
  return texts;
}

/// A record of the problem that `r` is about.
runtime::Record record_of(const TuneResult& r, std::string schedule) {
  runtime::Record record;
  record.key = {r.problem, r.target, jit::kCodeGeneration};
  record.schedule = std::move(schedule);
  return record;
}

/// Tunes the problem while the fickle worker finds schedule `wrong` not right.
Result<TuneResult> tune_with(Engine& engine, const std::string& wrong, const TuneOptions& options) {
  ::setenv("HONE_FICKLE", wrong.c_str(), 1);
  auto result = engine.try_tune(kProblem, options);
  ::unsetenv("HONE_FICKLE");
  return result;
}

TuneOptions trials(int64_t n) {
  TuneOptions o;
  o.budget = std::chrono::milliseconds(0);
  o.trials = n;
  return o;
}

}  // namespace

TEST_CASE("tune: so many trials, a record that compile takes, then a hit") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine();
  const Kernel before = engine.compile(kProblem);
  CHECK(before.source() == Source::kDefault);
  TuneOptions options = trials(12);
  std::vector<TuneProgress> progress;
  options.progress = [&](const TuneProgress& p) { progress.push_back(p); };
  std::vector<TuneTrial> each;
  options.trial = [&](const TuneTrial& t) { each.push_back(t); };
  const TuneResult r = engine.tune(kProblem, options);
  CHECK(r.trials <= 12);
  CHECK(r.measured > 0);
  CHECK(r.failed == 0);
  CHECK(r.time_us > 0);
  CHECK(r.time_us <= r.default_us * 1.1);
  REQUIRE_FALSE(progress.empty());
  CHECK(progress.back().trials == r.trials);
  CHECK(progress.back().best == r.schedule);
  CHECK(static_cast<int64_t>(each.size()) <= r.trials);
  CHECK(std::any_of(each.begin(), each.end(), [&](const TuneTrial& t) {
    return t.schedule == r.schedule && t.verdict == "ok" && t.time_us > 0;
  }));
  for (size_t i = 1; i < each.size(); ++i) CHECK(each[i].elapsed >= each[i - 1].elapsed);
  const Kernel after = engine.compile(kProblem);
  CHECK(after.source() == Source::kTuned);
  CHECK(after.schedule() == r.schedule);
  CHECK(after.numerics() == r.numerics);
  const TuneResult hit = engine.tune(kProblem, options);
  CHECK(hit.end == TuneEnd::kHit);
  CHECK(hit.trials == 0);
  CHECK(hit.schedule == r.schedule);
  // Another process, another shape near it.
  Engine other = place.engine();
  CHECK(other.compile(kProblem).source() == Source::kTuned);
  CHECK(other.compile("matmul M=25 N=40 K=56").source() == Source::kTransferred);
  CHECK(place.bugs.empty());
  REQUIRE(place.compiles.size() == 4);
  CHECK(place.compiles[0].starts_with("default "));
  CHECK(place.compiles[1].starts_with("tuned "));
  CHECK(place.compiles[3].starts_with("transferred "));
  CHECK(place.compiles[3].find(" us matmul M=25 K=56 N=40") != std::string::npos);
}

TEST_CASE("tune: an op of one's own is tuned and cached like a stock op") {
  if (nothing_to_tune()) return;
  Place place;
  const Op op = Op::parse(
      "op blend(X: f32[M,N], w: f32[N]) -> (Y: f32[M]) { Y[m] = sum[n](tanh(X[m,n]) * w[n]) }");
  const TuneResult r = place.engine().tune(op, "M=30 N=50", trials(4));
  CHECK(r.measured > 0);
  Engine engine = place.engine();
  const Kernel k = engine.compile(op, "M=30 N=50");
  CHECK(k.source() == Source::kTuned);
  // The text that was printed is the problem, whole.
  CHECK(engine.compile(r.problem).source() == Source::kTuned);
  // Another op of that name has no part in it.
  const Op other = Op::parse("op blend(X: f32[M,N]) -> (Y: f32[M,N]) { Y[m,n] = X[m,n] + 1 }");
  CHECK(engine.compile(other, "M=30 N=50").source() == Source::kDefault);
  CHECK(place.bugs.empty());
}

TEST_CASE("tune: a stop keeps the best, which serves; the next run carries on") {
  if (nothing_to_tune()) return;
  Place place;
  std::stop_source source;
  TuneOptions options = trials(1000);
  options.effort = Effort::kFull;
  options.stop = source.get_token();
  options.progress = [&](const TuneProgress& p) {
    if (p.trials >= 3) source.request_stop();
  };
  const TuneResult stopped = place.engine().tune(kFarFromLimit, options);
  CHECK(stopped.end == TuneEnd::kStopped);
  CHECK(stopped.trials >= 3);
  Engine engine = place.engine();
  CHECK(engine.compile(kFarFromLimit).source() == Source::kTuned);
  options.stop = {};
  options.progress = {};
  options.trials = 5;
  const TuneResult more = engine.tune(kFarFromLimit, options);
  CHECK(more.end != TuneEnd::kHit);
  CHECK(more.trials <= 5);
  CHECK(more.default_us > 0);
  CHECK(engine.tune(kFarFromLimit, options).end == TuneEnd::kHit);
  CHECK(place.bugs.empty());
}

TEST_CASE("tune: stopped before it begins, it says so") {
  if (nothing_to_tune()) return;
  Place place;
  std::stop_source source;
  source.request_stop();
  TuneOptions options;
  options.stop = source.get_token();
  const auto r = place.engine().try_tune(kProblem, options);
  REQUIRE_FALSE(r);
  CHECK(r.failure().code == ErrorCode::kCancelled);
}

TEST_CASE("tune: a budget in time ends it") {
  if (nothing_to_tune()) return;
  Place place;
  TuneOptions options;
  options.effort = Effort::kFull;
  options.budget = std::chrono::milliseconds(300);
  const TuneResult r = place.engine().tune("matmul M=64 N=96 K=128", options);
  CHECK((r.end == TuneEnd::kBudget || r.end == TuneEnd::kLimit));
  CHECK(r.seconds < 20);
}

TEST_CASE("tune: engines that tune one problem at a time share what they find") {
  if (nothing_to_tune()) return;
  Place place;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&place] {
      Engine engine = place.engine();
      const TuneResult r = engine.tune(kProblem, trials(6));
      CHECK(r.time_us > 0);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(place.engine().tune(kProblem).end == TuneEnd::kHit);
}

TEST_CASE("tune: without a worker it is a user error, and compile works") {
  if (nothing_to_tune()) return;
  EngineOptions o;
  o.cache = ":memory:";
  o.worker = "/nowhere/hone-worker";
  Engine engine(o);
  const auto r = engine.try_tune(kProblem);
  REQUIRE_FALSE(r);
  CHECK(r.failure().code == ErrorCode::kUnsupported);
  CHECK(r.failure().message.find("/nowhere/hone-worker") != std::string::npos);
  CHECK(engine.compile(kProblem).source() == Source::kDefault);
}

TEST_CASE("tune: a pinned numerics class holds for defaults, tuned and transferred schedules") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine();
  const std::string rows = "row_sum M=8 N=500", pinned = rows + " numerics=seq";
  CHECK(engine.compile(rows).numerics() != "Y:seq");
  CHECK(engine.compile(pinned).numerics() == "Y:seq");
  CHECK(engine.tune(pinned, trials(6)).numerics == "Y:seq");
  CHECK(engine.compile("row_sum M=9 N=500 numerics=seq").numerics() == "Y:seq");
  // The class of a schedule is the text that pins it.
  const std::string actual = engine.compile(rows).numerics();
  CHECK(engine.compile(rows + " numerics=" + actual).numerics() == actual);
  // Classes that the analytic schedules are not of: the values of their knobs are looked for.
  const int lanes = runtime::host_target().vector_bytes() / size_of(DType::kF32);
  for (const int sums : {2, 8}) {
    const std::string other = "Y:lanes(j%" + std::to_string(sums * lanes) + ")[seq]";
    const std::string text = rows + " numerics=" + other;
    CHECK(engine.compile(text).numerics() == other);
    CHECK(engine.tune(text, trials(6)).numerics == other);
    CHECK(engine.compile(text).source() == Source::kTuned);
  }
  const auto none = engine.try_compile(rows + " numerics=Y:order(q)");
  REQUIRE_FALSE(none);
  CHECK(none.failure().code == ErrorCode::kUnsupported);
  const auto given = engine.try_compile(pinned, {.schedule = "vectorize Y/j"});
  REQUIRE_FALSE(given);
  CHECK(given.failure().code == ErrorCode::kSchedule);
  // A copy in registers is not another order.
  CHECK(engine.compile(std::string(kProblem) + " numerics=seq").numerics() == "C:seq");
  CHECK(place.bugs.empty());
}

TEST_CASE("tune: what the ranking finds wrong stays in quarantine, record or not") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine(fickle_worker());
  const TuneResult first = engine.tune(kProblem, trials(1));
  runtime::Cache cache = place.cache();
  runtime::Record record = record_of(first, "unroll C/k");
  record.median_us = 1;
  cache.put(record);
  TuneOptions options = trials(2);
  options.again = true;
  const auto r = tune_with(engine, record.schedule, options);
  REQUIRE(r);
  CHECK(r->schedule != record.schedule);
  CHECK(place.bugs.size() == 1);
  CHECK(schedules_of(cache.quarantine(record.key)) == std::vector{record.schedule});
  CHECK(schedules_of(cache.good(record.key)) == std::vector{r->schedule});
}

TEST_CASE("tune: the log of an earlier run does not bring back what was found wrong since") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine(fickle_worker());
  const TuneResult first = engine.tune(kProblem, trials(1));
  runtime::Cache cache = place.cache();
  runtime::Record record = record_of(first, first.schedule);
  record.verdict = "wrong";
  cache.put(record);
  const TuneResult r = engine.tune(kProblem, trials(1));
  CHECK(r.trials == 1);
  CHECK(r.schedule != first.schedule);
  CHECK(schedules_of(cache.good(record.key)) == std::vector{r.schedule});
}

TEST_CASE("tune: where all that was tried is wrong it is a defect, with a line to repeat it") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine(fickle_worker());
  const auto none = tune_with(engine, "*", trials(1));
  REQUIRE_FALSE(none);
  CHECK(none.failure().code == ErrorCode::kInternal);
  CHECK(none.failure().message.find("Y[0] is 1 (matmul M=24") != std::string::npos);
  CHECK(none.failure().message.find(" | )") != std::string::npos);  // the plain loops, the last
}

TEST_CASE("tune: where all that was thought of is wrong, the plain loops are measured") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine(fickle_worker());
  const std::string untuned(engine.compile(kProblem).schedule());
  const auto r = tune_with(engine, untuned, trials(1));
  REQUIRE(r);
  CHECK(r->schedule.empty());
  CHECK_FALSE(place.bugs.empty());
}

TEST_CASE("tune: asked for another look at what is finished, it measures again") {
  if (nothing_to_tune()) return;
  Place place;
  Engine engine = place.engine(fickle_worker());
  TuneOptions options = trials(2);
  const TuneResult first = engine.tune(kProblem, options);
  options.again = true;
  engine.tune(kProblem, options);
  runtime::Cache cache = place.cache();
  const auto log = cache.trials({first.problem, first.target, jit::kCodeGeneration});
  REQUIRE(log.size() == 4);
  CHECK(log[0].schedule == log[2].schedule);
  CHECK(log[1].schedule == log[3].schedule);
}

TEST_CASE("tune: perf hears of kernels by name") {
  if (nothing_to_tune()) return;
  EngineOptions o;
  o.cache = ":memory:";
  o.perf_map = true;
  Engine engine(o);
  const Kernel k = engine.compile(kProblem);
  const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
  std::FILE* file = std::fopen(path.c_str(), "r");
  REQUIRE(file);
  char line[512] = {};
  CHECK(std::fgets(line, sizeof line, file));
  std::fclose(file);
  std::filesystem::remove(path);
  CHECK(std::string(line).find(" hone matmul M=24 K=56 N=40") != std::string::npos);
}
