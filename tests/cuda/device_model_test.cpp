// SPDX-License-Identifier: Apache-2.0
// Models on a GPU, which is the emulated one, against the same models on this CPU.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// `b` is made of weights alone, so it is computed at load.
constexpr const char* kDevicePerceptron =
    "graph mlp(x: f32[B,20], const w1: f32[20,33], const u: f32[33], const w2: f32[33,10],\n"
    "          const b2: f32[10]) -> (y: f32[B,10]) {\n"
    "  b = tanh(u)\n"
    "  a = matmul(x, w1)\n"
    "  c = add_rows(a, b)\n"
    "  h = relu(c)\n"
    "  z = fc(h, w2, b2)\n"
    "  y = softmax(z)\n"
    "}\n";

std::vector<float> sine(size_t n, float step, float scale = 1) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * std::sin(step * static_cast<float>(i));
  return v;
}

/// Weights of the perceptron, and the model of them on an engine.
struct OnDevice {
  std::vector<float> w1 = sine(20 * 33, 0.7f), u = sine(33, 1.1f), w2 = sine(33 * 10, 1.7f),
                     b2 = sine(10, 0.4f);

  ModelOptions options(std::string dims) const {
    return {.dims = std::move(dims),
            .weights = {{"w1", {w1.data(), {20, 33}}},
                        {"u", {u.data(), {33}}},
                        {"w2", {w2.data(), {33, 10}}},
                        {"b2", {b2.data(), {10}}}}};
  }
  Model load(Engine& engine, std::string dims = "B=1..8") const {
    return engine.load_graph(kDevicePerceptron, options(std::move(dims)));
  }
};

/// What the CPU makes of it.
std::vector<float> on_host(const OnDevice& p, const std::vector<float>& x) {
  Engine engine(EngineOptions{.cache = ":memory:", .threads = 1});
  const auto rows = static_cast<int64_t>(x.size()) / 20;
  std::vector<float> y(static_cast<size_t>(rows) * 10);
  p.load(engine)({{"x", {x.data(), {rows, 20}}}}, {{"y", {y.data(), {rows, 10}}}});
  return y;
}

bool near(const std::vector<float>& got, const std::vector<float>& want) {
  bool all = got.size() == want.size();
  for (size_t i = 0; all && i < got.size(); ++i) {
    all = std::abs(got[i] - want[i]) <= 1e-5f * (1 + std::abs(want[i]));
  }
  return all;
}

std::vector<float> fetched(const DeviceBuffer& buffer) {
  std::vector<float> v(static_cast<size_t>(buffer.bytes()) / 4);
  buffer.download(v.data(), buffer.bytes());
  return v;
}

/// The failure of a call; empty where it has none.
Failure failure_of(const Result<Done>& result) {
  return result ? Failure{ErrorCode::kOk, {}} : result.failure();
}

long long launches() { return OnGpu::count("cuLaunchKernel"); }
long long graph_launches() { return OnGpu::count("cuGraphLaunch"); }
long long changes() { return OnGpu::count("cuGraphExecKernelNodeSetParams"); }

/// A table that `ids` point into, and what comes behind.
constexpr const char* kLookup =
    "graph lookup(ids: i32[N], const t: f32[10,8]) -> (y: f32[N,8]) {\n"
    "  a = pick(t, ids)\n"
    "  y = tanh(a)\n"
    "}\n";
constexpr const char* kPick =
    "op pick(T: f32[R,D], ids: i32[N]) -> (Y: f32[N,D]) { Y[i,d] = T[ids[i],d] }";

}  // namespace

TEST_CASE("device models: tensors of the host and of the device, and nothing left behind") {
  const OnGpu gpu;
  const long long bytes = std::max(0ll, OnGpu::count("live.bytes"));
  {
    Engine engine = gpu_engine();
    const OnDevice p;
    const Model model = p.load(engine);
    // What weights alone make is no step.
    for (const ModelStep& s : model.steps()) CHECK(s.ops != std::vector<std::string>{"tanh"});
    CHECK(model.memory().weights >= 4 * (20 * 33 + 33 + 33 * 10 + 10));
    CHECK(model.memory().call >= model.memory().values);
    for (const int64_t rows : {int64_t{8}, int64_t{3}}) {
      const std::vector<float> x = sine(static_cast<size_t>(rows) * 20, 0.3f);
      const std::vector<float> want = on_host(p, x);
      std::vector<float> y(want.size());
      model({{"x", {x.data(), {rows, 20}}}}, {{"y", {y.data(), {rows, 10}}}});
      CHECK(near(y, want));
      // One there, the other here.
      const DeviceBuffer there = engine.device().upload(std::span(x));
      std::fill(y.begin(), y.end(), 0.0f);
      model({{"x", there.tensor<float>({rows, 20})}}, {{"y", {y.data(), {rows, 10}}}});
      CHECK(near(y, want));
      const DeviceBuffer made = engine.device().allocate(static_cast<int64_t>(want.size()) * 4);
      model({{"x", {x.data(), {rows, 20}}}}, {{"y", made.tensor<float>({rows, 10})}});
      CHECK(near(fetched(made), want));
    }
  }
  CHECK(OnGpu::count("live.bytes") == bytes);
  CHECK(OnGpu::count("live.graphs") == 0);
  CHECK(OnGpu::count("live.modules") == 0);
  CHECK(OnGpu::count("live.streams") == 0);
}

TEST_CASE("device models: from the second call on a whole model is one launch of a graph") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  const OnDevice p;
  const Model model = p.load(engine);
  const std::vector<float> x = sine(160, 0.3f), other = sine(160, 0.9f);
  const DeviceBuffer a = device.upload(std::span(x)), b = device.upload(std::span(other)),
                     y = device.allocate(320);
  EnqueueOptions options;
  options.stream = stream.handle();
  const auto call = [&](const DeviceBuffer& from, int64_t rows) {
    const NamedTensor in[] = {{"x", from.tensor<float>({rows, 20})}};
    const NamedTensor out[] = {{"y", y.tensor<float>({rows, 10})}};
    model.enqueue(in, out, options);
  };
  long long kernels = launches(), graphs = graph_launches();
  call(a, 8);
  const long long each = launches() - kernels;
  CHECK(each >= static_cast<long long>(model.steps().size()));
  CHECK(graph_launches() == graphs);
  kernels = launches();
  for (int i = 1; i <= 3; ++i) {
    const long long before = OnGpu::calls();
    call(a, 8);
    CHECK(graph_launches() == graphs + i);
    // The launch, whether the stream is captured, and whose context the thread has.
    if (i > 1) CHECK(OnGpu::calls() - before <= 5);
  }
  CHECK(launches() == kernels);
  model.wait(stream.handle());
  CHECK(near(fetched(y), on_host(p, x)));
  // Another input is a change of the launches that read it.
  long long changed = changes();
  call(b, 8);
  CHECK(changes() > changed);
  CHECK(changes() - changed < each);
  CHECK(launches() == kernels);
  stream.synchronize();
  CHECK(near(fetched(y), on_host(p, other)));
  // Other dims have a graph of their own, and the first one stays.
  changed = changes();
  graphs = graph_launches();
  for (int i = 0; i < 2; ++i) call(a, 3);
  call(b, 8);
  CHECK(graph_launches() == graphs + 2);
  CHECK(changes() == changed);
  for (int i = 0; i < 2; ++i) call(b, 3);
  model.wait(stream.handle());
  const std::vector<float> got = fetched(y);
  CHECK(near({got.begin(), got.begin() + 30}, on_host(p, {other.begin(), other.begin() + 60})));
}

TEST_CASE("device models: more streams and dims than graphs are kept") {
  const OnGpu gpu;
  const long long graphs = std::max(0ll, OnGpu::count("live.graphs"));
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const OnDevice p;
  const Model model = p.load(engine);
  const std::vector<float> x = sine(160, 0.3f);
  const DeviceBuffer in = device.upload(std::span(x)), out = device.allocate(320);
  std::vector<DeviceStream> streams;
  for (int s = 0; s < 3; ++s) streams.push_back(device.stream());
  for (int round = 0; round < 2; ++round) {
    for (const DeviceStream& s : streams) {
      for (int64_t rows = 1; rows <= 8; ++rows) {
        EnqueueOptions options;
        options.stream = s.handle();
        const NamedTensor given[] = {{"x", in.tensor<float>({rows, 20})}};
        const NamedTensor made[] = {{"y", out.tensor<float>({rows, 10})}};
        for (int i = 0; i < 2; ++i) model.enqueue(given, made, options);
      }
      s.synchronize();
    }
  }
  CHECK(near(fetched(out), on_host(p, x)));
  CHECK(OnGpu::count("live.graphs") - graphs <= 2 * 16);
}

TEST_CASE("device models: several threads, in one stream and in their own") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const OnDevice p;
  const Model model = p.load(engine);
  const std::vector<float> x = sine(160, 0.3f);
  const std::vector<float> want = on_host(p, x);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto rows = static_cast<int64_t>(t) + 5;
      const auto made = static_cast<size_t>(rows) * 10;
      const std::vector<float> part(want.begin(), want.begin() + static_cast<int64_t>(made));
      const DeviceStream stream = device.stream();
      const DeviceBuffer in = device.upload(std::span(x));
      bool all = true;
      for (int i = 0; i < 4; ++i) {
        std::vector<float> y(made);
        if (t % 2 == 0) {
          model({{"x", {x.data(), {rows, 20}}}}, {{"y", {y.data(), {rows, 10}}}});
        } else {
          const DeviceBuffer out = device.allocate(static_cast<int64_t>(made) * 4);
          const NamedTensor given[] = {{"x", in.tensor<float>({rows, 20})}};
          const NamedTensor result[] = {{"y", out.tensor<float>({rows, 10})}};
          EnqueueOptions options;
          options.stream = i < 2 ? stream.handle() : nullptr;
          model.enqueue(given, result, options);
          model.wait(options.stream);
          y = fetched(out);
        }
        all = all && near(y, part);
      }
      right[t] = all;
    });
  }
  for (std::thread& t : threads) t.join();
  for (const int r : right) CHECK(r == 1);
}

TEST_CASE("device models: bad data is told by the call, and by wait for its stream") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  engine.add_ops(kPick);
  const Device device = engine.device();
  const std::vector<float> table = sine(80, 0.3f);
  const Model model =
      engine.load_graph(kLookup, {.dims = "N=1..6", .weights = {{"t", {table.data(), {10, 8}}}}});
  const std::vector<int32_t> good = {0, 9, 3, 3, 1, 2}, bad = {0, 9, 10, 3, -1, 2};
  std::vector<float> y(48);
  const auto run = [&](const std::vector<int32_t>& ids) {
    const NamedTensor in[] = {{"ids", {ids.data(), {6}}}};
    const NamedTensor out[] = {{"y", {y.data(), {6, 8}}}};
    return failure_of(model.try_run(in, out));
  };
  CHECK(run(good).code == ErrorCode::kOk);
  CHECK(y[8] == doctest::Approx(std::tanh(table[72])));
  for (int i = 0; i < 2; ++i) {
    const Failure told = run(bad);
    CHECK(told.code == ErrorCode::kBounds);
    CHECK(told.message.find("element 2 of ") != std::string::npos);
  }
  CHECK(run(good).code == ErrorCode::kOk);
  const DeviceStream one = device.stream(), two = device.stream();
  const DeviceBuffer g = device.upload(std::span(good)), b = device.upload(std::span(bad)),
                     out = device.allocate(192);
  const auto enqueue = [&](const DeviceBuffer& ids, void* stream, int64_t* status = nullptr) {
    const NamedTensor in[] = {{"ids", ids.tensor<int32_t>({6})}};
    const NamedTensor made[] = {{"y", out.tensor<float>({6, 8})}};
    return failure_of(model.try_enqueue(in, made, {stream, {}, status}));
  };
  for (int i = 0; i < 3; ++i) {  // launch by launch, then as a graph
    CHECK(enqueue(b, one.handle()).code == ErrorCode::kOk);
    CHECK(enqueue(g, two.handle()).code == ErrorCode::kOk);
    CHECK(failure_of(model.try_wait(two.handle())).code == ErrorCode::kOk);
    const Failure told = failure_of(model.try_wait(one.handle()));
    CHECK(told.code == ErrorCode::kBounds);
    CHECK(told.message.find("element 2 of ") != std::string::npos);
    CHECK(failure_of(model.try_wait(one.handle())).code == ErrorCode::kOk);
  }
  // A word of the caller's own.
  int64_t position = INT64_MAX;
  const DeviceBuffer word = device.allocate(8);
  word.upload(&position, 8);
  CHECK(enqueue(b, one.handle(), static_cast<int64_t*>(word.data())).code == ErrorCode::kOk);
  CHECK(failure_of(model.try_wait(one.handle())).code == ErrorCode::kOk);
  word.download(&position, 8);
  CHECK(position == 2);
  // The per-thread default stream has no words.
  const Failure none = enqueue(g, reinterpret_cast<void*>(uintptr_t{2}));
  CHECK(none.code == ErrorCode::kArgument);
  CHECK(none.message.find("`lookup` checks data") != std::string::npos);
}

TEST_CASE("device models: workspace of the caller, and streams that are captured") {
  const OnGpu gpu({{"HONE_GPU_CAPTURING", "1"}});
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  const OnDevice p;
  const Model model = p.load(engine);
  REQUIRE(model.memory().call > 0);
  const std::vector<float> x = sine(160, 0.3f);
  const DeviceBuffer a = device.upload(std::span(x)), y = device.allocate(320),
                     room = device.allocate(model.memory().call);
  const auto enqueue = [&](int64_t bytes) {
    const NamedTensor in[] = {{"x", a.tensor<float>({8, 20})}};
    const NamedTensor out[] = {{"y", y.tensor<float>({8, 10})}};
    EnqueueOptions options;
    options.stream = stream.handle();
    options.workspace = {static_cast<std::byte*>(room.data()), static_cast<size_t>(bytes)};
    return failure_of(model.try_enqueue(in, out, options));
  };
  const Failure refused = enqueue(0);
  CHECK(refused.code == ErrorCode::kArgument);
  CHECK(refused.message.find("is being captured") != std::string::npos);
  const Failure small = enqueue(room.bytes() - 1);
  CHECK(small.code == ErrorCode::kArgument);
  CHECK(small.message.find("bytes of workspace") != std::string::npos);
  // Such a graph takes the launches one by one.
  const long long graphs = graph_launches();
  for (int i = 0; i < 3; ++i) CHECK(enqueue(room.bytes()).code == ErrorCode::kOk);
  CHECK(graph_launches() == graphs);
  stream.synchronize();
  CHECK(near(fetched(y), on_host(p, x)));
}

TEST_CASE("device models: memory past the ceiling, and what a call gets wrong") {
  const OnGpu gpu;
  const OnDevice p;
  EngineOptions options{.target = "cuda", .cache = ":memory:"};
  options.memory_ceiling = 2048;
  {
    Engine engine(options);
    const auto model = engine.try_load_graph(kDevicePerceptron, p.options("B=1..8"));
    REQUIRE_FALSE(static_cast<bool>(model));
    CHECK(model.failure().code == ErrorCode::kMemory);
    CHECK(model.failure().message.find("weight `") != std::string::npos);
  }
  options.memory_ceiling = int64_t{1} << 20;
  Engine engine(options);
  const Model model = p.load(engine, "B=1..100000");
  std::vector<float> x(2000000), y(1000000);
  const auto run = [&](int64_t rows) {
    const NamedTensor in[] = {{"x", {x.data(), {rows, 20}}}};
    const NamedTensor out[] = {{"y", {y.data(), {rows, 10}}}};
    return failure_of(model.try_run(in, out));
  };
  const Failure large = run(100000);
  CHECK(large.code == ErrorCode::kMemory);
  CHECK(large.message.find("device memory are wanted") != std::string::npos);
  CHECK(run(100001).code == ErrorCode::kArgument);
  // Weights are read at load, which happens on the host.
  const DeviceBuffer there = engine.device().upload(std::span(p.w1));
  ModelOptions wrong = p.options("B=1..8");
  wrong.weights[0].tensor = there.tensor<float>({20, 33});
  const auto refused = engine.try_load_graph(kDevicePerceptron, wrong);
  REQUIRE_FALSE(static_cast<bool>(refused));
  CHECK(refused.failure().code == ErrorCode::kArgument);
  CHECK(refused.failure().message.find("weight `w1`") != std::string::npos);
}

TEST_CASE("device models: tensors of the device lie where kernels can take them") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  constexpr int64_t kCount = 1 << 18;
  const Model model =
      engine.load_graph("graph r(x: f32[N]) -> (y: f32[N]) { y = relu(x) }", {.dims = "N=262144"});
  // It takes 16 bytes at a time.
  REQUIRE(model.params()[0].align == 16);
  const std::vector<float> x = sine(kCount + 1, 0.3f);
  const DeviceBuffer in = engine.device().upload(std::span(x)),
                     out = engine.device().allocate(4 * kCount);
  const NamedTensor made[] = {{"y", out.tensor<float>({kCount})}};
  const NamedTensor askew[] = {{"x", TensorRef(static_cast<float*>(in.data()) + 1, {kCount})}};
  const long long before = launches();
  const Failure refused = failure_of(model.try_enqueue(askew, made));
  CHECK(refused.code == ErrorCode::kArgument);
  CHECK(refused.message.find("`x` is at ") == 0);
  CHECK(refused.message.find("no multiple of 16 bytes") != std::string::npos);
  CHECK(launches() == before);
  // Those of the host are copied, so they lie anywhere.
  const NamedTensor here[] = {{"x", TensorRef(x.data() + 1, {kCount})}};
  CHECK(failure_of(model.try_run(here, made)).code == ErrorCode::kOk);
  std::vector<float> want(x.begin() + 1, x.end());
  for (float& v : want) v = std::max(v, 0.0f);
  CHECK(fetched(out) == want);
}

TEST_CASE("device models: a kernel of a graph that faults takes the context along") {
  OnDevice p;
  const OnGpu gpu({{"HONE_GPU_FAULT", std::to_string(OnGpu::count("launches") + 5)}});
  Engine engine = gpu_engine();
  const Model model = p.load(engine);
  const std::vector<float> x = sine(160, 0.3f);
  std::vector<float> y(80);
  Failure told{ErrorCode::kOk, {}};
  const NamedTensor in[] = {{"x", {x.data(), {8, 20}}}};
  const NamedTensor out[] = {{"y", {y.data(), {8, 10}}}};
  for (int i = 0; i < 5 && told.code == ErrorCode::kOk; ++i) {
    told = failure_of(model.try_run(in, out));
  }
  CHECK(told.code == ErrorCode::kDevice);
  CHECK(told.message.find("a new one begins a context of its own") != std::string::npos);
  const Failure later = failure_of(model.try_run(in, out));
  CHECK(later.code == ErrorCode::kDevice);
  CHECK(later.message.find("make a new engine") != std::string::npos);
  // Another engine is as good as new.
  Engine fresh = gpu_engine();
  p.load(fresh).run(in, out);
  CHECK(near(y, on_host(p, x)));
}
