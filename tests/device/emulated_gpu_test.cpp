// SPDX-License-Identifier: Apache-2.0
//
// The emulated GPU itself: that it does what a driver does, and says what a driver says.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

#include "tests/device/raw_driver.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr int kElements = 256;

/// Y = 2 * X by blocks of 64 threads; slots as the project's kernels have them.
constexpr const char* kTwice = R"(struct Args { i64 slot[4]; };
HONE_KERNEL(64) twice(const Args args) {
  if (*(const i64*)args.slot[0] != 9223372036854775807ll) return;
  HONE_GLOBAL(const float, X, args.slot[2], 256);
  HONE_GLOBAL(float, Y, args.slot[3], 256);
  const i32 t = (i32)blockIdx.x * 64 + (i32)threadIdx.x;
  Y[t] = X[t] * 2.0f;
}
)";

jit::Nvrtc compiler() {
  const WithEnvironment with({"HONE_NVRTC=" + emulated_library("nvrtc")});
  auto opened = jit::Nvrtc::open();
  REQUIRE_MESSAGE(static_cast<bool>(opened), opened.failure().message);
  return *std::move(opened);
}

jit::CudaBinary compiled(const std::string& kernels, int sm = 90) {
  jit::CudaSource source;
  source.kernels = kernels;
  auto binary = compiler().compile(source, sm);
  REQUIRE_MESSAGE(static_cast<bool>(binary), binary.failure().message);
  return *std::move(binary);
}

/// A context with what the kernel above needs.
struct Bench {
  explicit Bench(const std::vector<std::string>& variables = {}, int device = 0)
      : with(variables), d(raw_driver()), device(device) {
    REQUIRE(d.init(0) == kSuccess);
    REQUIRE(d.context_retain(&context, device) == kSuccess);
    REQUIRE(d.context_use(context) == kSuccess);
  }
  ~Bench() {
    d.context_use(nullptr);
    d.context_release(device);
  }

  uint64_t allocate(size_t bytes) {
    uint64_t out = 0;
    REQUIRE(d.allocate(&out, bytes) == kSuccess);
    return out;
  }
  void* load(const jit::CudaBinary& binary, const char* name = "twice") {
    void* module = nullptr;
    void* function = nullptr;
    REQUIRE(d.module_load(&module, binary.cubin.data(), 0, nullptr, nullptr) == kSuccess);
    REQUIRE(d.module_function(&function, module, name) == kSuccess);
    return function;
  }
  void fill(uint64_t x, float value) {
    std::array<float, kElements> host;
    host.fill(value);
    REQUIRE(d.to_device(x, host.data(), sizeof host) == kSuccess);
  }
  /// Slots for the kernel: status, workspace, X and Y.
  std::array<int64_t, 4> slots(uint64_t x, uint64_t y) {
    const int64_t fine = INT64_MAX;
    const uint64_t status = allocate(8);
    REQUIRE(d.to_device(status, &fine, 8) == kSuccess);
    return {static_cast<int64_t>(status), 0, static_cast<int64_t>(x), static_cast<int64_t>(y)};
  }
  int launch(void* function, std::array<int64_t, 4> slots, void* stream, unsigned blocks = 4,
             unsigned threads = 64) {
    void* parameters[] = {slots.data()};
    return d.launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }
  float first(uint64_t y) {
    std::array<float, kElements> host{};
    REQUIRE(d.to_host(host.data(), y, sizeof host) == kSuccess);
    for (const float v : host) CHECK(v == host[0]);
    return host[0];
  }

  WithEnvironment with;
  RawDriver d;
  int device;
  void* context = nullptr;
};

}  // namespace

TEST_CASE("emulated gpu: a kernel compiled, loaded, launched") {
  Bench b;
  const jit::CudaBinary binary = compiled(kTwice);
  CHECK(binary.ptx.find(".target sm_90") != std::string::npos);
  void* const twice = b.load(binary);
  const uint64_t x = b.allocate(4 * kElements), y = b.allocate(4 * kElements);
  b.fill(x, 21);
  void* stream = nullptr;
  REQUIRE(b.d.stream_create(&stream, 1) == kSuccess);
  REQUIRE(b.launch(twice, b.slots(x, y), stream) == kSuccess);
  REQUIRE(b.d.stream_synchronize(stream) == kSuccess);
  CHECK(b.first(y) == 42);
  CHECK(b.d.count("live.modules") == 1);
  int threads = 0;
  CHECK(b.d.function_attribute(&threads, 0, twice) == kSuccess);
  CHECK(threads == 64);
}

TEST_CASE("emulated gpu: PTX loads where the driver is new enough") {
  const jit::CudaBinary binary = compiled(kTwice);
  void* module = nullptr;
  {
    Bench b;
    CHECK(b.d.module_load(&module, binary.ptx.c_str(), 0, nullptr, nullptr) == kSuccess);
  }
  Bench old({"HONE_GPU_DRIVER=12040", "HONE_GPU_QUIET=1"});
  CHECK(old.d.module_load(&module, binary.ptx.c_str(), 0, nullptr, nullptr) ==
        kUnsupportedPtxVersion);
}

TEST_CASE("emulated gpu: binaries are of one major version") {
  const jit::CudaBinary binary = compiled(kTwice, 80);
  void* module = nullptr;
  const auto load_on = [&](const char* sm) {
    Bench b({std::string("HONE_GPU_SM=") + sm, "HONE_GPU_QUIET=1"});
    return b.d.module_load(&module, binary.cubin.data(), 0, nullptr, nullptr);
  };
  CHECK(load_on("80") == kSuccess);
  CHECK(load_on("86") == kSuccess);
  CHECK(load_on("75") == kNoBinaryForGpu);
  CHECK(load_on("90") == kNoBinaryForGpu);
}

TEST_CASE("emulated gpu: the compiler's errors name the line of the source") {
  jit::CudaSource source;
  source.kernels =
      "struct Args { i64 slot[2]; };\nHONE_KERNEL(1) f(const Args args) {\n  x = 1;\n}\n";
  const auto made = compiler().compile(source, 90);
  REQUIRE_FALSE(static_cast<bool>(made));
  const std::string prelude = jit::cuda_prelude();
  const auto line = std::count(prelude.begin(), prelude.end(), '\n') + 3;
  const std::string place = "kernels.cu(" + std::to_string(line) + "): error: ";
  CHECK_MESSAGE(made.failure().message.find(place) != std::string::npos, made.failure().message);
}

TEST_CASE("emulated gpu: independent streams run in any order, dependent ones in theirs") {
  const jit::CudaBinary binary = compiled(kTwice);
  int missed = 0;
  for (int seed = 1; seed <= 12; ++seed) {
    Bench b({"HONE_GPU_SEED=" + std::to_string(seed)});
    void* const twice = b.load(binary);
    const uint64_t x = b.allocate(4 * kElements), y = b.allocate(4 * kElements),
                   z = b.allocate(4 * kElements);
    b.fill(x, 1), b.fill(y, 0), b.fill(z, 0);
    void *one = nullptr, *two = nullptr, *event = nullptr;
    REQUIRE(b.d.stream_create(&one, 1) == kSuccess);
    REQUIRE(b.d.stream_create(&two, 1) == kSuccess);
    REQUIRE(b.d.event_create(&event, 2) == kSuccess);
    const auto xy = b.slots(x, y), yz = b.slots(y, z);
    REQUIRE(b.launch(twice, xy, one) == kSuccess);
    const bool waits = seed % 2 == 0;
    if (waits) {
      REQUIRE(b.d.event_record(event, one) == kSuccess);
      REQUIRE(b.d.stream_wait(two, event, 0) == kSuccess);
    }
    REQUIRE(b.launch(twice, yz, two) == kSuccess);
    REQUIRE(b.d.context_synchronize() == kSuccess);
    if (waits) {
      CHECK(b.first(z) == 4);
    } else {
      missed += b.first(z) != 4;
    }
  }
  CHECK(missed > 0);
}

TEST_CASE("emulated gpu: events tell time, and readiness") {
  Bench b;
  void *from = nullptr, *to = nullptr;
  float ms = -1;
  REQUIRE(b.d.event_create(&from, 0) == kSuccess);
  REQUIRE(b.d.event_create(&to, 0) == kSuccess);
  CHECK(b.d.event_elapsed(&ms, from, to) == kInvalidHandle);
  REQUIRE(b.d.event_record(from, nullptr) == kSuccess);
  REQUIRE(b.d.event_record(to, nullptr) == kSuccess);
  int asked = 0;
  while (b.d.event_query(to) == kNotReady && ++asked < 1000000) std::this_thread::yield();
  CHECK(b.d.event_elapsed(&ms, from, to) == kSuccess);
  CHECK(ms >= 0);
}

TEST_CASE("emulated gpu: graphs run their launches in order, with new arguments too") {
  Bench b;
  void* const twice = b.load(compiled(kTwice));
  const uint64_t x = b.allocate(4 * kElements), y = b.allocate(4 * kElements),
                 z = b.allocate(4 * kElements);
  b.fill(x, 3);
  auto xy = b.slots(x, y), yz = b.slots(y, z), zy = b.slots(z, y);
  void *graph = nullptr, *first = nullptr, *second = nullptr, *ready = nullptr;
  REQUIRE(b.d.graph_create(&graph, 0) == kSuccess);
  void* parameters[] = {xy.data()};
  KernelNode node{twice, {4, 1, 1}, {64, 1, 1}, 0, parameters, nullptr};
  REQUIRE(b.d.graph_add_kernel(&first, graph, nullptr, 0, &node) == kSuccess);
  parameters[0] = yz.data();
  REQUIRE(b.d.graph_add_kernel(&second, graph, &first, 1, &node) == kSuccess);
  REQUIRE(b.d.graph_instantiate(&ready, graph, 0) == kSuccess);
  REQUIRE(b.d.graph_destroy(graph) == kSuccess);
  REQUIRE(b.d.graph_launch(ready, nullptr) == kSuccess);
  CHECK(b.first(z) == 12);
  // x -> y, then z -> y: the second decides.
  parameters[0] = zy.data();
  REQUIRE(b.d.graph_set_kernel(ready, second, &node) == kSuccess);
  REQUIRE(b.d.graph_launch(ready, nullptr) == kSuccess);
  CHECK(b.first(y) == 24);
  CHECK(b.d.graph_executable_destroy(ready) == kSuccess);
}

TEST_CASE("emulated gpu: what is wrong with a launch is said at once") {
  Bench b({"HONE_GPU_QUIET=1"});
  void* const twice = b.load(compiled(kTwice));
  const uint64_t x = b.allocate(4 * kElements);
  auto slots = b.slots(x, x);
  void* parameters[] = {slots.data()};
  const auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned bz, unsigned shared) {
    return b.d.launch(twice, gx, gy, 1, bx, 1, bz, shared, nullptr, parameters, nullptr);
  };
  CHECK(launch(0, 1, 64, 1, 0) == kInvalidValue);
  CHECK(launch(1, 65536, 64, 1, 0) == kInvalidValue);
  CHECK(launch(1, 1, 2048, 1, 0) == kInvalidValue);
  CHECK(launch(1, 1, 1, 65, 0) == kInvalidValue);
  CHECK(launch(1, 1, 128, 1, 0) == kInvalidValue);     // compiled for 64
  CHECK(launch(1, 1, 64, 1, 50000) == kInvalidValue);  // past what needs no asking
  CHECK(b.d.function_set(twice, 8, 230000 + 4096) == kInvalidValue);
  CHECK(b.d.function_set(twice, 8, 100000) == kSuccess);
  CHECK(launch(1, 1, 64, 1, 50000) == kSuccess);
  CHECK(b.d.launch(&slots, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr) == kInvalidHandle);
}

TEST_CASE("emulated gpu: touching what is not there breaks the context") {
  const jit::CudaBinary binary = compiled(kTwice);
  enum Wrong { kFreed, kShort, kHost, kNull, kAsked };
  for (const Wrong wrong : {kFreed, kShort, kHost, kNull, kAsked}) {
    CAPTURE(static_cast<int>(wrong));
    Bench b({"HONE_GPU_QUIET=1", "HONE_GPU_FAULT=0"});
    void* const twice = b.load(binary);
    uint64_t x = b.allocate(4 * kElements);
    const uint64_t y = b.allocate(wrong == kShort ? 4 * kElements - 4 : 4 * kElements);
    std::array<float, kElements> host{};
    if (wrong == kFreed) REQUIRE(b.d.free(x) == kSuccess);
    if (wrong == kHost) x = reinterpret_cast<uint64_t>(host.data());
    if (wrong == kNull) x = 0;
    const auto slots = b.slots(x, y);
    if (wrong == kAsked) {
      const WithEnvironment with({"HONE_GPU_FAULT=" + std::to_string(b.d.count("launches") + 1)});
      REQUIRE(b.d.init(0) == kSuccess);
      REQUIRE(b.launch(twice, slots, nullptr) == kSuccess);
    } else {
      REQUIRE(b.launch(twice, slots, nullptr) == kSuccess);
    }
    CHECK(b.d.context_synchronize() == kIllegalAddress);
    uint64_t more = 0;
    CHECK(b.d.allocate(&more, 16) == kIllegalAddress);
  }
  Bench again;
  CHECK(again.d.context_synchronize() == kSuccess);
}

TEST_CASE("emulated gpu: memory") {
  Bench b({"HONE_GPU_MEMORY=100000", "HONE_GPU_QUIET=1"});
  uint64_t much = 0, start = 0;
  size_t free = 0, total = 0;
  CHECK(b.d.allocate(&much, 100001) == kOutOfMemory);
  const uint64_t x = b.allocate(60000);
  CHECK(x % 256 == 0);
  CHECK(b.d.memory_info(&free, &total) == kSuccess);
  CHECK(free == 40000);
  CHECK(b.d.allocate(&much, 60000) == kOutOfMemory);
  unsigned type = 0;
  CHECK(b.d.pointer_attribute(&type, 2, x + 100) == kSuccess);
  CHECK(type == 2);
  CHECK(b.d.pointer_attribute(&start, 11, x + 100) == kSuccess);
  CHECK(start == x);
  CHECK(b.d.pointer_attribute(&type, 2, reinterpret_cast<uint64_t>(&type)) == kInvalidValue);
  char byte = 0;
  CHECK(b.d.to_host(&byte, x + 59999, 1) == kSuccess);
  CHECK(b.d.to_host(&byte, x + 60000, 1) == kInvalidValue);
  CHECK(b.d.free(x + 1) == kInvalidValue);
  CHECK(b.d.free(x) == kSuccess);
  CHECK(b.d.free(x) == kInvalidValue);
  CHECK(b.d.pointer_attribute(&type, 2, x) == kInvalidValue);
  CHECK(b.d.count("live.allocations") == 0);
}

TEST_CASE("emulated gpu: a launch that never ends holds up what comes after it, and nothing else") {
  Bench b;
  void* const twice = b.load(compiled(kTwice));
  const uint64_t x = b.allocate(4 * kElements), y = b.allocate(4 * kElements);
  b.fill(x, 1);
  const auto slots = b.slots(x, y);
  void *one = nullptr, *two = nullptr;
  REQUIRE(b.d.stream_create(&one, 1) == kSuccess);
  REQUIRE(b.d.stream_create(&two, 1) == kSuccess);
  {
    const WithEnvironment with({"HONE_GPU_HANG=" + std::to_string(b.d.count("launches") + 1)});
    REQUIRE(b.d.init(0) == kSuccess);
    REQUIRE(b.launch(twice, slots, one) == kSuccess);
  }
  REQUIRE(b.launch(twice, slots, two) == kSuccess);
  CHECK(b.d.stream_synchronize(two) == kSuccess);
  for (int i = 0; i < 100; ++i) CHECK(b.d.stream_query(one) == kNotReady);
}

TEST_CASE("emulated gpu: devices, errors and injected failures") {
  {
    Bench b({"HONE_GPU_DEVICES=2", "HONE_GPU_SM=75,90"}, 1);
    int count = 0, major = 0;
    CHECK(b.d.device_count(&count) == kSuccess);
    CHECK(count == 2);
    CHECK(b.d.device_attribute(&major, 75, 0) == kSuccess);
    CHECK(major == 7);
    CHECK(b.d.device_attribute(&major, 75, 1) == kSuccess);
    CHECK(major == 9);
    CHECK(b.d.device(&count, 2) == kInvalidDevice);
  }
  const RawDriver d = raw_driver();
  {
    const WithEnvironment none({"HONE_GPU_DEVICES=0"});
    CHECK(d.init(0) == kNoDevice);
  }
  const WithEnvironment with({"HONE_GPU_FAIL=cuDeviceGetCount:" +
                              std::to_string(d.count("cuDeviceGetCount") + 2) + ":999"});
  CHECK(d.init(0) == kSuccess);
  int count = 0;
  CHECK(d.device_count(&count) == kSuccess);
  CHECK(d.device_count(&count) == kUnknownError);
  CHECK(d.device_count(&count) == kSuccess);
  const char* text = nullptr;
  CHECK(d.error_name(700, &text) == kSuccess);
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(d.error_name(12345, &text) == kInvalidValue);
}
