// SPDX-License-Identifier: Apache-2.0
// What operands are like before each call that is timed.
#include "runtime/check/fresh_data.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "jit/interp/scalar.h"
#include "runtime/check/call_frame.h"
#include "runtime/machine/host.h"
#include "schedules/space/space.h"

using namespace hone;
using namespace hone::runtime;

namespace {

/// A problem with data, as for timing.
struct Timed {
  explicit Timed(const std::string& text) {
    auto parsed = ops::parse_problem(text);
    REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.failure().message));
    problem = *std::move(parsed);
    auto made = Fixture::create(problem, {}, jit::DataSet::kIntegers, Guard::kFar, 1, kStagger);
    REQUIRE(made);
    fixture.emplace(*std::move(made));
  }

  std::vector<int64_t> values(size_t param) const {
    const jit::TensorView& v = fixture->params()[param];
    std::vector<int64_t> all;
    for (int64_t i = 0; i < v.elements(); ++i) all.push_back(jit::read_int(v.type, v.data, i));
    return all;
  }

  ops::Problem problem;
  std::optional<Fixture> fixture;
};

constexpr int64_t kNone = int64_t{1} << 40;  // a cache that holds everything

}  // namespace

TEST_CASE("fresh data: rows of a large table are chosen anew at each call, by the seed") {
  const Timed bag("embedding_bag R=500 D=8 L=120 B=6");
  const Timed same("embedding_bag R=500 D=8 L=120 B=6");
  CHECK_FALSE(FreshData(*bag.fixture, kNone).needed());
  CHECK_FALSE(FreshData(*bag.fixture, 500 * 8 * 4).needed());
  FreshData fresh(*bag.fixture, 500 * 8 * 4 - 1);
  FreshData other(*same.fixture, 500 * 8 * 4 - 1);
  CHECK(fresh.draws());
  CHECK(std::count(fresh.cold().begin(), fresh.cold().end(), true) == 0);
  const auto offsets = bag.values(2);
  std::vector<int64_t> before = bag.values(1), all;
  for (int call = 0; call < 20; ++call) {
    fresh.make({});
    other.make({});
    const auto now = bag.values(1);
    CHECK(now != before);
    CHECK(now == same.values(1));
    before = now;
    all.insert(all.end(), now.begin(), now.end());
  }
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  CHECK(*least == 0);
  CHECK(*most == 499);
  CHECK(bag.values(2) == offsets);
}

TEST_CASE("fresh data: numbers stay such as the op takes") {
  const Timed odd(
      "op f(T: f32[R,D], p: i32[N]) -> (Y: f32[N,D]) { Y[i,d] = T[2*p[i] + 1, d] } R=99 D=4 N=300");
  FreshData(*odd.fixture, 100).make({});
  const auto p = odd.values(1);
  CHECK(*std::min_element(p.begin(), p.end()) == 0);
  CHECK(*std::max_element(p.begin(), p.end()) == 48);
  // Those that choose nothing go on to do so.
  const Timed zeros("gather_rows_or_zero R=300 D=4 N=400");
  const auto outside = [&] {
    const auto ids = zeros.values(1);
    return std::count_if(ids.begin(), ids.end(), [](int64_t i) { return i < 0 || i >= 300; });
  };
  const auto few = outside();
  FreshData fresh(*zeros.fixture, 100);
  CHECK(fresh.draws());
  fresh.make({});
  CHECK(outside() == few);
  // A byte chooses among 128 rows.
  const Timed bytes("gather_rows R=1000 D=4 N=4000 I=i8");
  FreshData(*bytes.fixture, 100).make({});
  const auto ids = bytes.values(1);
  CHECK(*std::min_element(ids.begin(), ids.end()) == 0);
  CHECK(*std::max_element(ids.begin(), ids.end()) == 127);
}

TEST_CASE("fresh data: a table is evicted where what chooses its rows cannot change") {
  const auto evicts = [](const char* text) {
    const Timed t(text);
    const FreshData fresh(*t.fixture, 100);
    CHECK_FALSE(fresh.draws());
    return fresh.cold() == std::vector<bool>{true, false, false};
  };
  CHECK(evicts("gather_rows R=500 D=8 N=20 const=ids"));
  CHECK(evicts("op f(T: f32[R], p: i32[N]) -> (Y: f32[N]) { Y[i] = T[p[i] + i] } R=500 N=20"));
  CHECK(evicts("op f(T: f32[R], p: i32[N]) -> (Y: f32[N]) { Y[i] = T[p[i] / 2] } R=500 N=20"));
}

TEST_CASE("fresh data: of a cold constant, what is packed is evicted as well") {
  if (host_target().vector_bytes() == 0) return;
  Timed t("matmul M=5 N=64 K=24 const=B cold=B");
  FreshData fresh(*t.fixture, kNone);
  CHECK(fresh.needed());
  CHECK(fresh.cold() == std::vector<bool>{false, true, false});
  jit::ExecutableMemory memory;
  const std::string schedule = schedules::default_schedule(t.problem.program, host_target()).text();
  const auto candidate =
      build_candidate(t.problem, host_target(), schedule, {&memory, nullptr, nullptr});
  REQUIRE_MESSAGE(candidate, (candidate ? "" : candidate.failure().text()));
  REQUIRE(candidate->nest().launches[0].at_bind);
  const auto site = host_site();
  const auto operands = Operands::create(*site, *t.fixture);
  REQUIRE(operands);
  auto frame = CallFrame::create(*candidate, *operands);
  REQUIRE(frame);
  const auto packed = frame->packed_of(fresh.cold());
  REQUIRE(packed.size() == 1);
  CHECK(packed[0].bytes >= 24 * 64 * 4);
  CHECK(frame->packed_of({true, false, false}).empty());
  // Nothing of it is lost.
  REQUIRE(t.fixture->refer());
  t.fixture->reset();
  REQUIRE(frame->bind());
  fresh.make(packed);
  REQUIRE(frame->run(1));
  const auto found = t.fixture->compare({});
  REQUIRE(found);
  CHECK_MESSAGE(found->ok(), found->text());
}

TEST_CASE("fresh data: a few elements of what was drawn last are compared with the definition") {
  Timed bag("embedding_bag R=50 D=4 L=40 B=5");
  FreshData(*bag.fixture, 100).make({});
  bag.fixture->reset();
  REQUIRE(bag.fixture->refer());
  const jit::TensorView y = bag.fixture->outputs()[0];
  for (int64_t i = 0; i < y.elements(); ++i) {
    jit::write_float(y.type, y.data, i,
                     bag.fixture->reference().outputs[0].f[static_cast<size_t>(i)]);
  }
  auto found = bag.fixture->compare_few();
  REQUIRE(found);
  CHECK(found->ok());
  CHECK(found->compared > 0);
  FreshData(*bag.fixture, 100).make({});
  static_cast<float*>(y.data)[0] += 1;
  found = bag.fixture->compare_few();
  REQUIRE(found);
  CHECK_FALSE(found->ok());
}

TEST_CASE("fresh data: what comes before each call runs as often, and is not timed") {
  int before = 0, calls = 0;
  const auto count = [&](int64_t n) {
    calls += static_cast<int>(n);
    CHECK(n == 1);
    CHECK(before >= calls);
  };
  SampleOptions options{.samples = 3, .sample_us = 20};
  options.before_call = [&] {
    ++before;
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(300);
    while (std::chrono::steady_clock::now() < until) {
    }
  };
  const Samples samples = sample_calls(count, nullptr, options);
  REQUIRE(samples.us.size() >= 1);
  CHECK(*std::min_element(samples.us.begin(), samples.us.end()) < 150);
  CHECK(before == calls + 1);  // one says how many there are time for
}
