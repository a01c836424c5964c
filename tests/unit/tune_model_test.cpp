// SPDX-License-Identifier: Apache-2.0
// Tuning a model: its kernels share a budget, and the next load takes what was found.
#include "runtime/model/tune_model.h"

#include <doctest/doctest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "include/hone/hone.h"

using hone::Engine;
using hone::Model;
using hone::ModelOptions;

TEST_CASE("model: equal kernels are tuned once, within one budget, and loaded again") {
  Engine engine(hone::EngineOptions{.cache = ":memory:", .threads = 1});
  const std::string text =
      "graph g(x: f32[64,64], const w: f32[64,64]) -> (y: f32[64,64]) {\n"
      "  a = matmul(x, w)\n"
      "  b = matmul(a, w)\n"
      "  c = matmul(b, w)\n"
      "  y = softmax(c)\n"
      "}";
  std::vector<float> w(64 * 64, 0.01f);
  const ModelOptions options{.weights = {{"w", {w.data(), {64, 64}}}}};
  const Model model = engine.load_graph(text, options);
  CHECK(model.steps().size() == 4);
  const auto begin = std::chrono::steady_clock::now();
  const auto results =
      engine.tune(model, hone::TuneOptions{.budget = std::chrono::milliseconds(2000)});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  CHECK(spent.count() < 20);
  REQUIRE(results.size() == 2);
  for (const hone::TuneResult& r : results) {
    CHECK(r.time_us > 0);
    CHECK(r.trials > 0);
  }
  const Model tuned = engine.load_graph(text, options);
  for (const hone::ModelStep& step : tuned.steps()) {
    CHECK(step.kernel.source() == hone::Source::kTuned);
  }
}

TEST_CASE("model: tuning tries other plans, and the next load takes what it found") {
  auto engine = *hone::runtime::EngineState::create({.cache = ":memory:", .threads = 1});
  const auto graph = *hone::ops::parse_graph(
      "graph g(x: f32[256,64]) -> (y) { a = relu(x); b = softmax(a); c = tanh(b); y = softmax(c) "
      "}");
  const auto model = *hone::runtime::ModelState::load(*engine, graph, ModelOptions());
  const auto tuned = hone::runtime::tune_model(
      *engine, *model, hone::TuneOptions{.budget = std::chrono::milliseconds(4000)});
  REQUIRE(tuned);
  CHECK(!tuned->changes.empty());
  bool taken = false;
  for (const hone::runtime::TriedChange& c : tuned->changes) {
    CHECK(c.gone_us > 0);
    CHECK(c.come_us > 0);
    CHECK(c.taken == (c.come_us < 0.97 * c.gone_us));
    taken |= c.taken;
  }
  CHECK(taken == (tuned->plan != model->plan));
  const auto next = *hone::runtime::ModelState::load(*engine, graph, ModelOptions());
  CHECK(next->plan == tuned->plan);
  CHECK(next->calls.size() == tuned->kernels.size());
  for (const hone::runtime::ModelCall& call : next->calls) {
    CHECK(call.kernel->source == hone::Source::kTuned);
  }
}

TEST_CASE("model: tuning that is stopped keeps what it measured") {
  auto engine = *hone::runtime::EngineState::create({.cache = ":memory:", .threads = 1});
  const auto graph = *hone::ops::parse_graph(
      "graph g(x: f32[64,64]) -> (y) { a = relu(x); b = softmax(a); y = matmul(b, x) }");
  const auto model = *hone::runtime::ModelState::load(*engine, graph, ModelOptions());
  std::stop_source stop;
  hone::TuneOptions options{.budget = std::chrono::seconds(20)};
  options.stop = stop.get_token();
  const auto tuned = hone::runtime::tune_model(
      *engine, *model, options, [&](const hone::runtime::TunedKernel&) { stop.request_stop(); });
  REQUIRE(tuned);
  CHECK(tuned->kernels.size() == 1);
  CHECK(tuned->kernels[0].result.time_us > 0);
  // Of a plan in part there is no record.
  CHECK(engine->cache->good(model->key).empty());
  const auto none = hone::runtime::tune_model(*engine, *model, options);
  CHECK((none || none.failure().code == hone::ErrorCode::kCancelled));
}

TEST_CASE("model: tuning without a budget does its trials, and tries no plans") {
  auto engine = *hone::runtime::EngineState::create({.cache = ":memory:", .threads = 1});
  const auto graph =
      *hone::ops::parse_graph("graph g(x: f32[64,64]) -> (y) { a = softmax(x); y = softmax(a) }");
  for (const bool fuse : {true, false}) {
    const auto model = *hone::runtime::ModelState::load(*engine, graph, ModelOptions{.fuse = fuse});
    const auto tuned = hone::runtime::tune_model(
        *engine, *model,
        hone::TuneOptions{.budget = std::chrono::milliseconds(0), .trials = 3, .again = true});
    REQUIRE(tuned);
    CHECK(tuned->changes.empty());
    for (const hone::runtime::TunedKernel& k : tuned->kernels) {
      CHECK(k.result.end == hone::TuneEnd::kTrials);
    }
  }
}
