// SPDX-License-Identifier: Apache-2.0
//
// The C interface as a caller meets it who makes mistakes: every null, every struct that is not
// what it says. What works is shown by examples/softmax.c.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "include/hone/c.h"

namespace {

struct OwnedEngine {
  hone_engine* handle = nullptr;
  OwnedEngine() {
    hone_engine_options o{};
    o.struct_size = sizeof o;
    o.cache = ":memory:";
    REQUIRE(hone_engine_create(&o, &handle, nullptr) == HONE_OK);
  }
  ~OwnedEngine() { hone_engine_destroy(handle); }
};

struct OwnedKernel {
  hone_kernel* handle = nullptr;
  ~OwnedKernel() { hone_kernel_destroy(handle); }
};

/// A status and its text, given back.
struct Said {
  hone_status status;
  std::string text;
};
template <class F>
Said said(F f) {
  char* error = nullptr;
  const hone_status status = f(&error);
  Said out{status, error ? error : ""};
  hone_free(error);
  return out;
}

hone_arg tensor(void* data, hone_dtype type, const std::vector<int64_t>& shape) {
  hone_arg a{};
  a.tensor = {data, type, static_cast<int32_t>(shape.size()), shape.data(), nullptr, 0};
  return a;
}

}  // namespace

TEST_CASE("C: a text that does not parse is a status with the place underlined") {
  OwnedEngine engine;
  hone_kernel* kernel = nullptr;
  const Said s = said([&](char** e) {
    return hone_engine_compile(engine.handle, "matmul M=2 Q=3", nullptr, &kernel, e);
  });
  CHECK(s.status == HONE_ERROR_SEMANTIC);
  CHECK(s.text.find('Q') != std::string::npos);
  CHECK(kernel == nullptr);
  // Without a place for the text the status has to do.
  CHECK(hone_engine_compile(engine.handle, "matmul M=2 Q=3", nullptr, &kernel, nullptr) ==
        HONE_ERROR_SEMANTIC);
}

TEST_CASE("C: nulls are refused, or do nothing") {
  CHECK(said([](char** e) { return hone_engine_create(nullptr, nullptr, e); }).text ==
        "engine is null");
  hone_kernel* kernel = nullptr;
  CHECK(hone_engine_compile(nullptr, "relu N=3", nullptr, &kernel, nullptr) == HONE_ERROR_ARGUMENT);
  CHECK(hone_kernel_call(nullptr, nullptr, 0, nullptr, nullptr) == HONE_ERROR_ARGUMENT);
  CHECK(hone_kernel_wait(nullptr, nullptr, nullptr) == HONE_ERROR_ARGUMENT);
  CHECK(hone_kernel_param_count(nullptr) == 0);
  CHECK(hone_kernel_param(nullptr, 0) == nullptr);
  hone_kernel_memory(nullptr, nullptr);
  CHECK(std::string(hone_kernel_schedule(nullptr)).empty());
  hone_engine_destroy(nullptr);
  hone_kernel_destroy(nullptr);
  hone_free(nullptr);
}

TEST_CASE("C: calls check what they are given") {
  OwnedEngine engine;
  OwnedKernel kernel;
  REQUIRE(hone_engine_compile(engine.handle, "scale N=8", nullptr, &kernel.handle, nullptr) ==
          HONE_OK);
  std::vector<float> x(8, 2), y(8, 0);
  hone_arg number{};
  number.kind = HONE_ARG_REAL;
  number.real = 1.5;
  const auto call = [&](std::vector<hone_arg> args) {
    return said([&](char** e) {
      return hone_kernel_call(kernel.handle, args.data(), args.size(), nullptr, e);
    });
  };
  const std::vector<int64_t> eight{8}, seven{7};
  std::vector<hone_arg> good;
  for (size_t i = 0; i < hone_kernel_param_count(kernel.handle); ++i) {
    const hone_param& p = *hone_kernel_param(kernel.handle, i);
    if (p.role == HONE_SCALAR) good.push_back(number);
    if (p.role == HONE_INPUT) good.push_back(tensor(x.data(), HONE_F32, eight));
    if (p.role == HONE_OUTPUT) good.push_back(tensor(y.data(), HONE_F32, eight));
  }
  CHECK(call(good).status == HONE_OK);
  CHECK(y[7] == 4.5f);  // alpha and beta are both 1.5
  std::vector<hone_arg> bad = good;
  bad[0].tensor.type = 77;
  CHECK(call(bad).text.find("argument 0: a hone_tensor has type 77") != std::string::npos);
  bad = good;
  bad[0].tensor.rank = 13;
  CHECK(call(bad).status == HONE_ERROR_ARGUMENT);
  bad = good;
  bad[0].tensor.shape = nullptr;
  CHECK(call(bad).status == HONE_ERROR_ARGUMENT);
  bad = good;
  bad[0].tensor.shape = seven.data();
  CHECK(call(bad).status == HONE_ERROR_ARGUMENT);
  bad = good;
  bad[0].kind = 9;
  CHECK(call(bad).text.find("hone_arg_kind") != std::string::npos);
  bad = good;
  bad.pop_back();
  CHECK(call(bad).status == HONE_ERROR_ARGUMENT);
  bad = good;
  bad.back().tensor.read_only = 1;
  CHECK(call(bad).status == HONE_ERROR_ARGUMENT);
  // Flat: so many elements one after the other.
  std::vector<hone_arg> flat = good;
  flat[0].tensor.rank = HONE_FLAT;
  CHECK(call(flat).status == HONE_OK);
}

TEST_CASE("C: constants are bound, and a kernel outlives its engine") {
  OwnedKernel kernel, bound;
  {
    OwnedEngine engine;
    REQUIRE(hone_engine_compile(engine.handle, "fc M=1 N=4 K=3 const=W", nullptr, &kernel.handle,
                                nullptr) == HONE_OK);
  }
  std::vector<float> w(12, 1), x(3, 2), b(4, 1), y(4);
  const std::vector<int64_t> shape{3, 4}, in{1, 3}, bias{4}, out{1, 4};
  const hone_arg weights = tensor(w.data(), HONE_F32, shape);
  CHECK(said([&](char** e) {
          return hone_kernel_bind(kernel.handle, "V", &weights.tensor, &bound.handle, e);
        }).status == HONE_ERROR_ARGUMENT);
  REQUIRE(hone_kernel_bind(kernel.handle, "W", &weights.tensor, &bound.handle, nullptr) == HONE_OK);
  std::vector<hone_arg> args;
  for (size_t i = 0; i < hone_kernel_param_count(bound.handle); ++i) {
    const hone_param& p = *hone_kernel_param(bound.handle, i);
    if (p.constant) continue;
    if (p.role == HONE_OUTPUT) args.push_back(tensor(y.data(), HONE_F32, out));
    if (p.role == HONE_INPUT) {
      args.push_back(p.rank == 2 ? tensor(x.data(), HONE_F32, in)
                                 : tensor(b.data(), HONE_F32, bias));
    }
  }
  CHECK(hone_kernel_call(kernel.handle, args.data(), args.size(), nullptr, nullptr) ==
        HONE_ERROR_ARGUMENT);
  CHECK(hone_kernel_call(bound.handle, args.data(), args.size(), nullptr, nullptr) == HONE_OK);
  CHECK(y[3] == (args.size() == 3 ? 7 : 6));
}

TEST_CASE("C: a kernel says what it is, takes and needs") {
  CHECK(std::string(hone_version()).find('.') != std::string::npos);
  OwnedEngine engine;
  OwnedKernel kernel;
  REQUIRE(hone_engine_compile(engine.handle, "softmax M=1..8 N=12", "", &kernel.handle, nullptr) ==
          HONE_OK);
  CHECK(std::string(hone_kernel_problem(kernel.handle)).starts_with("softmax M=1..8 N=12"));
  CHECK(std::string(hone_kernel_target(kernel.handle)) == hone_engine_target(engine.handle));
  CHECK(std::string(hone_kernel_source(kernel.handle)) == "default");
  REQUIRE(hone_kernel_param_count(kernel.handle) == 2);
  CHECK(hone_kernel_param(kernel.handle, 2) == nullptr);
  const hone_param& x = *hone_kernel_param(kernel.handle, 0);
  REQUIRE(x.rank == 2);
  CHECK(std::string(x.dims[0]) == "M");
  CHECK(x.shape[0] == -1);
  CHECK(x.shape[1] == 12);
  hone_memory memory{};
  memory.struct_size = sizeof memory;
  hone_kernel_memory(kernel.handle, &memory);
  CHECK(memory.struct_size == sizeof memory);
  CHECK(memory.call == hone_kernel_workspace_size(kernel.handle));
  CHECK(memory.constants == 0);
  // What an older caller's struct has no room for is left alone.
  memory.struct_size = offsetof(hone_memory, call);
  memory.call = -1;
  hone_kernel_memory(kernel.handle, &memory);
  CHECK(memory.call == -1);
  // Work in a stream is a GPU's.
  CHECK(hone_kernel_enqueue(kernel.handle, nullptr, 0, nullptr, nullptr) != HONE_OK);
}

TEST_CASE("C: records are tuned, go out, come back and are verified") {
  OwnedEngine engine, other;
  if (std::string(hone_engine_target(engine.handle)).find("isa=none") != std::string::npos) return;
  struct Seen {
    int calls = 0;
    static int32_t progress(void* context, int64_t, double, double) {
      ++static_cast<Seen*>(context)->calls;
      return 0;
    }
  } seen;
  hone_tune_options o{};
  o.struct_size = sizeof o;
  o.trials = 2;
  o.progress = Seen::progress;
  o.progress_context = &seen;
  hone_tune_result result{};
  result.struct_size = sizeof result;
  const Said tuned =
      said([&](char** e) { return hone_engine_tune(engine.handle, "relu N=100", &o, &result, e); });
  REQUIRE_MESSAGE(tuned.status == HONE_OK, tuned.text);
  CHECK(result.time_us > 0);
  CHECK(result.hit == 0);
  CHECK((result.end == HONE_TUNE_TRIALS || result.end == HONE_TUNE_LIMIT));
  CHECK(result.of_limit >= 0);
  CHECK(result.expected_gain == 0);  // of so few trials
  CHECK(hone_engine_tune(engine.handle, "relu N=100 Q=1", &o, nullptr, nullptr) ==
        HONE_ERROR_SEMANTIC);
  char* text = nullptr;
  REQUIRE(hone_engine_export_cache(engine.handle, &text, nullptr) == HONE_OK);
  const std::string records = text;
  hone_free(text);
  int64_t taken = 0;
  char* flaws = nullptr;
  REQUIRE(hone_engine_import_cache(other.handle, records.c_str(), &taken, &flaws, nullptr) ==
          HONE_OK);
  CHECK(taken >= 1);
  CHECK(std::string(flaws).empty());
  hone_free(flaws);
  int64_t kept = 0;
  REQUIRE(hone_engine_verify_cache(other.handle, &kept, &flaws, nullptr) == HONE_OK);
  CHECK(kept == taken);
  CHECK(std::string(flaws).empty());
  hone_free(flaws);
  const Said wrong = said([&](char** e) {
    return hone_engine_import_cache(other.handle, "nonsense\n", nullptr, nullptr, e);
  });
  CHECK(wrong.status == HONE_ERROR_SYNTAX);
  CHECK_FALSE(wrong.text.empty());
}

TEST_CASE("C: a pool of the caller's runs the loops, and one without a function is refused") {
  struct Forks {
    int count = 0;
    static void all(void* context, int64_t n, hone_task task, void* task_context) {
      ++static_cast<Forks*>(context)->count;
      task(task_context, 0, n / 2, 1);
      task(task_context, n / 2, n, 0);
    }
  } forks;
  hone_thread_pool pool{};
  pool.struct_size = sizeof pool;
  pool.context = &forks;
  pool.size = 2;
  hone_engine_options o{};
  o.struct_size = sizeof o;
  o.cache = ":memory:";
  o.pool = &pool;
  OwnedKernel kernel;
  hone_engine* engine = nullptr;
  const Said none = said([&](char** e) { return hone_engine_create(&o, &engine, e); });
  CHECK(none.status == HONE_ERROR_ARGUMENT);
  CHECK(none.text == "parallel_for of the pool is null");
  pool.parallel_for = Forks::all;
  REQUIRE(hone_engine_create(&o, &engine, nullptr) == HONE_OK);
  REQUIRE(hone_engine_compile(engine, "relu N=64", "parallel Y/i", &kernel.handle, nullptr) ==
          HONE_OK);
  hone_engine_destroy(engine);
  std::vector<float> x(64, -1), y(64, 5);
  x[63] = 3;
  const std::vector<int64_t> shape{64};
  const std::vector<hone_arg> args = {tensor(x.data(), HONE_F32, shape),
                                      tensor(y.data(), HONE_F32, shape)};
  CHECK(hone_kernel_call(kernel.handle, args.data(), 2, nullptr, nullptr) == HONE_OK);
  CHECK(forks.count == 1);
  CHECK(y[0] == 0);
  CHECK(y[63] == 3);
}

TEST_CASE("C: ops, options of another size, events") {
  struct Heard {
    int count = 0;
    static void sink(void* context, hone_event_kind, const char* text) {
      static_cast<Heard*>(context)->count += text != nullptr;
    }
  } heard;
  hone_engine_options o{};
  o.struct_size = sizeof o;
  o.cache = ":memory:";
  o.on_event = Heard::sink;
  o.event_context = &heard;
  hone_engine* engine = nullptr;
  REQUIRE(hone_engine_create(&o, &engine, nullptr) == HONE_OK);
  CHECK(hone_engine_add_ops(engine, "op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] }", nullptr,
                            nullptr) == HONE_OK);
  char* text = nullptr;
  REQUIRE(hone_engine_ops(engine, &text, nullptr) == HONE_OK);
  CHECK(std::string(text).starts_with("op twice("));
  hone_free(text);
  OwnedKernel kernel;
  REQUIRE(hone_engine_compile(engine, "twice N=3", "", &kernel.handle, nullptr) == HONE_OK);
  CHECK(heard.count > 0);
  REQUIRE(hone_engine_export_cache(engine, &text, nullptr) == HONE_OK);
  hone_free(text);
  hone_engine_destroy(engine);
  // A caller who was compiled with a shorter struct: what it lacks is the default.
  o.struct_size = offsetof(hone_engine_options, on_event);
  o.on_event = nullptr;
  REQUIRE(hone_engine_create(&o, &engine, nullptr) == HONE_OK);
  hone_engine_destroy(engine);
}
