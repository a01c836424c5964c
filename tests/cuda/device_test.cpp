// SPDX-License-Identifier: Apache-2.0
// Kernels called on a GPU, which is the emulated one: everything above the driver as on a device.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>

#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

std::vector<float> ramp(size_t n, float step = 0.25f) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = step * static_cast<float>(i % 61) - 3;
  return v;
}

std::vector<float> download(const DeviceBuffer& buffer) {
  std::vector<float> v(static_cast<size_t>(buffer.bytes()) / 4);
  buffer.download(v.data(), buffer.bytes());
  return v;
}

/// The code of what `f` throws; kOk where it throws nothing.
template <class F>
ErrorCode thrown_test(const F& f, std::string* message = nullptr) {
  try {
    f();
  } catch (const Error& e) {
    if (message) *message = e.what();
    return e.code();
  }
  return ErrorCode::kOk;
}

}  // namespace

TEST_CASE("device: a kernel called on the GPU") {
  const OnGpu gpu;
  const long long bytes = std::max(0ll, OnGpu::count("live.bytes"));
  {
    Engine engine = gpu_engine();
    CHECK(engine.target().starts_with("cuda sm=90 gpu="));
    const Device device = engine.device();
    CHECK(device.compute_capability() == 90);
    const std::vector<float> a = ramp(40 * 30), b = ramp(30 * 50, 0.5f);
    const DeviceBuffer da = device.upload(std::span(a)), db = device.upload(std::span(b));
    const DeviceBuffer dc = device.allocate(40 * 50 * 4);
    Kernel k = engine.compile("matmul M=40 N=50 K=30");
    CHECK_FALSE(k.report().interpreted);
    k(da.tensor<float>({40, 30}), db.tensor<float>({30, 50}), dc.tensor<float>({40, 50}));
    const std::vector<float> c = download(dc);
    for (size_t i = 0; i < 40; i += 13) {
      for (size_t j = 0; j < 50; j += 7) {
        double sum = 0;
        for (size_t l = 0; l < 30; ++l) sum += double{a[i * 30 + l]} * b[l * 50 + j];
        CHECK(c[i * 50 + j] == doctest::Approx(sum));
      }
    }
  }
  // Nothing is left on the device.
  CHECK(OnGpu::count("live.bytes") == bytes);
  CHECK(OnGpu::count("live.modules") == 0);
  CHECK(OnGpu::count("live.streams") == 0);
}

TEST_CASE("device: enqueueing costs one call of the driver a launch and one for the context") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  const std::vector<float> x = ramp(1000);
  const DeviceBuffer a = device.upload(std::span(x)), b = device.upload(std::span(x));
  const DeviceBuffer y = device.allocate(4000);
  Kernel k = engine.compile("add N=1000");
  const EnqueueOptions options{stream.handle(), {}, nullptr};
  const auto call = [&] {
    k.enqueue(options, a.tensor<float>({1000}), b.tensor<float>({1000}), y.tensor<float>({1000}));
  };
  call();
  const long long before = OnGpu::calls();
  const long long launches = OnGpu::count("cuLaunchKernel");
  for (int i = 0; i < 10; ++i) call();
  CHECK(OnGpu::count("cuLaunchKernel") - launches == 10);
  // Where the thread has another context, that is changed and put back.
  CHECK(OnGpu::calls() - before <= 40);
  for (const char* never : {"cuStreamSynchronize", "cuMemAlloc_v2", "cuCtxSynchronize"}) {
    const long long count = OnGpu::count(never);
    call();
    CHECK(OnGpu::count(never) == count);
  }
  k.wait(stream.handle());
  const std::vector<float> sum = download(y);
  for (size_t i = 0; i < 1000; i += 37) CHECK(sum[i] == 2 * x[i]);
}

TEST_CASE("device: workspace comes from the pool and goes back to its stream") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("softmax M=6 N=300", {.schedule = "bind Y/i block.x"});
  // Stages that are computed nowhere in particular go through the workspace.
  REQUIRE(k.workspace_size() > 0);
  const std::vector<float> x = ramp(1800);
  const DeviceBuffer in = device.upload(std::span(x)), out = device.allocate(7200);
  const auto call = [&] { k(in.tensor<float>({6, 300}), out.tensor<float>({6, 300})); };
  call();
  const long long allocations = OnGpu::count("cuMemAlloc_v2");
  call();
  call();
  CHECK(OnGpu::count("cuMemAlloc_v2") == allocations);
  // The handle stands for another stream in each thread.
  const EnqueueOptions of_thread{reinterpret_cast<void*>(2), {}, nullptr};
  const auto enqueue = [&] {
    k.enqueue(of_thread, in.tensor<float>({6, 300}), out.tensor<float>({6, 300}));
  };
  CHECK(thrown_test(enqueue) == ErrorCode::kArgument);
  double sum = 0;
  const std::vector<float> y = download(out);
  for (size_t i = 0; i < 300; ++i) sum += y[i];
  CHECK(sum == doctest::Approx(1));
}

TEST_CASE("device: dims known at the call, an empty grid, scalars") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("add N=0..5000");
  const std::vector<float> x = ramp(5000);
  const DeviceBuffer a = device.upload(std::span(x)), y = device.allocate(20000);
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{777}, int64_t{5000}}) {
    const std::vector<float> zero(5000, 0.0f);
    y.upload(zero.data(), 20000);
    k(a.tensor<float>({n}), a.tensor<float>({n}), y.tensor<float>({n}));
    const std::vector<float> got = download(y);
    for (int64_t i = 0; i < 5000; i += 111) {
      const auto at = static_cast<size_t>(i);
      CHECK(got[at] == (i < n ? 2 * x[at] : 0.0f));
    }
  }
}

TEST_CASE("device: constants are packed on the device") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("fc_gelu M=17 N=96 K=40 const=W");
  const std::vector<float> a = ramp(17 * 40), w = ramp(40 * 96, 0.01f), bias(96, 0.5f);
  const DeviceBuffer da = device.upload(std::span(a)), dbias = device.upload(std::span(bias));
  const DeviceBuffer dy = device.allocate(17 * 96 * 4);
  std::string message;
  CHECK(thrown_test(
            [&] {
              k.bind("W", TensorRef(w.data(), {40, 96}));
            },
            &message) == ErrorCode::kArgument);
  CHECK(message.find("host's memory") != std::string::npos);
  const auto bind = [&] {
    // The constant's own memory may go once it is bound.
    const DeviceBuffer dw = device.upload(std::span(w));
    return k.bind("W", dw.tensor<float>({40, 96}));
  };
  const Bound bound = bind();
  bound(da.tensor<float>({17, 40}), dbias.tensor<float>({96}), dy.tensor<float>({17, 96}));
  const std::vector<float> y = download(dy);
  for (size_t i = 0; i < 17; i += 5) {
    for (size_t j = 0; j < 96; j += 31) {
      double sum = 0.5;
      for (size_t l = 0; l < 40; ++l) sum += double{a[i * 40 + l]} * w[l * 96 + j];
      const double gelu = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
      CHECK(y[i * 96 + j] == doctest::Approx(gelu).epsilon(1e-3));
    }
  }
}

TEST_CASE("device: bad data is told by the call, and by wait") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  engine.add_ops("op pick(T: f32[R,D], ids: i32[N]) -> (Y: f32[N,D]) { Y[i,d] = T[ids[i],d] }");
  const Device device = engine.device();
  Kernel k = engine.compile("pick R=10 D=8 N=6");
  const std::vector<float> table = ramp(80);
  const std::vector<int32_t> good = {0, 9, 3, 3, 1, 2}, bad = {0, 9, 10, 3, -1, 2};
  const DeviceBuffer t = device.upload(std::span(table)), g = device.upload(std::span(good)),
                     b = device.upload(std::span(bad)), y = device.allocate(6 * 8 * 4);
  const auto args = [&](const DeviceBuffer& ids) {
    return std::tuple(t.tensor<float>({10, 8}), ids.tensor<int32_t>({6}), y.tensor<float>({6, 8}));
  };
  std::apply([&](auto... a) { k(a...); }, args(g));
  CHECK(download(y)[8] == table[72]);
  std::string message;
  CHECK(thrown_test([&] { std::apply([&](auto... a) { k(a...); }, args(b)); }, &message) ==
        ErrorCode::kBounds);
  CHECK(message.find("element 2 of ids") != std::string::npos);
  // In a stream the word stays until it is asked for.
  const EnqueueOptions options;
  std::apply([&](auto... a) { k.enqueue(options, a...); }, args(b));
  CHECK(thrown_test([&] { k.wait(nullptr); }, &message) == ErrorCode::kBounds);
  std::apply([&](auto... a) { k.enqueue(options, a...); }, args(g));
  CHECK(thrown_test([&] { k.wait(nullptr); }) == ErrorCode::kOk);
  // A word of the caller's own.
  const int64_t fine = INT64_MAX;
  const DeviceBuffer word = device.allocate(8);
  word.upload(&fine, 8);
  const EnqueueOptions own{nullptr, {}, static_cast<int64_t*>(word.data())};
  std::apply([&](auto... a) { k.enqueue(own, a...); }, args(b));
  CHECK(thrown_test([&] { k.wait(nullptr); }) == ErrorCode::kOk);
  int64_t position = 0;
  word.download(&position, 8);
  CHECK(position == 2);
}

TEST_CASE("device: a graph of kernels, and other arguments for it") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  Kernel add = engine.compile("add N=0..1000"), soft = engine.compile("softmax M=2 N=500");
  const std::vector<float> x = ramp(1000);
  const DeviceBuffer a = device.upload(std::span(x)), s = device.allocate(4000),
                     y = device.allocate(4000), z = device.allocate(4000);
  DeviceGraph graph = device.graph();
  const int first =
      graph.add(add, a.tensor<float>({1000}), a.tensor<float>({1000}), s.tensor<float>({1000}));
  graph.add(soft, s.tensor<float>({2, 500}), y.tensor<float>({2, 500}));
  const auto run = [&] {
    graph.launch(stream.handle());
    stream.synchronize();
  };
  run();
  const std::vector<float> once = download(y);
  double sum = 0;
  for (size_t i = 0; i < 500; ++i) sum += once[i];
  CHECK(sum == doctest::Approx(1));
  graph.set(first, add, a.tensor<float>({1000}), s.tensor<float>({1000}), z.tensor<float>({1000}));
  run();
  CHECK(download(z)[999] == 3 * x[999]);
  {
    // Where the driver refuses the change the graph is made again.
    const std::string symbol = "cuGraphExecKernelNodeSetParams";
    const std::string refused = std::to_string(OnGpu::count(symbol.c_str()) + 1);
    const OnGpu refusing({{"HONE_GPU_FAIL", symbol + ":" + refused + ":1"}});
    gpu_engine();
    graph.set(first, add, a.tensor<float>({1000}), a.tensor<float>({1000}),
              z.tensor<float>({1000}));
    run();
    CHECK(download(z)[999] == 2 * x[999]);
  }
  // A launch that has no blocks is left out, and comes back.
  graph.set(first, add, a.tensor<float>({0}), a.tensor<float>({0}), s.tensor<float>({0}));
  run();
  CHECK(download(s)[10] == 2 * x[10]);
  std::string message;
  CHECK(thrown_test(
            [&] {
              graph.set(first, soft, a.tensor<float>({2, 500}), y.tensor<float>({2, 500}));
            },
            &message) == ErrorCode::kArgument);
  CHECK(message.find("call 0 of the graph") != std::string::npos);
}

TEST_CASE("device: calls from several threads at a time") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("softmax M=3 N=200");
  const std::vector<float> x = ramp(600);
  const DeviceBuffer in = device.upload(std::span(x));
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const DeviceBuffer out = device.allocate(2400);
      for (int i = 0; i < 3; ++i) k(in.tensor<float>({3, 200}), out.tensor<float>({3, 200}));
      double sum = 0;
      for (const float v : download(out)) sum += v;
      right[t] = std::abs(sum - 3) < 1e-4;
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(std::accumulate(right.begin(), right.end(), 0) == 4);
}

TEST_CASE("device: the second run compiles nothing") {
  const OnGpu gpu;
  const std::string path = "device-cache.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
  const std::vector<float> x = ramp(100);
  for (int run = 0; run < 2; ++run) {
    // The second time there is no compiler at all.
    if (run == 1) setenv("HONE_NVRTC", "/nowhere", 1);
    Engine engine = gpu_engine("cuda", path);
    Kernel k = engine.compile("add N=100");
    const Device device = engine.device();
    const DeviceBuffer a = device.upload(std::span(x)), y = device.allocate(400);
    k(a.tensor<float>({100}), a.tensor<float>({100}), y.tensor<float>({100}));
    CHECK(download(y)[99] == 2 * x[99]);
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
}

TEST_CASE("device: kept code that does not load is compiled anew") {
  const std::string path = "device-damaged.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
  const auto compile = [&] { gpu_engine("cuda", path).compile("add N=90"); };
  {
    const OnGpu gpu;
    compile();
  }
  const std::string load = std::to_string(OnGpu::count("cuModuleLoadDataEx") + 1);
  const OnGpu gpu({{"HONE_GPU_FAIL", "cuModuleLoadDataEx:" + load + ":200"}});
  CHECK(thrown_test(compile) == ErrorCode::kOk);
  for (const char* suffix : {"", "-wal", "-shm"}) std::remove((path + suffix).c_str());
}
