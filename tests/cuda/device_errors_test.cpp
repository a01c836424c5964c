// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a GPU, its driver and its calls: each is said, nothing is left on the
// device, and kernels on the CPU go on.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/cuda/nvrtc.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// What `f` throws: its code and message; kOk and nothing where it throws nothing.
template <class F>
Failure thrown(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return {e.code(), e.what()};
  }
  return {ErrorCode::kOk, {}};
}

bool says(const Failure& f, ErrorCode code, const std::string& text) {
  const bool right = f.code == code && f.message.find(text) != std::string::npos;
  if (!right) MESSAGE(static_cast<int>(f.code) << ": " << f.message);
  return right;
}

/// Opens an engine on the GPU, compiles and calls a kernel there.
void add_on_gpu(Engine engine, int64_t n = 100) {
  const Device device = engine.device();
  const std::vector<float> x(static_cast<size_t>(n), 1.5f);
  const DeviceBuffer a = device.upload(std::span(x)), y = device.allocate(4 * n);
  Kernel k = engine.compile("add N=" + std::to_string(n));
  k(a.tensor<float>({n}), a.tensor<float>({n}), y.tensor<float>({n}));
  std::vector<float> sum(static_cast<size_t>(n));
  y.download(sum.data(), 4 * n);
  CHECK(sum.back() == 3.0f);
}

void cpu_works() {
  Engine engine({.target = "", .cache = ":memory:"});
  const std::vector<float> x(50, 2.0f);
  std::vector<float> y(50);
  engine.compile("add N=50")(x, x, y);
  CHECK(y[49] == 4.0f);
}

}  // namespace

TEST_CASE("device errors: no driver") {
  const OnGpu gpu({{"HONE_CUDA", "/nowhere/libcuda.so"}});
  CHECK(says(thrown([] { gpu_engine(); }), ErrorCode::kUnsupported, "tried /nowhere/libcuda.so"));
  // For a GPU that is named kernels can be shown, and the interpreter runs them.
  std::string notice;
  Engine engine({.target = "cuda sm=90", .cache = ":memory:", .on_event = [&](const Event& e) {
                   if (e.kind == Event::kNotice) notice += e.text;
                 }});
  CHECK(engine.target() == "cuda sm=90");
  CHECK(notice.find("driver is not found") != std::string::npos);
  CHECK(says(thrown([&] { engine.device(); }), ErrorCode::kUnsupported, "has no GPU"));
  const std::vector<float> x(50, 2.0f);
  std::vector<float> y(50);
  Kernel k = engine.compile("add N=50");
  k(x, x, y);
  CHECK(y[49] == 4.0f);
  CHECK(says(thrown([&] { k.enqueue({}, x, x, y); }), ErrorCode::kUnsupported, "on a GPU"));
  cpu_works();
}

TEST_CASE("device errors: no GPU, and no such GPU") {
  {
    const OnGpu gpu({{"HONE_GPU_DEVICES", "0"}});
    CHECK(thrown([] { gpu_engine(); }).code == ErrorCode::kUnsupported);
    cpu_works();
  }
  const OnGpu gpu({{"HONE_GPU_DEVICES", "2"}, {"HONE_GPU_SM", "80,90"}});
  const auto on = [](int number, std::string target) {
    return Engine({.target = std::move(target), .cache = ":memory:", .gpu = number});
  };
  CHECK(says(thrown([&] { on(2, "cuda"); }), ErrorCode::kArgument, "the driver knows 2"));
  CHECK(on(0, "cuda").device().compute_capability() == 80);
  CHECK(on(1, "cuda").device().compute_capability() == 90);
  add_on_gpu(on(1, "cuda sm=90"));
  // The other one's kernels are not for this one.
  CHECK(says(thrown([&] { on(0, "cuda sm=90").device(); }), ErrorCode::kUnsupported, "no GPU"));
}

TEST_CASE("device errors: no NVRTC, and a driver too old for it") {
  {
    const OnGpu gpu({{"HONE_NVRTC", "/nowhere/libnvrtc.so"}});
    CHECK(says(thrown([] { add_on_gpu(gpu_engine()); }), ErrorCode::kUnsupported,
               "tried /nowhere/libnvrtc.so"));
    cpu_works();
  }
  {
    const OnGpu gpu({{"HONE_GPU_DRIVER", "12040"}, {"HONE_GPU_NVRTC", "13.0"}});
    CHECK(says(thrown([] { add_on_gpu(gpu_engine()); }), ErrorCode::kUnsupported,
               "supports CUDA 12.4; update the driver"));
  }
  const OnGpu gpu({{"HONE_GPU_DRIVER", "12040"}, {"HONE_GPU_NVRTC", "12.8"}});
  add_on_gpu(gpu_engine());
}

TEST_CASE("device errors: a GPU that NVRTC does not know yet") {
  const OnGpu gpu({{"HONE_GPU_SM", "100"}, {"HONE_GPU_NVRTC", "12.4"}});
  // The driver translates PTX of an earlier one.
  add_on_gpu(gpu_engine());
  auto nvrtc = jit::Nvrtc::open();
  REQUIRE(static_cast<bool>(nvrtc));
  jit::CudaSource source;
  source.kernels = "HONE_KERNEL(1) f(int) {}\n";
  const auto exact = nvrtc->compile(source, 100);
  REQUIRE_FALSE(static_cast<bool>(exact));
  CHECK(
      says(exact.failure(), ErrorCode::kUnsupported,
           "NVRTC 12.4 does not know sm_100; it compiles for sm_75, sm_80, sm_86, sm_89, sm_90."));
  const auto ptx = nvrtc->compile_for_later(source, 100);
  REQUIRE_MESSAGE(static_cast<bool>(ptx), ptx.failure().message);
  CHECK(ptx->cubin.empty());
  CHECK(ptx->ptx.find(".target sm_90") != std::string::npos);
  // One that is older than all is no one's.
  CHECK(nvrtc->compile_for_later(source, 70).failure().code == ErrorCode::kUnsupported);
}

TEST_CASE("device errors: out of memory") {
  const OnGpu gpu({{"HONE_GPU_MEMORY", "10000000"}});
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const DeviceBuffer held = device.allocate(4 << 20);
  CHECK(says(thrown([&] { device.allocate(int64_t{1} << 40); }), ErrorCode::kMemory, "in use"));
  CHECK(thrown([&] { device.allocate(8 << 20); }).code == ErrorCode::kMemory);
  CHECK(thrown([&] { device.allocate(-1); }).code == ErrorCode::kArgument);
  add_on_gpu(engine);
  Engine small({.target = "cuda", .cache = ":memory:", .memory_ceiling = 1 << 20});
  CHECK(says(thrown([&] { small.device().allocate(2 << 20); }), ErrorCode::kMemory, "allowed"));
}

TEST_CASE("device errors: a call that fails on the way leaves nothing behind") {
  const std::pair<const char*, int> calls[] = {{"cuModuleLoadDataEx", 999},
                                               {"cuModuleGetFunction", 500},
                                               {"cuMemAlloc_v2", 2},
                                               {"cuStreamSynchronize", 999},
                                               {"cuLaunchKernel", 701}};
  for (const auto& [symbol, error] : calls) {
    const std::string fail =
        symbol + (":" + std::to_string(OnGpu::count(symbol) + 1)) + ":" + std::to_string(error);
    const OnGpu gpu({{"HONE_GPU_FAIL", fail}});
    CHECK_MESSAGE(thrown([] { add_on_gpu(gpu_engine()); }).code != ErrorCode::kOk, fail);
    CHECK(OnGpu::count("live.bytes") <= 0);
    CHECK(OnGpu::count("live.modules") <= 0);
  }
  cpu_works();
}

TEST_CASE("device errors: a kernel that faults takes the context along") {
  const OnGpu gpu({{"HONE_GPU_FAULT", std::to_string(OnGpu::count("launches") + 1)}});
  {
    Engine engine = gpu_engine();
    Failure f = thrown([&] { add_on_gpu(engine); });
    CHECK(says(f, ErrorCode::kDevice, "add N=100 | cuda sm=90"));
    CHECK(f.message.find("a new one begins a context of its own") != std::string::npos);
    CHECK(says(thrown([&] { add_on_gpu(engine); }), ErrorCode::kDevice, "make a new engine"));
    CHECK(thrown([&] { engine.compile("add N=7"); }).code == ErrorCode::kDevice);
    cpu_works();
  }
  // The counter of launches goes on: only one was to fault.
  add_on_gpu(gpu_engine());
  CHECK(OnGpu::count("live.bytes") <= 0);
}

TEST_CASE("device errors: an engine opened after a fault outlives the one that had it") {
  const OnGpu gpu({{"HONE_GPU_FAULT", std::to_string(OnGpu::count("launches") + 1)}});
  std::optional<Engine> idle(gpu_engine()), faulted(gpu_engine());
  CHECK(thrown([&] { add_on_gpu(*faulted); }).code == ErrorCode::kDevice);
  // It resets the context that both of the others have.
  Engine engine = gpu_engine();
  const DeviceBuffer held = engine.device().allocate(100);
  CHECK(says(thrown([&] { add_on_gpu(*idle); }), ErrorCode::kDevice, "make a new engine"));
  faulted.reset();
  idle.reset();
  const std::vector<char> bytes(100, 'x');
  held.upload(bytes.data(), 100);
  add_on_gpu(engine);
}

TEST_CASE("device errors: a fault that shows when memory is freed") {
  const std::string fail = "cuMemFree_v2:" + std::to_string(OnGpu::count("cuMemFree_v2") + 1);
  const OnGpu gpu({{"HONE_GPU_FAIL", fail + ":719"}});
  Engine engine = gpu_engine();
  engine.device().allocate(100);
  CHECK(says(thrown([&] { engine.device().allocate(100); }), ErrorCode::kDevice,
             "freeing device memory"));
}

TEST_CASE("device errors: pointers that are not the device's, or not aligned as the kernel needs") {
  const OnGpu gpu({{"HONE_GPU_DEVICES", "2"}});
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("add N=4096");
  std::vector<float> host(4096, 1.0f);
  const DeviceBuffer a = device.upload(std::span(host)), y = device.allocate(5 * 4096);
  const TensorRef ta = a.tensor<float>({4096}), ty = y.tensor<float>({4096});
  CHECK(says(thrown([&] { k(host, ta, ty); }), ErrorCode::kArgument, "to the host's memory"));
  CHECK(says(thrown([&] { k(ta, ta, host); }), ErrorCode::kArgument, "to the host's memory"));
  const TensorRef odd(static_cast<float*>(y.data()) + 1, {4096});
  const Failure f = thrown([&] { k(ta, ta, odd); });
  // Only what the kernel counts on is asked for.
  if (f.code != ErrorCode::kOk) CHECK(says(f, ErrorCode::kArgument, "is not a multiple of"));
  Engine other({.target = "cuda", .cache = ":memory:", .gpu = 1});
  Kernel there = other.compile("add N=4096");
  CHECK(says(thrown([&] { there(ta, ta, ty); }), ErrorCode::kArgument,
             "is to memory of GPU 0; this engine works on GPU 1"));
}

TEST_CASE("device errors: more blocks than a grid has") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("add N=1..70000", {.schedule = "bind Y/i block.y"});
  const DeviceBuffer a = device.allocate(280000), y = device.allocate(280000);
  const std::vector<float> x(70000, 1.0f);
  a.upload(x.data(), 280000);
  const auto call = [&](int64_t n) {
    k(a.tensor<float>({n}), a.tensor<float>({n}), y.tensor<float>({n}));
  };
  CHECK(says(thrown([&] { call(70000); }), ErrorCode::kUnsupported,
             "a grid of 1 x 70000 x 1 blocks"));
  call(300);
  CHECK(says(thrown([&] {
               Engine({.target = "cuda", .cache = ":memory:"})
                   .compile("add N=5000", {.schedule = "bind Y/i thread.x"});
             }),
             ErrorCode::kSchedule, "1024"));
}

TEST_CASE("device errors: ranges of buffers") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const DeviceBuffer buffer = engine.device().allocate(100);
  char host[200] = {};
  CHECK(says(thrown([&] { buffer.upload(host, 101); }), ErrorCode::kArgument, "100 bytes"));
  CHECK(thrown([&] { buffer.download(host, 50, 51); }).code == ErrorCode::kArgument);
  CHECK(thrown([&] { buffer.download(host, -1); }).code == ErrorCode::kArgument);
  buffer.upload(host, 50, 50);
}
