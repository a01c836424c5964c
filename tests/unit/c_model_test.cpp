// SPDX-License-Identifier: Apache-2.0
//
// Models through the C interface: loaded, run, tuned, and every null and every struct that is not
// what it says. A program in C is examples/model.c.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "include/hone/c.h"

namespace {

constexpr const char* kGraph =
    "graph g(x: f32[B,3], const w: f32[3,4], const b: f32[4]) -> (y: f32[B,4], z: f32[B,4]) {\n"
    "  a = fc(x, w, b)\n"
    "  y = relu(a)\n"
    "  z = softmax(y)\n"
    "}\n";

struct ModelEngine {
  hone_engine* handle = nullptr;
  ModelEngine() {
    hone_engine_options o{};
    o.struct_size = sizeof o;
    o.cache = ":memory:";
    REQUIRE(hone_engine_create(&o, &handle, nullptr) == HONE_OK);
  }
  ~ModelEngine() { hone_engine_destroy(handle); }
};

hone_named_tensor named(const char* name, void* data, const std::vector<int64_t>& shape) {
  return {name, {data, HONE_F32, static_cast<int32_t>(shape.size()), shape.data(), nullptr, 0}};
}

/// The graph with its weights, and tensors for its calls.
struct LoadedModel {
  ModelEngine engine;
  std::vector<float> w = std::vector<float>(12, 1), b = {0, 1, -9, 3}, x = {1, 2, 3, -1, -1, -1};
  std::vector<float> y = std::vector<float>(8, -1), z = std::vector<float>(8, -1);
  std::vector<int64_t> w_shape{3, 4}, b_shape{4}, x_shape{2, 3}, y_shape{2, 4};
  std::vector<hone_named_tensor> weights{named("b", b.data(), b_shape),
                                         named("w", w.data(), w_shape)};
  hone_model_options options{};
  hone_model* model = nullptr;
  std::string error;

  LoadedModel() {
    options.struct_size = sizeof options;
    options.dims = "B=1..5";
    options.weights = weights.data();
    options.weight_count = weights.size();
  }
  ~LoadedModel() { hone_model_destroy(model); }

  hone_status load(const char* text) {
    char* said = nullptr;
    const auto status =
        hone_engine_load_graph(engine.handle, text, "mine", &options, &model, &said);
    error = said ? said : "";
    hone_free(said);
    return status;
  }
  hone_status run(const std::vector<hone_named_tensor>& in,
                  const std::vector<hone_named_tensor>& out,
                  const hone_call_options* call = nullptr) {
    char* said = nullptr;
    const auto status =
        hone_model_run(model, in.data(), in.size(), out.data(), out.size(), call, &said);
    error = said ? said : "";
    hone_free(said);
    return status;
  }
  hone_named_tensor input() { return named("x", x.data(), x_shape); }
  std::vector<hone_named_tensor> outputs() {
    return {named("z", z.data(), y_shape), named("y", y.data(), y_shape)};
  }
};

}  // namespace

TEST_CASE("C models: a graph is loaded, run, and outlives its engine") {
  LoadedModel m;
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  hone_engine_destroy(m.engine.handle);
  m.engine.handle = nullptr;
  REQUIRE_MESSAGE(m.run({m.input()}, m.outputs()) == HONE_OK, m.error);
  CHECK(m.y == std::vector<float>{6, 7, 0, 9, 0, 0, 0, 0});
  CHECK(m.z[4] == doctest::Approx(0.25));
  // In memory of the caller, on this thread.
  m.y.assign(8, -1);
  const auto bytes = static_cast<size_t>(hone_model_workspace_size(m.model));
  hone_call_options call{};
  call.struct_size = sizeof call;
  call.serial = 1;
  call.workspace_bytes = bytes + 64;
  call.workspace = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  CHECK(m.run({m.input()}, m.outputs(), &call) == HONE_OK);
  CHECK(m.y[3] == 9);
  if (bytes > 0) {
    call.workspace_bytes = bytes - 1;
    CHECK(m.run({m.input()}, m.outputs(), &call) == HONE_ERROR_ARGUMENT);
    CHECK(m.error.find("the workspace has") != std::string::npos);
  }
  std::free(call.workspace);
}

TEST_CASE("C models: a call tells the shapes of outputs that data tell") {
  LoadedModel m;
  m.options.weight_count = 0;
  m.options.dims = nullptr;
  REQUIRE_MESSAGE(m.load("graph g(x: f32[2,3]) -> (p: i64[2,n]) { p = nonzero(x) }") == HONE_OK,
                  m.error);
  const hone_param* p = hone_model_param(m.model, 1);
  REQUIRE(p != nullptr);
  CHECK(p->shape[1] == -1);
  CHECK(p->most[1] == 6);
  CHECK(p->by_data[0] == 0);
  CHECK(p->by_data[1] == 1);
  m.x = {0, 2, 0, 0, 0, 5};
  std::vector<int64_t> places(12, -1), shape{2, 6};
  const hone_named_tensor out = {"p", {places.data(), HONE_I64, 2, shape.data(), nullptr, 0}};
  CHECK(m.run({m.input()}, {out}) == HONE_ERROR_ARGUMENT);
  hone_shape told{};
  hone_call_options call{};
  call.struct_size = sizeof call;
  call.shapes = &told;
  call.shape_count = 1;
  REQUIRE_MESSAGE(m.run({m.input()}, {out}, &call) == HONE_OK, m.error);
  CHECK(told.rank == 2);
  CHECK(told.extents[0] == 2);
  CHECK(told.extents[1] == 2);
  CHECK(std::vector<int64_t>(places.begin(), places.begin() + 5) ==
        std::vector<int64_t>{0, 1, 1, 2, -1});
  call.shape_count = 2;
  CHECK(m.run({m.input()}, {out}, &call) == HONE_ERROR_ARGUMENT);
}

TEST_CASE("C models: a model runs by the plan that it is given") {
  LoadedModel m;
  m.options.plan = "a y z";
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  CHECK(hone_model_step_count(m.model) == 3);
  CHECK(std::string(hone_model_plan(m.model)) == "a y z");
  LoadedModel other;
  other.options.plan = "a z";
  CHECK(other.load(kGraph) == HONE_ERROR_SCHEDULE);
  CHECK(other.error.find("`z` reads `y`, which is made later") != std::string::npos);
}

TEST_CASE("C models: a model says what it takes, what it runs and what memory it needs") {
  LoadedModel m;
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  CHECK(std::string(hone_model_text(m.model)).starts_with("graph g(x: f32[B,3], const w:"));
  CHECK(std::string(hone_model_plan(m.model)) == "a+y z");
  REQUIRE(hone_model_param_count(m.model) == 5);
  CHECK(hone_model_param(m.model, 5) == nullptr);
  const hone_param& x = *hone_model_param(m.model, 0);
  CHECK(std::string(x.name) == "x");
  CHECK(x.role == HONE_INPUT);
  CHECK(x.type == HONE_F32);
  REQUIRE(x.rank == 2);
  CHECK(x.shape[0] == -1);
  CHECK(x.shape[1] == 3);
  CHECK(std::string(x.dims[0]) == "B");
  CHECK(x.strides[0] == 3);
  CHECK(x.strides[1] == 1);
  CHECK(x.align == 4);
  CHECK(hone_model_param(m.model, 1)->constant != 0);
  CHECK(hone_model_param(m.model, 4)->role == HONE_OUTPUT);
  std::string ops;
  for (size_t i = 0; i < hone_model_step_count(m.model); ++i) {
    const hone_step& s = *hone_model_step(m.model, i);
    for (size_t k = 0; k < s.op_count; ++k) ops += std::string(k > 0 ? "+" : " ") + s.ops[k];
    CHECK(s.read_count + s.make_count == hone_kernel_param_count(s.kernel));
    CHECK(std::string(hone_kernel_target(s.kernel)) == hone_engine_target(m.engine.handle));
  }
  CHECK(ops == " fc+relu softmax");
  CHECK(hone_model_step(m.model, 2) == nullptr);
  CHECK(std::string(hone_model_step(m.model, 1)->reads[0]) == "y");
  CHECK(std::string(hone_model_step(m.model, 1)->makes[0]) == "z");
  hone_model_bytes memory{};
  memory.struct_size = sizeof memory;
  hone_model_memory(m.model, &memory);
  CHECK(memory.weights >= 64);
  CHECK(memory.call == hone_model_workspace_size(m.model));
  // What an older caller's struct has no room for is left alone.
  memory.struct_size = offsetof(hone_model_bytes, call);
  memory.call = -7;
  hone_model_memory(m.model, &memory);
  CHECK(memory.call == -7);
  // Each node by itself: the tensor between them takes memory.
  hone_model_destroy(m.model);
  m.options.apart = 1;
  REQUIRE(m.load(kGraph) == HONE_OK);
  CHECK(hone_model_step_count(m.model) == 3);
  memory.struct_size = sizeof memory;
  hone_model_memory(m.model, &memory);
  CHECK(memory.values_sum == 5 * 4 * 4);
}

TEST_CASE("C models: nulls and what does not fit are statuses with a text") {
  LoadedModel m;
  CHECK(hone_engine_load_graph(nullptr, kGraph, nullptr, nullptr, &m.model, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_engine_load_graph(m.engine.handle, nullptr, nullptr, nullptr, &m.model, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_engine_load_graph(m.engine.handle, kGraph, nullptr, nullptr, nullptr, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_engine_load(m.engine.handle, nullptr, nullptr, &m.model, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_engine_load(m.engine.handle, "no.graph", nullptr, &m.model, nullptr) ==
        HONE_ERROR_NOT_FOUND);
  CHECK(hone_model_run(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr) == HONE_ERROR_ARGUMENT);
  CHECK(hone_engine_tune_model(m.engine.handle, nullptr, nullptr, nullptr, nullptr, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_model_enqueue(nullptr, nullptr, 0, nullptr, 0, nullptr, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_model_wait(nullptr, nullptr, nullptr) == HONE_ERROR_ARGUMENT);
  hone_model_destroy(nullptr);
  hone_model_memory(nullptr, nullptr);
  CHECK(std::string(hone_model_text(nullptr)).empty());
  CHECK(std::string(hone_model_plan(nullptr)).empty());
  CHECK(hone_model_param_count(nullptr) == 0);
  CHECK(hone_model_param(nullptr, 0) == nullptr);
  CHECK(hone_model_step_count(nullptr) == 0);
  CHECK(hone_model_step(nullptr, 0) == nullptr);
  CHECK(hone_model_workspace_size(nullptr) == 0);
  CHECK(m.load("graph g(x: f32[B]) -> (y) { y = rleu(x) }") == HONE_ERROR_SEMANTIC);
  CHECK(m.error.starts_with("mine:1:33: there is no op `rleu`"));
  CHECK(m.model == nullptr);
  m.options.weight_count = 1;
  CHECK(m.load(kGraph) == HONE_ERROR_ARGUMENT);
  CHECK(m.error.find("the weight `w` is missing") != std::string::npos);
  m.options.weight_count = 2;
  m.weights[1].name = nullptr;
  CHECK(m.load(kGraph) == HONE_ERROR_ARGUMENT);
  CHECK(m.error == "weights[1]: its name is null");
  m.options.weights = nullptr;
  CHECK(m.load(kGraph) == HONE_ERROR_ARGUMENT);
  CHECK(m.error == "weights is null");
}

TEST_CASE("C models: calls check what they are given") {
  LoadedModel m;
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  const auto refused = [&](const hone_named_tensor& in, const char* what) {
    CHECK(m.run({in}, m.outputs()) == HONE_ERROR_ARGUMENT);
    CHECK_MESSAGE(m.error.find(what) != std::string::npos, m.error);
    CHECK(m.y[0] == -1);
  };
  hone_named_tensor bad = m.input();
  bad.name = "q";
  refused(bad, "the model has no input `q`; it has x");
  bad = m.input();
  bad.tensor.type = 77;
  refused(bad, "inputs[0]: a hone_tensor has type 77");
  bad = m.input();
  bad.tensor.shape = nullptr;
  refused(bad, "the shape of a hone_tensor is null");
  bad = m.input();
  bad.tensor.data = nullptr;
  refused(bad, "`x` is null");
  bad = m.input();
  bad.tensor.type = HONE_F64;
  refused(bad, "`x` is f32[2,3] here, and f64[2,3] is given");
  CHECK(hone_model_run(m.model, nullptr, 1, nullptr, 0, nullptr, nullptr) == HONE_ERROR_ARGUMENT);
  CHECK(m.run({m.input()}, {}) == HONE_ERROR_ARGUMENT);
  CHECK(m.error.find("the output `y: f32[B,4]` is missing") != std::string::npos);
}

TEST_CASE("C models: a model of a CPU is not put into a stream") {
  LoadedModel m;
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  const hone_named_tensor in = m.input();
  const std::vector<hone_named_tensor> out = m.outputs();
  char* said = nullptr;
  CHECK(hone_model_enqueue(m.model, &in, 1, out.data(), out.size(), nullptr, &said) ==
        HONE_ERROR_UNSUPPORTED);
  CHECK(std::string(said).find("only models on a GPU can be enqueued") != std::string::npos);
  hone_free(said);
  CHECK(hone_model_wait(m.model, nullptr, nullptr) == HONE_OK);
}

TEST_CASE("C models: a file is loaded by its name") {
  LoadedModel m;
  std::string name = (std::filesystem::temp_directory_path() / "hone-c-XXXXXX").string();
  const std::filesystem::path folder = mkdtemp(name.data());
  const std::string path = folder / "g.graph";
  std::ofstream(path) << kGraph;
  const auto status =
      hone_engine_load(m.engine.handle, path.c_str(), &m.options, &m.model, nullptr);
  std::filesystem::remove_all(folder);
  REQUIRE(status == HONE_OK);
  CHECK(m.run({m.input()}, m.outputs()) == HONE_OK);
  CHECK(m.y[1] == 7);
}

TEST_CASE("C models: their kernels are tuned, and each is told") {
  LoadedModel m;
  if (std::string(hone_engine_target(m.engine.handle)).find("isa=none") != std::string::npos)
    return;
  REQUIRE_MESSAGE(m.load(kGraph) == HONE_OK, m.error);
  struct Told {
    int count = 0;
    static void tuned(void* context, const char* problem, const char*,
                      const hone_tune_result* result) {
      CHECK(std::string(problem).find("B=") == std::string::npos);
      CHECK(result->time_us > 0);
      static_cast<Told*>(context)->count += 1;
    }
  } told;
  hone_tune_options o{};
  o.struct_size = sizeof o;
  o.budget_ms = 500;
  o.trials = 2;
  REQUIRE(hone_engine_tune_model(m.engine.handle, m.model, &o, Told::tuned, &told, nullptr) ==
          HONE_OK);
  CHECK(told.count == 2);
}
