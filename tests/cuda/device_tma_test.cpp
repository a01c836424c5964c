// SPDX-License-Identifier: Apache-2.0
// Kernels that take tensor maps, called on the emulated GPU: streams, graphs, other tensors, other
// dims.
#include <doctest/doctest.h>

#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const char* kEncode = "cuTensorMapEncodeTiled";
constexpr int64_t kN = 48, kK = 40;

/// Blocks of 32 by 32 results; TMA copies of both factors, two deep.
constexpr const char* kSchedule =
    "split m 32 -> m.b m.t tail=pad; split n 32 -> n.b n.t tail=pad; split m.t 4 -> m.y m.r; "
    "reorder m.b n.b m.y n.t m.r; stage C at n.t -> acc in=registers; split acc/k 32 -> k.o k.i "
    "tail=pad; reorder k.o k.i acc/m; bind m.b block.y; bind n.b block.x; bind m.y thread.y; bind "
    "n.t thread.x; stage A at k.o -> As in=shared; stage B at k.o -> Bs in=shared; tma As; tma "
    "Bs; pipeline acc/k.o depth=2; specialize acc/k.o";

std::vector<float> counted(int64_t n, int start) {
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<float>((static_cast<int>(i) + start) % 7 - 3);
  return v;
}

/// Whether `c` is `a` times `b`.
bool is_product(const DeviceBuffer& c, const std::vector<float>& a, const std::vector<float>& b,
                int64_t m) {
  std::vector<float> got(static_cast<size_t>(m * kN));
  c.download(got.data(), m * kN * 4);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kK; ++k) {
        sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(k * kN + j)];
      }
      if (got[static_cast<size_t>(i * kN + j)] != sum) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("device tma: maps are made once for the same tensors, and anew for others") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("matmul M=1..70 N=48 K=40", {.schedule = kSchedule});
  CHECK_FALSE(k.report().interpreted);
  const DeviceStream one = device.stream(), two = device.stream();
  const auto a = counted(70 * kK, 0), b = counted(kK * kN, 2), other = counted(70 * kK, 4);
  const DeviceBuffer da = device.upload(std::span(a)), db = device.upload(std::span(b)),
                     doth = device.upload(std::span(other));
  const DeviceBuffer c = device.allocate(70 * kN * 4), d = device.allocate(70 * kN * 4);
  const auto call = [&](const DeviceStream& s, const DeviceBuffer& from, const DeviceBuffer& to,
                        int64_t m) {
    k.enqueue({s.handle(), {}, nullptr}, from.tensor<float>({m, kK}), db.tensor<float>({kK, kN}),
              to.tensor<float>({m, kN}));
  };
  call(one, da, c, 70);
  const long long made = OnGpu::count(kEncode);
  CHECK(made >= 2);
  call(one, da, c, 70);
  call(two, da, d, 70);  // the result has no map
  CHECK(OnGpu::count(kEncode) == made);
  k.wait(one.handle());
  k.wait(two.handle());
  CHECK(is_product(c, a, b, 70));
  CHECK(is_product(d, a, b, 70));
  call(two, doth, d, 70);
  CHECK(OnGpu::count(kEncode) == made + 2);
  call(one, doth, c, 33);
  CHECK(OnGpu::count(kEncode) == made + 4);
  k.wait(one.handle());
  k.wait(two.handle());
  CHECK(is_product(d, other, b, 70));
  CHECK(is_product(c, other, b, 33));
}

TEST_CASE("device tma: maps of rotating operands are kept, of as many sets as timing rotates") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("matmul M=8 N=48 K=40", {.schedule = kSchedule});
  const auto a = counted(8 * kK, 0), b = counted(kK * kN, 2);
  const DeviceBuffer db = device.upload(std::span(b)), c = device.allocate(8 * kN * 4);
  std::vector<DeviceBuffer> sets;
  for (int i = 0; i < 65; ++i) sets.push_back(device.upload(std::span(a)));
  const auto calls = [&](int from, int to) {
    const long long before = OnGpu::count(kEncode);
    for (int i = from; i < to; ++i) {
      k(sets[static_cast<size_t>(i)].tensor<float>({8, kK}), db.tensor<float>({kK, kN}),
        c.tensor<float>({8, kN}));
    }
    return OnGpu::count(kEncode) - before;
  };
  CHECK(calls(0, 64) == 2 * 64);
  CHECK(calls(0, 3) == 0);
  CHECK(is_product(c, a, b, 8));
  // One more than are kept: what was not asked for longest goes.
  CHECK(calls(64, 65) == 2);
  CHECK(calls(0, 3) == 0);
  CHECK(calls(3, 4) == 2);
}

TEST_CASE("device tma: graphs keep the maps of their calls") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("matmul M=40 N=48 K=40", {.schedule = kSchedule});
  const auto a = counted(40 * kK, 1), other = counted(40 * kK, 3), b = counted(kK * kN, 2);
  const DeviceBuffer da = device.upload(std::span(a)), db = device.upload(std::span(b)),
                     doth = device.upload(std::span(other)), c = device.allocate(40 * kN * 4);
  DeviceGraph graph = device.graph();
  const int first = graph.add(k, da.tensor<float>({40, kK}), db.tensor<float>({kK, kN}),
                              c.tensor<float>({40, kN}));
  const DeviceStream stream = device.stream();
  graph.launch(stream.handle());
  stream.synchronize();
  CHECK(is_product(c, a, b, 40));
  graph.set(first, k, doth.tensor<float>({40, kK}), db.tensor<float>({kK, kN}),
            c.tensor<float>({40, kN}));
  graph.launch(stream.handle());
  stream.synchronize();
  CHECK(is_product(c, other, b, 40));
}

TEST_CASE("device tma: a map that the driver does not make is an error, and the next call runs") {
  const OnGpu before;
  gpu_engine();
  const std::string refused = std::to_string(OnGpu::count(kEncode) + 1);
  const OnGpu gpu({{"HONE_GPU_FAIL", std::string(kEncode) + ":" + refused + ":1"}});
  Engine engine = gpu_engine();
  const Device device = engine.device();
  Kernel k = engine.compile("matmul M=40 N=48 K=40", {.schedule = kSchedule});
  const auto a = counted(40 * kK, 1), b = counted(kK * kN, 2);
  const DeviceBuffer da = device.upload(std::span(a)), db = device.upload(std::span(b)),
                     c = device.allocate(40 * kN * 4);
  const auto call = [&] {
    k(da.tensor<float>({40, kK}), db.tensor<float>({kK, kN}), c.tensor<float>({40, kN}));
  };
  std::string said;
  try {
    call();
  } catch (const Error& e) {
    said = e.what();
  }
  CHECK_MESSAGE(said.find("describing a tensor") != std::string::npos, said);
  call();
  CHECK(is_product(c, a, b, 40));
}

TEST_CASE("device tma: blocks that run in clusters") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  const std::string clusters = std::string(kSchedule) + "; cluster m.b 2";
  Kernel k = engine.compile("matmul M=40 N=48 K=40", {.schedule = clusters});
  CHECK_FALSE(k.report().interpreted);
  const auto a = counted(40 * kK, 1), b = counted(kK * kN, 2);
  const DeviceBuffer da = device.upload(std::span(a)), db = device.upload(std::span(b)),
                     c = device.allocate(40 * kN * 4);
  k(da.tensor<float>({40, kK}), db.tensor<float>({kK, kN}), c.tensor<float>({40, kN}));
  CHECK(is_product(c, a, b, 40));
}

TEST_CASE("device tma: as many clusters as the call has rows for") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const Device device = engine.device();
  // Two tiles for each 32 rows, side by side in a cluster.
  std::string by_rows = kSchedule;
  const std::string grid = "bind m.b block.y; bind n.b block.x";
  by_rows.replace(by_rows.find(grid), grid.size(), "fuse m.b n.b -> t; bind t block.x");
  Kernel k = engine.compile("matmul M=1..200 N=48 K=40", {.schedule = by_rows + "; cluster t 2"});
  CHECK_FALSE(k.report().interpreted);
  const auto b = counted(kK * kN, 2);
  const DeviceBuffer db = device.upload(std::span(b));
  for (const int64_t m : {70, 1, 32, 200}) {
    const auto a = counted(m * kK, 1);
    const DeviceBuffer da = device.upload(std::span(a)), c = device.allocate(m * kN * 4);
    k(da.tensor<float>({m, kK}), db.tensor<float>({kK, kN}), c.tensor<float>({m, kN}));
    CHECK(is_product(c, a, b, m));
  }
}
