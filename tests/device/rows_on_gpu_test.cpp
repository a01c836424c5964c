// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the rows of sm_90, with their known answers, on the GPU of this machine if it has
// one of that kind, and through the emulated driver and compiler.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/cuda/rows_kernels.h"
#include "tests/device/raw_driver.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

// Of the driver's ABI.
constexpr int kMajor = 75, kMinor = 76, kMostDynamic = 8;

/// A device with a driver and a compiler.
struct Gpu {
  RawDriver d;
  jit::Nvrtc nvrtc;
};

int swizzle_number(uint32_t bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

/// The tensor map that the driver makes; what it says otherwise.
int encode(const RawDriver& d, const emulation::TensorFacts& f, void* map) {
  constexpr uint32_t kOnes[] = {1, 1, 1, 1, 1};
  // Unsigned integers of 1, 2 and 4 bytes are the first types.
  return d.tensor_map(map, static_cast<int>(f.element / 2), f.rank,
                      reinterpret_cast<void*>(f.address), f.size, f.stride + 1, f.box, kOnes, 0,
                      swizzle_number(f.swizzle), 0, 0);
}

/// Runs a kernel; what is wrong, or "".
std::string run(const Gpu& gpu, const RowKernel& kernel) {
  const RawDriver& d = gpu.d;
  const auto binary = gpu.nvrtc.compile(source_of(kernel), 90);
  if (!binary) return binary.failure().message.substr(0, 2000);
  void *module = nullptr, *function = nullptr;
  uint64_t x = 0, y = 0, status = 0;
  const int64_t fine = INT64_MAX;
  int error = d.module_load(&module, binary->cubin.data(), 0, nullptr, nullptr);
  if (!error) error = d.module_function(&function, module, "kernel");
  if (!error) error = d.allocate(&x, kernel.x.size());
  if (!error) error = d.allocate(&y, kernel.answer.size());
  if (!error) error = d.allocate(&status, sizeof fine);
  if (!error) error = d.to_device(status, &fine, sizeof fine);
  if (!error) error = d.to_device(x, kernel.x.data(), kernel.x.size());
  Bytes result(kernel.answer.size(), 0xff);
  if (!error) error = d.to_device(y, result.data(), result.size());
  RowArgs args;
  args.slot[0] = static_cast<int64_t>(status);
  args.slot[2] = static_cast<int64_t>(x);
  args.slot[3] = static_cast<int64_t>(y);
  for (size_t m = 0; m < kernel.maps.size() && !error; ++m) {
    emulation::TensorFacts f = kernel.maps[m];
    f.address += static_cast<int>(m) == kernel.map_of_y ? y : x;
    if (f.rank) error = encode(d, f, args.map[m].words);
  }
  const auto dynamic = static_cast<unsigned>(kernel.dynamic_bytes);
  if (!error) error = d.function_set(function, kMostDynamic, static_cast<int>(dynamic));
  void* parameters[] = {&args};
  if (!error) {
    error = d.launch(function, static_cast<unsigned>(kernel.blocks), 1, 1,
                     static_cast<unsigned>(kernel.threads), 1, 1, dynamic, nullptr, parameters,
                     nullptr);
  }
  if (!error) error = d.context_synchronize();
  if (!error) error = d.to_host(result.data(), y, result.size());
  for (const uint64_t memory : {x, y, status}) d.free(memory);
  if (module) d.module_unload(module);
  return error ? "the driver's error " + std::to_string(error)
               : difference(result.data(), kernel.answer);
}

/// Those that HONE_TEST_ROWS=2/6 asks for, the third part of six; else all.
std::vector<RowKernel> part_asked_for(std::vector<RowKernel> all) {
  const char* asked = std::getenv("HONE_TEST_ROWS");
  size_t part = 0, of = 0;
  if (!asked || std::sscanf(asked, "%zu/%zu", &part, &of) != 2 || of == 0) return all;
  std::vector<RowKernel> out;
  for (size_t i = part; i < all.size(); i += of) out.push_back(std::move(all[i]));
  return out;
}

/// Every n-th of all kernels.
void check_all(const Gpu& gpu, size_t every) {
  void* context = nullptr;
  REQUIRE(gpu.d.context_retain(&context, 0) == 0);
  REQUIRE(gpu.d.context_use(context) == 0);
  std::vector<RowKernel> all = row_kernels();
  for (RowKernel& k : wgmma_kernels()) all.push_back(std::move(k));
  std::vector<RowKernel> some{matmul_kernel(), cluster_matmul_kernel()};
  for (size_t i = 0; i < all.size(); i += every) some.push_back(std::move(all[i]));
  some = part_asked_for(std::move(some));
  for (const RowKernel& k : some) {
    const std::string wrong = run(gpu, k);
    CHECK_MESSAGE(wrong.empty(), k.name << ": " << wrong);
    if (wrong.starts_with("the driver's error")) break;  // the context may be lost
  }
  gpu.d.context_use(nullptr);
  gpu.d.context_release(0);
}

}  // namespace

TEST_CASE("emulated gpu: kernels of rows of sm_90 through its driver") {
  const WithEnvironment with({"HONE_NVRTC=" + emulated_library("nvrtc"), "HONE_GPU_SM=90"});
  auto nvrtc = jit::Nvrtc::open();
  REQUIRE(static_cast<bool>(nvrtc));
  Gpu gpu{raw_driver(), *std::move(nvrtc)};
  REQUIRE(gpu.d.init(0) == 0);
  check_all(gpu, static_cast<size_t>(by_effort(60, 60, 20, 5)));
}

TEST_CASE("device: kernels of rows of sm_90 on the GPU of this machine") {
  auto driver = device_driver();
  auto nvrtc = jit::Nvrtc::open();
  int major = 0, minor = 0;
  if (driver && nvrtc) {
    driver->device_attribute(&major, kMajor, 0);
    driver->device_attribute(&minor, kMinor, 0);
  }
  if (major != 9 || minor != 0) {
    MESSAGE("skipped: no GPU of sm_90, with NVRTC, is here");
    return;
  }
  check_all({*driver, *std::move(nvrtc)}, 1);
}
