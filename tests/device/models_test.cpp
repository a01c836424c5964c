// SPDX-License-Identifier: Apache-2.0
// Whole models on a GPU, the machine's own or the emulated one, against the same on this CPU.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "include/hone/hone.h"
#include "tests/device/device_call.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const char* kMixed =
    "op pick(T: f32[R,D], ids: i32[N]) -> (Y: f32[N,D]) { Y[i,d] = T[ids[i],d] }\n"
    "graph mixed(ids: i32[B], const t: f32[50,64], const w: f32[64,96], const b: f32[96],\n"
    "            const v: f32[96,40]) -> (y: f32[B,40]) {\n"
    "  x = pick(t, ids)\n"
    "  h = fc(x, w, b)\n"
    "  g = gelu(h)\n"
    "  z = matmul(g, v)\n"
    "  y = softmax(z)\n"
    "}\n";

std::vector<float> waves(size_t n, float step, float scale) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * std::sin(step * static_cast<float>(i));
  return v;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - b[i]));
  return most;
}

}  // namespace

TEST_CASE("device: a model by copies, in a stream and as a graph") {
  if (!choose_device()) return;
  const std::vector<float> t = waves(50 * 64, 0.7f, 1), w = waves(64 * 96, 1.3f, 0.2f),
                           b = waves(96, 0.4f, 1), v = waves(96 * 40, 0.9f, 0.3f);
  const ModelOptions options{.dims = "B=1..33",
                             .weights = {{"t", {t.data(), {50, 64}}},
                                         {"w", {w.data(), {64, 96}}},
                                         {"b", {b.data(), {96}}},
                                         {"v", {v.data(), {96, 40}}}}};
  Engine host(EngineOptions{.cache = ":memory:", .threads = 1});
  Engine engine(EngineOptions{.target = "cuda", .cache = ":memory:"});
  const Model right = host.load_graph(kMixed, options), model = engine.load_graph(kMixed, options);
  const Device device = engine.device();
  const DeviceStream stream = device.stream();
  for (const int64_t rows : {int64_t{33}, int64_t{1}, int64_t{20}}) {
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7 % 50);
    std::vector<float> want(ids.size() * 40), got(want.size());
    const NamedTensor in[] = {{"ids", {ids.data(), {rows}}}};
    right.run(in, std::vector<NamedTensor>{{"y", {want.data(), {rows, 40}}}});
    model.run(in, std::vector<NamedTensor>{{"y", {got.data(), {rows, 40}}}});
    CHECK(largest_difference(got, want) < 1e-5);
    const DeviceBuffer there = device.upload(std::span(ids));
    const int64_t bytes = rows * 40 * 4;
    const DeviceBuffer one = device.allocate(bytes), two = device.allocate(bytes);
    for (const DeviceBuffer* y : {&one, &one, &two, &one}) {
      const NamedTensor given[] = {{"ids", there.tensor<int32_t>({rows})}};
      const NamedTensor made[] = {{"y", y->tensor<float>({rows, 40})}};
      EnqueueOptions where;
      where.stream = stream.handle();
      model.enqueue(given, made, where);
      model.wait(where.stream);
      std::fill(got.begin(), got.end(), -1.0f);
      y->download(got.data(), bytes);
      CHECK(largest_difference(got, want) < 1e-5);
      const std::vector<char> zero(static_cast<size_t>(bytes));
      y->upload(zero.data(), bytes);
    }
  }
  std::vector<int32_t> bad(4, 50);
  std::vector<float> y(160);
  const NamedTensor in[] = {{"ids", {bad.data(), {4}}}};
  const auto told = model.try_run(in, std::vector<NamedTensor>{{"y", {y.data(), {4, 40}}}});
  REQUIRE_FALSE(static_cast<bool>(told));
  CHECK(told.failure().code == ErrorCode::kBounds);
}
