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
  CHECK(s.text.find("Q") != std::string::npos);
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
  CHECK(hone_kernel_param(nullptr, 0).name == nullptr);
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
    const hone_param p = hone_kernel_param(kernel.handle, i);
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
    const hone_param p = hone_kernel_param(bound.handle, i);
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
