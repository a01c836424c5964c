// SPDX-License-Identifier: Apache-2.0
// How what candidates make is compared on a GPU, which is the emulated one: where it lies, and as
// sharply as on the host.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check/block_compare.h"
#include "runtime/device/compiler.h"
#include "runtime/device/gpu.h"
#include "runtime/machine/host.h"
#include "runtime/worker/session.h"
#include "schedules/space/space.h"
#include "tests/cuda/on_gpu.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::runtime;
using namespace hone::tests;
using ir::Reject;

namespace {

/// What is done to the device's memory behind a launch. Addresses are of the parameters, in order.
using Meddling = std::function<void(const jit::CudaDriver&, const std::vector<uint64_t>&)>;
Meddling meddling;

class Meddled final : public jit::Executable {
 public:
  Meddled(std::shared_ptr<const jit::Executable> inner, std::vector<int> slots)
      : inner_(std::move(inner)), slots_(std::move(slots)) {}
  Result<Done> run(size_t launch, const int64_t* slots, const jit::Part& part) const override {
    auto done = inner_->run(launch, slots, part);
    if (!done || !meddling) return done;
    auto driver = jit::CudaDriver::open();
    if (!driver) return driver.failure();
    std::vector<uint64_t> params;
    for (const int slot : slots_) {
      params.push_back(static_cast<uint64_t>(slots[static_cast<size_t>(slot)]));
    }
    meddling(**driver, params);
    return done;
  }

 private:
  std::shared_ptr<const jit::Executable> inner_;
  std::vector<int> slots_;
};

Result<std::shared_ptr<const jit::Executable>, Reject> load_meddled(
    std::shared_ptr<const jit::Code> code, const ir::Target& target, const jit::Place& place) {
  const std::vector<int> slots = ir::args_layout(code->nest()).tensor_slots;
  auto loaded = kCudaBackend.load(std::move(code), target, place);
  if (!loaded) return loaded.failure();
  return std::shared_ptr<const jit::Executable>(
      std::make_shared<Meddled>(*std::move(loaded), slots));
}

const jit::Backend kMeddled = {"meddled", kCudaBackend.takes, kCudaBackend.emit, load_meddled};

/// Changes element `at` of parameter `param`, in every launch or in every second.
Meddling changes(size_t param, int64_t at, std::function<float(float)> to, int every = 1) {
  return [=, launches = 0](const jit::CudaDriver& driver,
                           const std::vector<uint64_t>& params) mutable {
    if (launches++ % every != every - 1) return;
    const uint64_t address = params[param] + static_cast<uint64_t>(at) * sizeof(float);
    float value = 0;
    driver.to_host(&value, address, sizeof value);
    value = to(value);
    driver.to_device(address, &value, sizeof value);
  };
}

/// Two blocks of a GPU, and what compares them.
class TwoBlocks {
 public:
  explicit TwoBlocks(int64_t bytes) : host_(static_cast<size_t>(bytes), 0) {
    auto gpu = Gpu::open(0, 0);
    REQUIRE(gpu);
    site_ = device_site(*gpu);
    compiler_.emplace(BinaryStore{}, (*gpu)->driver().version());
    compare_.emplace(target_of((*gpu)->facts()), DevicePlace(&memory_, *gpu, &*compiler_), site_);
    for (auto& block : blocks_) {
      auto taken = site_->take(bytes, 1, Guard::kFar);
      REQUIRE(taken);
      block = *std::move(taken);
      REQUIRE(block->write(host_.data()));
    }
  }

  /// The second block with `value` at byte `at`, until the next call.
  template <class T>
  void set(int64_t at, T value) {
    REQUIRE(value == value);
    put(at, &value, sizeof value);
  }
  void put(int64_t at, const void* bytes, size_t n) {
    std::memcpy(host_.data() + at, bytes, n);
    REQUIRE(blocks_[1]->write(host_.data()));
    std::memset(host_.data() + at, 0, n);
  }
  /// Both blocks with those bytes at byte `at`.
  void put_both(int64_t at, const void* bytes, size_t n) {
    std::memcpy(host_.data() + at, bytes, n);
    for (auto& block : blocks_) REQUIRE(block->write(host_.data()));
    std::memset(host_.data() + at, 0, n);
  }
  bool same() {
    const auto alike = compare_->same(*blocks_[0], *blocks_[1]);
    REQUIRE_MESSAGE(alike, alike.failure().message);
    return *alike;
  }
  bool near(DType type, double bound) {
    const auto alike = compare_->near(*blocks_[0], *blocks_[1], type, bound);
    REQUIRE_MESSAGE(alike, alike.failure().message);
    return *alike;
  }

 private:
  jit::ExecutableMemory memory_;
  std::shared_ptr<Site> site_;
  std::optional<GpuCompiler> compiler_;
  std::optional<BlockCompare> compare_;
  std::unique_ptr<Block> blocks_[2];
  std::vector<char> host_;
};

constexpr int64_t kN = 300000;

/// Of two tensors of 1.2 MB, and too much work for the definition to be evaluated everywhere.
std::string long_chain() {
  std::string value = "X[i]";
  for (int i = 0; i < 30; ++i) value = "(" + value + " * 0.5 + 1)";
  return "op chain(X: f32[N]) -> (Y: f32[N]) { Y[i] = silu(" + value + ") } N=300000";
}

std::unique_ptr<Session> open_meddled() {
  auto session = Session::open(long_chain(), "cuda sm=90", 0, false);
  REQUIRE_MESSAGE(session, session.failure().message);
  (*session)->use_backend(&kMeddled);
  return *std::move(session);
}

float twice(float v) { return 2 * v + 1; }

Verdict verdict(Session& session, Meddling with, const std::string& schedule = "") {
  meddling = std::move(with);
  Verdict v = session.try_schedule(schedule, {.samples = 0});
  meddling = nullptr;
  return v;
}

}  // namespace

TEST_CASE("device check: one other byte is seen wherever it is") {
  const OnGpu gpu;
  // Whole rows and an end of 11 bytes; a block that is read and compared on the host.
  for (const int64_t bytes : {int64_t{1048576 + 4096 + 11}, int64_t{1000}}) {
    TwoBlocks blocks(bytes);
    CHECK(blocks.same());
    for (const int64_t at : {int64_t{0}, bytes / 2, bytes - 4096, bytes - 12, bytes - 1}) {
      if (at < 0) continue;
      blocks.set<int8_t>(at, 1);
      CHECK_MESSAGE(!blocks.same(), at);
    }
    blocks.set<int8_t>(0, 0);
    const long long before = OnGpu::count("bytes.to_host");
    CHECK(blocks.same());
    if (bytes > 1000) CHECK(OnGpu::count("bytes.to_host") - before < 50000);
  }
}

TEST_CASE("device check: floats are near within the bound, NaN is near NaN alone") {
  const OnGpu gpu;
  constexpr int64_t kBytes = 1048576 + 16384 + 40;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  TwoBlocks blocks(kBytes);
  CHECK(blocks.near(DType::kF32, 0));
  std::vector<int64_t> places{kBytes - 4};
  if (effort() != tests::Effort::kSmoke) places.insert(places.end(), {0, kBytes / 2 / 4 * 4});
  for (const int64_t at : places) {
    blocks.set(at, 0.75f);
    CHECK(blocks.near(DType::kF32, 1));
    CHECK_FALSE(blocks.near(DType::kF32, 0.5));
    blocks.set(at, kInfinity);
    CHECK_FALSE(blocks.near(DType::kF32, 1));
    blocks.put(at, &kNan, sizeof kNan);
    CHECK_FALSE(blocks.near(DType::kF32, 1));
    for (const float both : {kNan, kInfinity}) {
      blocks.put_both(at, &both, sizeof both);
      CHECK(blocks.near(DType::kF32, 1));
    }
    blocks.put_both(at, "\0\0\0\0", 4);
  }
  // 1.0 of bf16 and f16; whole numbers have to be the same.
  for (const auto& [type, one] :
       {std::pair{DType::kBF16, 0x3f80}, std::pair{DType::kF16, 0x3c00}}) {
    blocks.set<uint16_t>(16384, static_cast<uint16_t>(one));
    CHECK(blocks.near(type, 1.5));
    CHECK_FALSE(blocks.near(type, 0.9));
  }
  blocks.set<double>(16384, 1.0);
  CHECK(blocks.near(DType::kF64, 1.0000001));
  CHECK_FALSE(blocks.near(DType::kF64, 0.9999999));
  CHECK_FALSE(blocks.near(DType::kI32, 1e300));
}

TEST_CASE("device check: large operands stay on the device, and what is wrong is found") {
  const OnGpu gpu;
  const auto session = open_meddled();
  CHECK(verdict(*session, changes(1, 0, twice)).word == "wrong");
  CHECK(verdict(*session, changes(1, kN - 1, twice, 2)).word == "nondeterministic");
  long long before = OnGpu::count("bytes.to_host");
  REQUIRE(verdict(*session, nullptr).word == "ok");
  CHECK(OnGpu::count("bytes.to_host") - before < kN);
  // Other bits that are as right: of each data set the output is looked at once.
  const auto problem = ops::parse_problem(long_chain());
  const auto target = ir::parse_target("cuda sm=90", host_target());
  REQUIRE(target);
  const std::string schedule = schedules::default_schedule(problem->program, *target).text();
  const auto ulp = [](float v) { return std::nextafter(v, 1e9f); };
  CHECK(verdict(*session, changes(1, kN - 1, twice), schedule).word == "wrong");
  before = OnGpu::count("bytes.to_host");
  const Verdict v = verdict(*session, changes(1, kN - 1, ulp), schedule);
  CHECK_MESSAGE(v.word == "ok", v.note);
  CHECK(OnGpu::count("bytes.to_host") - before < 4 * kN * 4);
  const Verdict input = verdict(*session, changes(0, kN - 1, twice), "parallel Y/i");
  CHECK(input.word == "overwrites");
  CHECK(input.note == "X");
}

TEST_CASE("device check: without the memory for copies all is checked on the host") {
  // Operands of three data sets have 2.4 MB each, those to time another 2.4.
  const OnGpu gpu({{"HONE_GPU_MEMORY", "18000000"}});
  const auto session = open_meddled();
  CHECK(verdict(*session, changes(1, 77, twice)).word == "wrong");
  CHECK(verdict(*session, changes(1, 77, twice, 2)).word == "nondeterministic");
  const long long before = OnGpu::count("bytes.to_host");
  CHECK(verdict(*session, nullptr).word == "ok");
  CHECK(OnGpu::count("bytes.to_host") - before > 4 * kN * 4);
  CHECK(verdict(*session, changes(1, kN, twice), "parallel Y/i").word == "overwrites");
}
