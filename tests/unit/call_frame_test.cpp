// SPDX-License-Identifier: Apache-2.0
// How a candidate is called to be timed.
#include "runtime/check/call_frame.h"

#include <doctest/doctest.h>

#include <cstring>

#include "runtime/machine/host.h"
#include "schedules/space/space.h"

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

/// A device, played by the host: tensors of the host are not where its launches run.
class FarSite : public Site {
 public:
  Result<std::unique_ptr<Block>> take(int64_t bytes, int64_t align, Guard guard) override {
    return host_->take(bytes, align, guard);
  }
  bool is_host() const override { return false; }
  int64_t cache_bytes() const override { return 10000; }
  int workers() const override { return host_->workers(); }
  Result<Done> run(const SiteLaunch& launch) override { return host_->run(launch); }
  Result<double> timed(const Work& work) override { return host_->timed(work); }
  Result<Samples> sample(const Calls& calls, bool parallel, const SampleOptions& options,
                         const std::function<void()>& between) override {
    return host_->sample(calls, parallel, options, between);
  }
  std::string_view verdict_on(const Failure& f) const override { return host_->verdict_on(f); }

 private:
  std::unique_ptr<Site> host_ = host_site();
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
  WidePool pool;
  const auto site = host_site(&pool);
  const auto operands = Operands::create(*site, *fixture);
  REQUIRE(operands);
  auto frame = CallFrame::create(*candidate, *operands);
  REQUIRE(frame);
  fixture->reset();
  REQUIRE(frame->call());
  CHECK(pool.calls == 1);
  const auto found = fixture->compare({});
  REQUIRE(found);
  CHECK_MESSAGE(found->ok(), found->text());
  CHECK(frame->misreported().empty());
}

TEST_CASE("call frame: a device has copies of the operands, each with what bind packs") {
  if (host_target().vector_bytes() == 0) return;
  const auto problem = ops::parse_problem("matmul M=5 N=64 K=24 const=B");
  REQUIRE(problem);
  jit::ExecutableMemory memory;
  const std::string schedule = schedules::default_schedule(problem->program, host_target()).text();
  const auto candidate =
      build_candidate(*problem, host_target(), schedule, {&memory, nullptr, nullptr});
  REQUIRE_MESSAGE(candidate, (candidate ? "" : candidate.failure().text()));
  REQUIRE(candidate->nest().launches[0].at_bind);
  auto fixture = Fixture::create(*problem, {}, jit::DataSet::kIntegers, Guard::kBefore, 1);
  REQUIRE(fixture);
  REQUIRE(fixture->refer());
  fixture->reset();
  FarSite site;
  const auto operands =
      Operands::create(site, *fixture, Operands::copies_past_cache(site, *fixture));
  REQUIRE(operands);
  REQUIRE(operands->copies() > 1);
  auto frame = CallFrame::create(*candidate, *operands);
  REQUIRE(frame);
  REQUIRE(operands->upload());
  REQUIRE(frame->call());
  CHECK_FALSE(fixture->compare({})->ok());
  REQUIRE(operands->download());
  const auto found = fixture->compare({});
  REQUIRE(found);
  CHECK_MESSAGE(found->ok(), found->text());
  CHECK(frame->misreported().empty());
  REQUIRE(frame->run(operands->copies()));
  const jit::TensorView c = fixture->outputs()[0];
  for (int copy = 0; copy < operands->copies(); ++copy) {
    CHECK(std::memcmp(operands->address(copy, 2), c.data, 5 * 64 * 4) == 0);
  }
  CHECK(*frame->overwritten() == "");
  CHECK(*operands->overwritten() == "");
  static_cast<char*>(operands->address(0, 1))[3] ^= 1;
  CHECK(*operands->overwritten() == "B");
}
