// SPDX-License-Identifier: Apache-2.0
// Steps of a model that run at the same time.
#include "runtime/model/waves.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "include/hone/model.h"
#include "runtime/model/model_state.h"

using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::NamedTensor;
using hone::runtime::form_waves;
using hone::runtime::StepCost;
using hone::runtime::Waves;

namespace {

Waves waves_of(const std::vector<std::vector<int>>& needs, const std::vector<StepCost>& costs,
               int threads = 2) {
  return form_waves(needs, [&](int i) { return costs[static_cast<size_t>(i)]; }, {threads, 1000});
}

/// Lookups of `tables` small tables, side by side.
std::string lookups(int tables) {
  std::string text =
      "op looked_up(T: f32[R,D], I: i32[N]) -> (Y: f32[N,D]) { Y[n,d] = T[I[n],d] }\n"
      "graph g(i: i32[N]";
  for (int t = 0; t < tables; ++t) text += ", t" + std::to_string(t) + ": f32[R,D]";
  text += ") -> (";
  for (int t = 0; t < tables; ++t) text += (t ? ", y" : "y") + std::to_string(t);
  text += ") {\n";
  for (int t = 0; t < tables; ++t) {
    const std::string n = std::to_string(t);
    text += "  y" + n + " = looked_up(t" + n + ", i)\n";
  }
  return text + "}\n";
}

}  // namespace

TEST_CASE("waves: what needs nothing of one another runs at the same time where that gains") {
  const StepCost small{50000, 60000}, even{200000, 400000};
  CHECK(waves_of({{}, {}, {0, 1}}, {small, small, small}) == Waves{{0, 1}, {2}});
  CHECK(waves_of({{}, {}, {0, 1}}, {small, small, small}, 1) == Waves{{0}, {1}, {2}});
  CHECK(waves_of({{}, {0}, {1}}, {small, small, small}) == Waves{{0}, {1}, {2}});
  // Both threads are busy with one anyway.
  CHECK(waves_of({{}, {}}, {even, even}) == Waves{{0}, {1}});
  // A long one would leave the other thread waiting.
  CHECK(waves_of({{}, {}}, {{200000, 390000}, {1000, 1000}}) == Waves{{0}, {1}});
  // Too short to wake a thread.
  CHECK(waves_of({{}, {}}, {{900, 900}, {900, 900}}) == Waves{{0}, {1}});
  // One that is not known runs by itself.
  CHECK(waves_of({{}, {}, {}}, {small, {INFINITY, INFINITY}, small}) == Waves{{0, 2}, {1}});
  // Neighbours are for one thread.
  const StepCost half{25000, 30000};
  CHECK(waves_of({{}, {}, {}}, {half, small, half}) == Waves{{1, 0, 2}});
  // One long step keeps no two others apart.
  CHECK(waves_of({{}, {}, {}}, {small, even, small}) == Waves{{0, 2}, {1}});
  // Chains go on before others begin, where memory is short.
  const StepCost large{50000, 60000, 400};
  CHECK(waves_of({{}, {0}, {}, {2}, {}, {4}}, {large, large, large, large, large, large}) ==
        Waves{{0, 2}, {1, 3}, {4}, {5}});
  // A later step is taken ahead, one that waits for a step of the wave is not.
  CHECK(waves_of({{}, {0}, {}, {2}}, {small, even, small, small}) == Waves{{0, 2}, {1}, {3}});
}

TEST_CASE("waves: lookups at the same time are the same as one by one") {
  constexpr int kTables = 6;
  constexpr int64_t kRows = 500, kWide = 64, kMany = 300;
  const std::string text = lookups(kTables);
  const std::string dims = "N=300 R=500 D=64";
  std::vector<std::vector<float>> tables(kTables, std::vector<float>(kRows * kWide));
  std::vector<int32_t> indices(kMany);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int32_t>(i * 7919 % kRows);
  float next = 0;
  for (auto& t : tables) {
    for (float& f : t) f = next += 0.25f;
  }
  std::vector<std::vector<float>> results[2];
  for (const int threads : {1, 3}) {
    Engine engine(hone::EngineOptions{.cache = ":memory:", .threads = threads});
    const Model model = engine.load_graph(text, ModelOptions{.dims = dims, .fuse = false});
    auto& made = results[threads > 1];
    made.assign(kTables, std::vector<float>(kMany * kWide, -1));
    std::vector<NamedTensor> in = {{"i", {static_cast<const int32_t*>(indices.data()), {kMany}}}};
    std::vector<NamedTensor> out;
    std::vector<std::string> names;
    for (int t = 0; t < kTables; ++t) names.push_back("t" + std::to_string(t));
    for (int t = 0; t < kTables; ++t) names.push_back("y" + std::to_string(t));
    for (size_t t = 0; t < kTables; ++t) {
      in.push_back({names[t], {static_cast<const float*>(tables[t].data()), {kRows, kWide}}});
      out.push_back({names[kTables + t], {made[t].data(), {kMany, kWide}}});
    }
    for (int round = 0; round < 20; ++round) CHECK(model.try_run(in, out));
    // Of those that fail the first one is told, whichever thread had it.
    indices[17] = kRows;
    const auto bad = model.try_run(in, out);
    CHECK(!bad);
    if (!bad) CHECK(bad.failure().code == hone::ErrorCode::kBounds);
    indices[17] = static_cast<int32_t>(17 * 7919 % kRows);
    CHECK(model.try_run(in, out));
  }
  CHECK(results[0] == results[1]);
}
