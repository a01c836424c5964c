// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/reference.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <ctime>

#include "jit/ir/functions/function.h"
#include "jit/ir/half.h"
#include "ops/op.h"

using namespace hone;
using ir::Expr;
using ir::make_int;
using ir::make_load;
using ir::make_var;
using jit::TensorView;

namespace {

std::vector<Expr> sizes(std::vector<int64_t> shape) {
  std::vector<Expr> out;
  for (int64_t s : shape) out.push_back(make_int(s));
  return out;
}

std::vector<Expr> vars(std::vector<std::string> names) {
  std::vector<Expr> out;
  for (std::string& n : names) out.push_back(make_var(std::move(n)));
  return out;
}

void add_buffer(ir::Program& p, std::string name, DType type, ir::Role role,
                std::vector<int64_t> shape) {
  ir::Buffer b;
  b.name = std::move(name);
  b.type = type;
  b.role = role;
  b.shape = sizes(std::move(shape));
  p.buffers.push_back(std::move(b));
}

ir::IndexVar index(std::string name, Expr hi, Expr lo = {}) { return {std::move(name), lo, hi}; }

ir::Stage& add_stage(ir::Program& p, std::string output, std::vector<ir::IndexVar> over,
                     Expr value) {
  ir::Stage s;
  s.name = output;
  s.output = std::move(output);
  for (const ir::IndexVar& v : over) s.out_index.push_back(make_var(v.name));
  s.vars = std::move(over);
  s.value = std::move(value);
  p.stages.push_back(std::move(s));
  return p.stages.edit(p.stages.size() - 1);
}

template <class T>
TensorView view(std::vector<T>& data, DType type, std::vector<int64_t> shape) {
  TensorView v;
  v.data = data.data();
  v.type = type;
  v.strides.resize(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) v.strides[d - 1] = v.strides[d] * shape[d];
  v.shape = std::move(shape);
  return v;
}

jit::ReferenceOutcome run(const ir::Program& p, const std::vector<TensorView>& params,
                          const jit::ReferenceOptions& options = {},
                          const std::vector<double>& scalars = {}) {
  auto out = jit::evaluate(p, params, scalars, {}, options);
  if (!out) FAIL(out.failure().message);
  return *std::move(out);
}

ir::Program matmul(int64_t m, int64_t n, int64_t k) {
  ir::Program p;
  add_buffer(p, "A", DType::kF32, ir::Role::kInput, {m, k});
  add_buffer(p, "B", DType::kF32, ir::Role::kInput, {k, n});
  add_buffer(p, "C", DType::kF32, ir::Role::kOutput, {m, n});
  ir::Stage& s = add_stage(p, "C", {index("m", make_int(m)), index("n", make_int(n))},
                           make_load("A", DType::kF32, vars({"m", "k"})) *
                               make_load("B", DType::kF32, vars({"k", "n"})));
  s.rvars = {index("k", make_int(k))};
  s.reduce = ir::Reduce::kSum;
  return p;
}

}  // namespace

TEST_CASE("reference: a product of matrices, bounds and time per operation") {
  const int64_t m = 37, n = 300, k = 129;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < b.size(); ++i) b[i] = std::cos(static_cast<float>(i) * 3);
  const std::vector<TensorView> params = {
      view(a, DType::kF32, {m, k}), view(b, DType::kF32, {k, n}), view(c, DType::kF32, {m, n})};
  const ir::Program p = matmul(m, n, k);
  const auto out = run(p, params);
  REQUIRE(out.outputs.size() == 1);
  const jit::ReferenceTensor& t = out.outputs[0];
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t l = 0; l < k; ++l) {
        const double term = static_cast<double>(a[i * k + l]) * b[l * n + j];
        sum += term;
        size += std::fabs(term);
      }
      const auto at = static_cast<size_t>(i * n + j);
      REQUIRE(t.f[at] == static_cast<double>(static_cast<float>(sum)));
      const double tolerance = 4 * std::sqrt(static_cast<double>(k)) * 0x1p-23 * size;
      REQUIRE(t.bound[at] >= tolerance);
      REQUIRE(t.bound[at] <= 1.5 * tolerance);
      REQUIRE(t.written[at] == 1);
    }
  }
  SUBCASE("on demand gives the same") {
    jit::ReferenceOptions options;
    const std::vector<int64_t> shape = {m, n}, edges = {6, 64};
    options.elements = {jit::sample_positions(shape, edges, 64, 7)};
    const auto some = run(p, params, options);
    for (size_t i = 0; i < some.outputs[0].elements.size(); ++i) {
      const auto at = static_cast<size_t>(some.outputs[0].elements[i]);
      CHECK(std::fabs(some.outputs[0].f[i] - t.f[at]) <= 1e-6 * std::fabs(t.f[at]));
      CHECK(some.outputs[0].bound[i] == doctest::Approx(t.bound[at]));
    }
  }
  SUBCASE("whole numbers are certain to the bit") {
    for (float& x : a) x = std::round(4 * x);
    for (float& x : b) x = std::round(4 * x);
    const auto exact = run(p, params);
    for (double e : exact.outputs[0].bound) REQUIRE(e == 0);
  }
}

TEST_CASE("reference: a product that is an integer only once rounded is not certain") {
  std::vector<double> x = {3, 10}, y(2);
  const std::vector<TensorView> params = {view(x, DType::kF64, {2}), view(y, DType::kF64, {2})};
  ir::Program p;
  add_buffer(p, "X", DType::kF64, ir::Role::kInput, {2});
  add_buffer(p, "Y", DType::kF64, ir::Role::kOutput, {2});
  const Expr element = make_load("X", DType::kF64, vars({"i"}));
  // 0.1*10 is 1 in f64; 0.1*10 - 2 with one rounding is less than -1.
  add_stage(p, "Y", {index("i", make_int(2))},
            ir::make_float(0.1, DType::kF64) * element - ir::make_float(2, DType::kF64));
  const auto out = run(p, params);
  CHECK(out.outputs[0].f[1] == -1);
  CHECK(out.outputs[0].bound[1] >= 0x1p-54);
  CHECK(out.outputs[0].bound[1] <= 0x1p-50);
}

TEST_CASE("reference: sums of what was bf16 in an earlier stage may flush denormals") {
  std::vector<uint16_t> x(2, ir::bf16_from(0x1p-64));
  std::vector<float> y(1);
  const std::vector<TensorView> params = {view(x, DType::kBF16, {2}), view(y, DType::kF32, {})};
  ir::Program p;
  add_buffer(p, "X", DType::kBF16, ir::Role::kInput, {2});
  add_buffer(p, "t", DType::kF32, ir::Role::kTemp, {2});
  add_buffer(p, "Y", DType::kF32, ir::Role::kOutput, {});
  add_stage(p, "t", {index("k", make_int(2))},
            ir::make_cast(DType::kF32, make_load("X", DType::kBF16, vars({"k"}))));
  const Expr term = make_load("t", DType::kF32, vars({"k"}));
  ir::Stage& s = add_stage(p, "Y", {}, term * term);
  s.rvars = {index("k", make_int(2))};
  s.reduce = ir::Reduce::kSum;
  const auto out = run(p, params);
  CHECK(out.outputs[0].f[0] == 0x1p-127);
  CHECK(out.outputs[0].bound[0] >= 0x1p-127);
}

TEST_CASE("reference: stages, functions and maxima of a softmax") {
  const int64_t m = 5, n = 70;
  const DType f32 = DType::kF32;
  ir::Program p;
  add_buffer(p, "X", f32, ir::Role::kInput, {m, n});
  add_buffer(p, "Y", f32, ir::Role::kOutput, {m, n});
  add_buffer(p, "m", f32, ir::Role::kTemp, {m});
  add_buffer(p, "e", f32, ir::Role::kTemp, {m, n});
  add_buffer(p, "s", f32, ir::Role::kTemp, {m});
  const std::vector<ir::IndexVar> row = {index("i", make_int(m))};
  const std::vector<ir::IndexVar> all = {index("i", make_int(m)), index("j", make_int(n))};
  ir::Stage& top = add_stage(p, "m", row, make_load("X", f32, vars({"i", "j"})));
  top.reduce = ir::Reduce::kMax;
  top.rvars = {index("j", make_int(n))};
  add_stage(p, "e", all,
            ir::make_call(ir::function_named("exp"), {make_load("X", f32, vars({"i", "j"})) -
                                                      make_load("m", f32, vars({"i"}))}));
  ir::Stage& sum = add_stage(p, "s", row, make_load("e", f32, vars({"i", "j"})));
  sum.reduce = ir::Reduce::kSum;
  sum.rvars = {index("j", make_int(n))};
  add_stage(p, "Y", all,
            ir::make_binary(ir::Op::kDiv, make_load("e", f32, vars({"i", "j"})),
                            make_load("s", f32, vars({"i"}))));
  std::vector<float> x(m * n), y(m * n);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 3 * std::sin(static_cast<float>(i));
  x[2 * n + 7] = NAN;
  x[3 * n + 9] = INFINITY;
  const std::vector<TensorView> params = {view(x, f32, {m, n}), view(y, f32, {m, n})};
  const jit::ReferenceTensor t = run(p, params).outputs[0];
  double total = 0;
  for (int64_t j = 0; j < n; ++j) total += t.f[static_cast<size_t>(j)];
  CHECK(total == doctest::Approx(1).epsilon(1e-6));
  CHECK(t.bound[0] < 1e-5 * t.f[0]);
  CHECK(t.bound[0] > 1e-7 * t.f[0]);
  CHECK(std::isnan(t.f[2 * n]));
  // inf - inf is a NaN in the sum, and so in the whole row: certainly so.
  CHECK(std::isnan(t.f[3 * n]));
  CHECK(t.bound[3 * n] == 0);
  jit::ReferenceOptions options;
  options.elements = {{0, n - 1, 4 * n + 3}};
  const jit::ReferenceTensor some = run(p, params, options).outputs[0];
  CHECK(some.f[2] == t.f[4 * n + 3]);
}

TEST_CASE("reference: an output of which no elements are asked gives none") {
  ir::Program p;
  const DType f32 = DType::kF32;
  add_buffer(p, "X", f32, ir::Role::kInput, {3});
  add_buffer(p, "Y", f32, ir::Role::kOutput, {3});
  add_buffer(p, "Z", f32, ir::Role::kOutput, {0});
  add_stage(p, "Y", {index("i", make_int(3))}, make_load("X", f32, vars({"i"})));
  add_stage(p, "Z", {index("i", make_int(0))}, make_load("X", f32, vars({"i"})));
  std::vector<float> x = {1, 2, 3}, y(3), z;
  const std::vector<TensorView> params = {view(x, f32, {3}), view(y, f32, {3}), view(z, f32, {0})};
  jit::ReferenceOptions options;
  options.elements = {{2}, {}};
  const jit::ReferenceOutcome some = run(p, params, options);
  CHECK(some.outputs[0].f == std::vector<double>{3});
  CHECK(some.outputs[1].f.empty());
  options.elements = {{}, {}};
  const jit::ReferenceTensor none = run(p, params, options).outputs[0];
  CHECK(!none.whole);
  CHECK(none.f.empty());
  CHECK(run(p, params).outputs[0].f == std::vector<double>{1, 2, 3});
}

TEST_CASE("reference: between uncertain arguments a sine takes any value") {
  // Sums near 3e7 are good to 4: whole turns.
  std::vector<float> a(500), b(500), y(500);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = 3e7F + 64 * static_cast<float>(i);
    b[i] = 0.37F * static_cast<float>(i);
  }
  for (const char* function : {"sin", "cos"}) {
    ir::Program p;
    for (const char* name : {"A", "B"}) {
      add_buffer(p, name, DType::kF32, ir::Role::kInput, {500});
    }
    add_buffer(p, "Y", DType::kF32, ir::Role::kOutput, {500});
    const ir::Expr sum =
        make_load("A", DType::kF32, vars({"i"})) + make_load("B", DType::kF32, vars({"i"}));
    add_stage(p, "Y", {index("i", make_int(500))},
              ir::make_call(ir::function_named(function), {sum}));
    const auto out = run(
        p, {view(a, DType::kF32, {500}), view(b, DType::kF32, {500}), view(y, DType::kF32, {500})});
    // The first sum is exact.
    for (size_t i = 1; i < a.size(); ++i) CHECK(out.outputs[0].bound[i] >= 2);
  }
}

TEST_CASE("reference: guarded reads, integers that wrap, ragged sums and bad data") {
  SUBCASE("a read that leaves the tensor takes the else value") {
    ir::Program p;
    add_buffer(p, "X", DType::kI8, ir::Role::kInput, {4});
    add_buffer(p, "Y", DType::kI8, ir::Role::kOutput, {4});
    const Expr i = make_var("i");
    add_stage(p, "Y", {index("i", make_int(4))},
              make_load("X", DType::kI8, {i - make_int(1)}, make_int(100, DType::kI8)) +
                  make_load("X", DType::kI8, {i}));
    std::vector<int8_t> x = {100, -3, 5, 127}, y(4);
    const auto t = run(p, {view(x, DType::kI8, {4}), view(y, DType::kI8, {4})}).outputs[0];
    CHECK(t.i == std::vector<int64_t>{-56, 97, 2, -124});
  }
  ir::Program p;
  add_buffer(p, "E", DType::kF32, ir::Role::kInput, {3, 2});
  add_buffer(p, "ids", DType::kI64, ir::Role::kInput, {5});
  add_buffer(p, "offs", DType::kI64, ir::Role::kInput, {4});
  add_buffer(p, "Y", DType::kF32, ir::Role::kOutput, {3, 2});
  const Expr b = make_var("b"), id = make_load("ids", DType::kI64, vars({"j"}));
  ir::Stage& s = add_stage(p, "Y", {index("b", make_int(3)), index("d", make_int(2))},
                           make_load("E", DType::kF32, {id, make_var("d")}));
  s.reduce = ir::Reduce::kSum;
  const Expr begin = make_load("offs", DType::kI64, {b});
  const Expr end = make_load("offs", DType::kI64, {b + make_int(1)});
  s.rvars = {index("j", end, begin)};
  ir::Check ids;
  ids.vars = {index("j", make_int(5))};
  ids.value = id;
  ids.lo = make_int(0);
  ids.hi = make_int(2);
  ids.tensor = "ids";
  ids.position = make_var("j");
  ir::Check offs;
  offs.vars = {index("b", make_int(3))};
  offs.value = end;
  offs.lo = begin;
  offs.hi = make_int(5);
  offs.tensor = "offs";
  offs.position = b + make_int(1);
  p.checks = {ids, offs};
  std::vector<float> e = {1, 2, 10, 20, 100, 200}, y(6);
  std::vector<int64_t> id_data = {2, 0, 1, 1, 0}, off_data = {0, 2, 2, 5};
  const std::vector<TensorView> params = {
      view(e, DType::kF32, {3, 2}), view(id_data, DType::kI64, {5}),
      view(off_data, DType::kI64, {4}), view(y, DType::kF32, {3, 2})};
  SUBCASE("sound data") {
    const auto out = run(p, params);
    CHECK_FALSE(out.bad);
    CHECK(out.outputs[0].f == std::vector<double>{101, 202, 0, 0, 21, 42});
  }
  SUBCASE("an id out of range costs its own rows only") {
    id_data[3] = 3;
    const auto out = run(p, params);
    REQUIRE(out.bad);
    CHECK(out.bad->position == 3);
    CHECK(out.bad->tensor == "ids");
    CHECK(out.outputs[0].written == std::vector<uint8_t>{1, 1, 1, 1, 0, 0});
  }
  SUBCASE("decreasing and far offsets") {
    off_data = {0, int64_t{1} << 60, 2, 5};
    const auto out = run(p, params);
    REQUIRE(out.bad);
    CHECK(out.bad->position == 1);
    CHECK(out.outputs[0].written == std::vector<uint8_t>{0, 0, 0, 0, 1, 1});
  }
}

TEST_CASE("reference: conversions truncate, saturate and round") {
  ir::Program p;
  add_buffer(p, "X", DType::kF32, ir::Role::kInput, {5});
  add_buffer(p, "I", DType::kI8, ir::Role::kOutput, {5});
  add_buffer(p, "H", DType::kF16, ir::Role::kOutput, {5});
  const Expr x = make_load("X", DType::kF32, vars({"i"}));
  add_stage(p, "I", {index("i", make_int(5))}, ir::make_cast(DType::kI8, x));
  add_stage(p, "H", {index("i", make_int(5))}, ir::make_cast(DType::kF16, x));
  std::vector<float> data = {-3.9f, 1e9f, NAN, -1e9f, 2049};
  std::vector<int8_t> i(5);
  std::vector<uint16_t> h(5);
  const auto out =
      run(p, {view(data, DType::kF32, {5}), view(i, DType::kI8, {5}), view(h, DType::kF16, {5})});
  CHECK(out.outputs[0].i == std::vector<int64_t>{-3, 127, 0, -128, 127});
  CHECK(out.outputs[1].f[4] == 2048);
  CHECK(out.outputs[1].f[1] == INFINITY);
  CHECK(out.outputs[1].bound == std::vector<double>{0, 0, 0, 0, 0});
}

TEST_CASE("reference: a scalar that is -0 is not the constant 0 beside it") {
  const auto problem = ops::parse_problem(
      "op f(X: f32[N], a: f32) -> (Y: f32[N]) { Y[i] = max(X[i], 0) + X[i]/a } N=2");
  REQUIRE(problem);
  std::vector<float> x = {2, -2}, y(2);
  const auto out = jit::evaluate(problem->program,
                                 std::vector{view(x, DType::kF32, {2}), view(y, DType::kF32, {2})},
                                 std::vector{-0.0}, {}, {});
  REQUIRE(out);
  CHECK(out->outputs[0].f == std::vector<double>{-INFINITY, INFINITY});
}

TEST_CASE("reference: sixteen million operations within about a second of a processor") {
  const int64_t n = 192;
  std::vector<float> a(n * n, 1.5f), b(n * n, 0.25f), c(n * n);
  const std::vector<TensorView> params = {
      view(a, DType::kF32, {n, n}), view(b, DType::kF32, {n, n}), view(c, DType::kF32, {n, n})};
  const ir::Program p = matmul(n, n, n);
  const std::clock_t start = std::clock();  // of the processor, which others use too
  run(p, params);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const double per_operation = 1e9 * seconds / jit::scalar_operations(p, {});
  MESSAGE("nanoseconds per scalar operation: " << per_operation);
  CHECK(per_operation < 200);
}
