// SPDX-License-Identifier: Apache-2.0
// Kernels in several streams of a GPU, which is the emulated one: status words, workspaces of
// streams that end or are captured, memory that many threads want.
#include <doctest/doctest.h>

#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/device/gpu.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A kernel that checks data, with good and bad data for it.
struct Pick {
  explicit Pick(Engine& engine)
      : device(engine.device()),
        table(device.upload(std::span<const float>(std::vector<float>(80, 1.5f)))),
        good(device.upload(std::span<const int32_t>(std::vector<int32_t>{0, 9, 3, 3, 1, 2}))),
        bad(device.upload(std::span<const int32_t>(std::vector<int32_t>{0, 9, 10, 3, -1, 2}))),
        y(device.allocate(6 * 8 * 4)) {
    engine.add_ops("op pick(T: f32[R,D], ids: i32[N]) -> (Y: f32[N,D]) { Y[i,d] = T[ids[i],d] }");
    kernel.emplace(engine.compile("pick R=10 D=8 N=6"));
  }
  void enqueue(const DeviceBuffer& ids, void* stream) {
    kernel->enqueue({stream, {}, nullptr}, table.tensor<float>({10, 8}), ids.tensor<int32_t>({6}),
                    y.tensor<float>({6, 8}));
  }
  ErrorCode wait(void* stream) {
    const auto said = kernel->try_wait(stream);
    return said ? ErrorCode::kOk : said.failure().code;
  }
  /// Whether the kernel has written since this was asked last.
  bool written() {
    std::vector<float> values(48);
    y.download(values.data(), y.bytes());
    const std::vector<float> zero(48, 0.0f);
    y.upload(zero.data(), y.bytes());
    return values[47] == 1.5f;
  }

  Device device;
  DeviceBuffer table, good, bad, y;
  std::optional<Kernel> kernel;
};

/// A softmax whose stages go through the workspace.
constexpr const char* kStreamsProblem = "softmax M=6 N=300";
constexpr const char* kStaged = "bind Y/i block.x";

double sum_of(const DeviceBuffer& y) {
  std::vector<float> v(static_cast<size_t>(y.bytes()) / 4);
  y.download(v.data(), y.bytes());
  return std::accumulate(v.begin(), v.end(), 0.0);
}

}  // namespace

TEST_CASE("device streams: bad data in one stream stops nobody in another") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  Pick pick(engine);
  const DeviceStream one = pick.device.stream(), two = pick.device.stream();
  pick.enqueue(pick.bad, one.handle());
  one.synchronize();
  pick.written();
  // Nothing more is done in the stream whose data was bad, and all that others ask for.
  pick.enqueue(pick.good, one.handle());
  one.synchronize();
  CHECK_FALSE(pick.written());
  pick.enqueue(pick.good, two.handle());
  CHECK(pick.wait(two.handle()) == ErrorCode::kOk);
  CHECK(pick.written());
  CHECK(pick.wait(one.handle()) == ErrorCode::kBounds);
  pick.enqueue(pick.good, one.handle());
  CHECK(pick.wait(one.handle()) == ErrorCode::kOk);
  CHECK(pick.written());
  // The default stream has two handles and one word.
  pick.enqueue(pick.bad, nullptr);
  CHECK(pick.wait(reinterpret_cast<void*>(uintptr_t{1})) == ErrorCode::kBounds);
  CHECK(pick.wait(nullptr) == ErrorCode::kOk);
  // The per-thread one has a handle for the streams of all threads, so it has no word.
  const auto refused = pick.kernel->try_enqueue(
      {reinterpret_cast<void*>(uintptr_t{2}), {}, nullptr}, pick.table.tensor<float>({10, 8}),
      pick.good.tensor<int32_t>({6}), pick.y.tensor<float>({6, 8}));
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.failure().code == ErrorCode::kArgument);
  CHECK(refused.failure().message.find("give a status word") != std::string::npos);
}

TEST_CASE("device streams: more of them than words, and graphs") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  Pick pick(engine);
  std::vector<DeviceStream> streams;
  for (int i = 0; i < 70; ++i) {
    streams.push_back(pick.device.stream());
    pick.enqueue(i % 2 ? pick.bad : pick.good, streams.back().handle());
  }
  // 63 have a word of their own, 31 of these bad data. What the others share the first that waits
  // is told, whether it has a word or not; all have run by then, so it is one with good data.
  pick.device.synchronize();
  int told = 0;
  for (const DeviceStream& s : streams) told += pick.wait(s.handle()) == ErrorCode::kBounds;
  CHECK(told == 32);
  for (const DeviceStream& s : streams) CHECK(pick.wait(s.handle()) == ErrorCode::kOk);
  DeviceGraph graph = pick.device.graph();
  graph.add(*pick.kernel, pick.table.tensor<float>({10, 8}), pick.bad.tensor<int32_t>({6}),
            pick.y.tensor<float>({6, 8}));
  graph.launch(streams[1].handle());
  CHECK(pick.wait(streams[1].handle()) == ErrorCode::kBounds);
  CHECK(pick.wait(streams[1].handle()) == ErrorCode::kOk);
}

TEST_CASE("device streams: a stream that ends while its work runs") {
  const OnGpu gpu;
  const long long streams = OnGpu::count("live.streams");
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile(kStreamsProblem, {.schedule = kStaged});
  REQUIRE(k.workspace_size() > 0);
  const std::vector<float> x(1800, 1.0f);
  const DeviceBuffer in = device.upload(std::span(x));
  std::vector<DeviceBuffer> out;
  const long long blocks = OnGpu::count("live.allocations");
  for (int i = 0; i < 6; ++i) {
    out.push_back(device.allocate(7200));
    const DeviceStream stream = device.stream();
    k.enqueue({stream.handle(), {}, nullptr}, in.tensor<float>({6, 300}),
              out.back().tensor<float>({6, 300}));
  }
  // Its workspace goes once the work is done, and no other stream gets it before.
  CHECK(OnGpu::count("live.allocations") == blocks + 6);
  CHECK(OnGpu::count("live.streams") <= streams + 2);
  device.synchronize();
  for (const DeviceBuffer& y : out) CHECK(sum_of(y) == doctest::Approx(6));
}

TEST_CASE("device streams: a captured call takes the caller's workspace, never the pool's") {
  const OnGpu gpu({{"HONE_GPU_CAPTURING", "1"}});
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  Kernel k = engine.compile(kStreamsProblem, {.schedule = kStaged});
  const std::vector<float> x(1800, 1.0f);
  const DeviceBuffer in = device.upload(std::span(x)), out = device.allocate(7200);
  const DeviceBuffer workspace = device.allocate(k.workspace_size());
  EnqueueOptions options{stream.handle(), {}, nullptr};
  const auto call = [&] {
    return k.try_enqueue(options, in.tensor<float>({6, 300}), out.tensor<float>({6, 300}));
  };
  const auto refused = call();
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.failure().code == ErrorCode::kArgument);
  CHECK(refused.failure().message.find("is being captured") != std::string::npos);
  options.workspace = {static_cast<std::byte*>(workspace.data()),
                       static_cast<size_t>(workspace.bytes())};
  CHECK(static_cast<bool>(call()));
  stream.synchronize();
  CHECK(sum_of(out) == doctest::Approx(6));
}

TEST_CASE("device streams: threads hammer the pool") {
  const OnGpu gpu;
  constexpr int64_t kCeiling = 1 << 20;
  auto opened = runtime::Gpu::open(0, kCeiling);
  REQUIRE(static_cast<bool>(opened));
  runtime::MemoryPool& pool = (*opened)->memory();
  const long long alive = OnGpu::count("live.allocations");
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&pool, &wrong, t] {
      void* const stream = reinterpret_cast<void*>(16 * (1 + t % 2));
      for (int i = 0; i < 300; ++i) {
        // Together they want less than the ceiling; with what is kept, more.
        const int64_t bytes = int64_t{512} << ((static_cast<int64_t>(t) + i) % 9);
        auto block = pool.take(bytes, stream);
        wrong[t] += !block;
        if (i % 7 == 0) wrong[t] += pool.used() > kCeiling;
        if (block) pool.give(*block, bytes, stream);
        if (i % 50 == 49) pool.trim();
        if (i % 60 == 59) pool.forget(stream);
        if (i % 11 != 0) continue;
        auto held = pool.hold(bytes);
        wrong[t] += !held;
        if (held) pool.release(*held, bytes);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
  pool.trim();
  CHECK(pool.kept() == 0);
  CHECK(pool.used() == 0);
  CHECK(OnGpu::count("live.allocations") == alive);
}

TEST_CASE("device streams: memory that the driver does not free stays the pool's") {
  const OnGpu before;
  REQUIRE(static_cast<bool>(runtime::Gpu::open(0, 4096)));
  const std::string next = std::to_string(OnGpu::count("cuMemFree_v2") + 1);
  const OnGpu gpu({{"HONE_GPU_FAIL", "cuMemFree_v2:" + next + ":1"}});
  auto opened = runtime::Gpu::open(0, 4096);
  REQUIRE(static_cast<bool>(opened));
  runtime::MemoryPool& pool = (*opened)->memory();
  const long long alive = OnGpu::count("live.allocations");
  auto block = pool.hold(512);
  REQUIRE(static_cast<bool>(block));
  pool.release(*block, 512);
  CHECK(OnGpu::count("live.allocations") == alive + 1);
  CHECK(pool.used() == 512);
  CHECK(pool.kept() == 512);
  // The driver may not have waited for what uses it, so nobody gets it.
  auto other = pool.hold(512);
  REQUIRE(static_cast<bool>(other));
  CHECK(*other != *block);
  CHECK(pool.trim());
  CHECK(pool.used() == 512);
  CHECK(pool.kept() == 0);
  pool.release(*other, 512);
  CHECK(pool.used() == 0);
  CHECK(OnGpu::count("live.allocations") == alive);
}

TEST_CASE("device streams: what may still be in use is not freed") {
  constexpr const char* kWait = "cuCtxSynchronize";
  const OnGpu before;
  long long to_open = OnGpu::count(kWait);
  {
    const auto once = runtime::Gpu::open(0, 4096);
    REQUIRE(static_cast<bool>(once));
    to_open = OnGpu::count(kWait) - to_open;
  }
  const std::string next = std::to_string(OnGpu::count(kWait) + to_open + 1);
  const OnGpu gpu({{"HONE_GPU_FAIL", kWait + (":" + next) + ":1"}});
  auto opened = runtime::Gpu::open(0, 4096);
  REQUIRE(static_cast<bool>(opened));
  runtime::MemoryPool& pool = (*opened)->memory();
  auto block = pool.take(512, nullptr);
  REQUIRE(static_cast<bool>(block));
  pool.give(*block, 512, nullptr);
  CHECK_FALSE(pool.trim());
  CHECK(pool.kept() == 512);
  CHECK(pool.used() == 512);
  CHECK(pool.trim());
  CHECK(pool.used() == 0);
}
