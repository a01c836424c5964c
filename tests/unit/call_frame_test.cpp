// SPDX-License-Identifier: Apache-2.0
// How a candidate is called to be timed.
#include "runtime/check/call_frame.h"

#include <doctest/doctest.h>

#include "runtime/machine/host.h"

using namespace hone;
using namespace hone::runtime;

namespace {

/// A pool of many threads, played by one after the other.
class WidePool : public ThreadPool {
 public:
  int size() override { return 100; }
  void parallel_for(int64_t n, Task task, void* context) override {
    ++calls;
    for (int64_t i = 0; i < n; ++i) task(context, i, i + 1, static_cast<int>(i % size()));
  }

  int calls = 0;
};

}  // namespace

TEST_CASE("call frame: parallel launches run on all threads of a pool, however many") {
  if (host_target().vector_bytes() == 0) return;
  const auto problem = ops::parse_problem("relu N=300");
  REQUIRE(problem);
  jit::ExecutableMemory memory;
  const auto candidate =
      build_candidate(*problem, host_target(), "parallel Y/i", {&memory, nullptr, nullptr});
  REQUIRE_MESSAGE(candidate, (candidate ? "" : candidate.failure().text()));
  auto fixture = Fixture::create(*problem, {}, jit::DataSet::kIntegers, Guard::kAfter, 1);
  REQUIRE(fixture);
  REQUIRE(fixture->refer());
  GuardedPool blocks;
  auto frame = CallFrame::create(*candidate, *fixture, blocks);
  REQUIRE(frame);
  WidePool pool;
  REQUIRE(frame->share(pool.size()));
  fixture->reset();
  frame->bind(*candidate);
  frame->run(*candidate, &pool);
  CHECK(pool.calls == 1);
  const auto found = fixture->compare({});
  REQUIRE(found);
  CHECK_MESSAGE(found->ok(), found->text());
  CHECK(frame->misreported(*fixture).empty());
}
