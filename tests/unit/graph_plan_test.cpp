// SPDX-License-Identifier: Apache-2.0
// Plans of graphs: which nodes share a kernel, and the orders of values in memory, as text.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "include/hone/hone.h"
#include "include/hone/model.h"
#include "ops/graph/fuse.h"
#include "ops/graph/plan.h"
#include "runtime/model/model_state.h"
#include "runtime/model/plan_changes.h"
#include "runtime/model/plan_record.h"

using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::ops::Graph;
using hone::ops::GraphGroups;

namespace {

const char* const kNet =
    "graph net(x: f32[1,8,12,12], const f: f32[8,8,3,3], const b: f32[8]) -> (y) {\n"
    "  a = conv2d<S=1, P=1>(x, f, b)\n"
    "  c = relu(a)\n"
    "  d = conv2d<S=1, P=1>(c, f, b)\n"
    "  y = add(d, c)\n"
    "}";

Graph net() {
  auto graph = hone::ops::parse_graph(kNet);
  REQUIRE_MESSAGE(graph, graph.failure().message);
  return *std::move(graph);
}

std::string again(const std::string& plan) {
  Graph graph = net();
  const auto groups = hone::ops::parse_plan(plan, {}, graph);
  return groups ? hone::ops::print_plan(graph, *groups) : groups.failure().message;
}

std::vector<float> filled(size_t n, float scale) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = scale * static_cast<float>(static_cast<int>(i % 17) - 8);
  return out;
}

/// The result of the net by a plan.
std::vector<float> result_of(Engine& engine, const std::string& plan, size_t* steps = nullptr) {
  const std::vector<float> x = filled(8 * 144, 0.1f), f = filled(8 * 8 * 9, 0.05f),
                           b = filled(8, 0.2f);
  const Model model = engine.load_graph(
      kNet, ModelOptions{.weights = {{"f", {f.data(), {8, 8, 3, 3}}}, {"b", {b.data(), {8}}}},
                         .plan = plan});
  if (!plan.empty()) CHECK(model.plan() == plan);
  if (steps) *steps = model.steps().size();
  std::vector<float> y(8 * 144);
  model({{"x", {x.data(), {1, 8, 12, 12}}}}, {{"y", {y.data(), {1, 8, 12, 12}}}});
  return y;
}

void check_near(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  CHECK(most < 1e-4f);
}

}  // namespace

TEST_CASE("graph plan: a text is of one graph, in an order that can run") {
  for (const char* plan : {"a c d y", "a+c d+y", "a+c+d+y", "a c d y | a@0,2,3,1 c@3,2,1,0"}) {
    CHECK(again(plan) == plan);
  }
  const auto refuses = [](const char* plan, const char* why) {
    CHECK_MESSAGE(again(plan).find(why) != std::string::npos, again(plan));
  };
  refuses("a+c d", "y[i0,i1,i2,i3] = add(d,c)` is missing");
  refuses("a+c d+y a", "`a` comes twice");
  refuses("d+y a+c", "`d+y` reads `c`, which is made later");
  refuses("a+c d+y+z", "no node has `z` for its first result");
  refuses("x a+c d+y", "no node has `x`");
  refuses("a c d y | y@0,2,3,1", "no order of a value whose order is free");
  refuses("a c d y | a@0,2,3", "each of 4 dims comes once");
  refuses("a c d y | a@0,2,2,1", "each of 4 dims comes once");
  refuses("a c d y | a", "no order of a value");
}

TEST_CASE("graph plan: a model runs by the plan that it is given, with the same results") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  size_t steps = 0;
  const std::vector<float> expected = result_of(engine, "a c d y", &steps);
  CHECK(steps == 4);
  const std::pair<const char*, size_t> plans[] = {
      {"a+c d+y", 2}, {"a+c+d+y", 1}, {"a c d y | a@0,2,3,1 c@3,2,1,0", 4}};
  for (const auto& [plan, kernels] : plans) {
    check_near(result_of(engine, plan, &steps), expected);
    CHECK(steps == kernels);
  }
  check_near(result_of(engine, ""), expected);
  const auto wrong = engine.try_load_graph(kNet, ModelOptions{.plan = "a c"});
  CHECK(!wrong);
}

TEST_CASE("graph plan: changes cut, join and turn, and each can run") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  auto state = hone::runtime::EngineState::create({.cache = ":memory:", .threads = 1});
  REQUIRE(state);
  const std::vector<hone::ir::Dim> dims;
  hone::runtime::KernelDrafts drafts(dims, **state);
  const hone::runtime::PlannedGraph plan(net(), {{0, 1}, {2, 3}}, dims);
  const auto changes = hone::runtime::plan_changes(plan, dims, drafts);
  std::set<std::string> plans;
  const std::vector<float> expected = result_of(engine, "a c d y");
  for (const hone::runtime::PlanChange& c : changes) {
    CHECK(!c.gone.empty());
    CHECK(!c.come.empty());
    const std::string text = hone::ops::print_plan(c.plan.graph, c.plan.groups);
    plans.insert(text);
    check_near(result_of(engine, text), expected);
  }
  CHECK(plans.contains("a c d+y"));
  CHECK(plans.contains("a+c d y"));
  CHECK(plans.contains("a+c+d+y"));
  CHECK(std::any_of(plans.begin(), plans.end(),
                    [](const std::string& p) { return p.find('|') != p.npos; }));
}

TEST_CASE("graph plan: what tuning kept is what the next load takes") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  auto state = *hone::runtime::EngineState::create({.cache = ":memory:"});
  const Graph graph = *hone::ops::parse_graph(
      "graph g(x: f32[B,8]) -> (y) { a = relu(x); b = tanh(a); y = gelu(b) }");
  const auto plan_at = [&](const char* dims) {
    auto model = hone::runtime::ModelState::load(*state, graph, ModelOptions{.dims = dims});
    REQUIRE_MESSAGE(model, model.failure().message);
    return (*model)->plan;
  };
  CHECK(plan_at("B=4") == "a+b+y");
  hone::runtime::Record record;
  record.key = hone::runtime::plan_key(*state, graph, {{"B", 4, 4, {}}});
  CHECK(hone::runtime::names_graph(record.key.problem));
  CHECK(!hone::runtime::names_graph("graph M=4 N=5"));
  record.schedule = "a b+y";
  record.median_us = 1;
  state->cache->put(record);
  CHECK(plan_at("B=4") == "a b+y");
  CHECK(plan_at("B=5") == "a+b+y");
  // One that does not fit is left out.
  record.key = hone::runtime::plan_key(*state, graph, {{"B", 6, 6, {}}});
  record.schedule = "a b";
  state->cache->put(record);
  CHECK(plan_at("B=6") == "a+b+y");
}
