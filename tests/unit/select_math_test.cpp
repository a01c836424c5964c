// SPDX-License-Identifier: Apache-2.0
// The emitted scalar functions compute, to the bit, what the simulated builder does.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jit/ir/functions/function.h"
#include "jit/memory.h"
#include "jit/x86/compile.h"
#include "jit/x86/math/functions.h"
#include "tests/unit/math_sim.h"
#include "tests/unit/select_nests.h"

namespace hone::tests {
namespace {

using jit::SimBuilder;

/// Y[j] = fn(X[j]) or fn(X[j], W[j]) over one vector loop.
NestMaker call_of(const ir::Function& fn, DType type, int64_t count) {
  NestMaker t;
  const int j = t.loop("j"), one = t.loop("one");
  const ir::Expr n = ir::make_int(count);
  const int x = t.tensor("X", type, n), w = t.tensor("W", type, n), y = t.tensor("Y", type, n);
  std::vector<ir::Expr> args = {t.load(x, t.var(j))};
  if (fn.arity == 2) args.push_back(t.load(w, t.var(j)));
  const ir::Expr call = ir::make_call(&fn, args);
  t.launch(one, ir::make_int(1),
           {t.loop_over(j, ir::Mark::kVector, count, {ir::make_store(y, t.var(j), call)})});
  return t;
}

/// Runs the code of `maker` on the tensors x, w and y; why not, if it cannot.
template <class F>
std::string run(const NestMaker& maker, const ir::Target& target, std::vector<F>& x,
                std::vector<F>& w, std::vector<F>& y) {
  const auto code = jit::compile_x86(maker.nest, target, {});
  if (!code) return code.failure().reason;
  jit::ExecutableMemory memory;
  const auto span = memory.add(code->bytes);
  if (!span) return span.failure().message;
  const ir::ArgsLayout layout = ir::args_layout(maker.nest);
  int64_t status = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> args(64, 0);
  args[0] = reinterpret_cast<int64_t>(&status);
  F* const tensors[] = {x.data(), w.data(), y.data()};
  for (size_t i = 0; i < 3; ++i) {
    args[static_cast<size_t>(layout.tensor_slots[i])] = reinterpret_cast<int64_t>(tensors[i]);
  }
  using Function = void (*)(const int64_t*, int64_t, int64_t, void*);
  reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span->data + code->entries[0]))(
      args.data(), 0, 1, nullptr);
  return "";
}

/// Special values, and numbers of all magnitudes up to 2^`exponents`.
template <class F>
std::vector<F> values(unsigned seed, int count, int exponents) {
  using Limits = std::numeric_limits<F>;
  std::vector<F> v = {0,
                      -F(0),
                      Limits::infinity(),
                      -Limits::infinity(),
                      1,
                      -1,
                      Limits::quiet_NaN(),
                      Limits::denorm_min(),
                      -2,
                      Limits::lowest(),
                      Limits::max(),
                      Limits::min()};
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<F> mantissa(-2, 2), exponent(-exponents, exponents);
  while (v.size() < static_cast<size_t>(count)) {
    v.push_back(std::ldexp(mantissa(random), static_cast<int>(exponent(random))));
  }
  return v;
}

template <class F>
void check(const ir::Target& target, DType type) {
  const bool avx512 = target.has(ir::Isa::kAvx512);
  constexpr int kCount = 1003;
  for (const ir::Function& row : ir::functions()) {
    for (const int exponents : {7, std::numeric_limits<F>::max_exponent - 1}) {
      std::vector<F> x = values<F>(1, kCount, exponents), w = values<F>(2, kCount, 7), y(kCount);
      const std::string trouble = run(call_of(row, type, kCount), target, x, w, y);
      INFO(row.name, " ", name_of(type), avx512 ? " avx512" : " avx2");
      REQUIRE(trouble == "");
      int wrong = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        SimBuilder<F> b{.avx512 = avx512};
        const F expected = jit::expand<F>(b, row.expansion, x[i], w[i]);
        const bool same =
            std::isnan(expected) ? std::isnan(y[i]) : SimBuilder<F>::bits(expected) == b.bits(y[i]);
        if (same || wrong++ > 0) continue;
        FAIL_CHECK("of ", x[i], " and ", w[i], " is ", y[i], " where ", expected, " is right");
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("select: what only large angles need is behind their branch") {
  NestMaker t;
  const int i = t.loop("i"), j = t.loop("j");
  const int y = t.tensor("Y", DType::kF32, 7 * 16);
  const ir::Expr at = t.var(i) * ir::make_int(16) + t.var(j);
  const ir::Expr value = ir::make_call(ir::function_named("cos"), {ir::make_cast(DType::kF32, at)});
  const ir::Expr some = ir::make_binary(ir::Op::kLt, t.var(i), ir::make_int(5));
  t.launch(
      i, ir::make_int(7),
      {ir::make_if(some, t.loop_over(j, ir::Mark::kVector, 16, {ir::make_store(y, at, value)}))});
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target);
    CHECK_MESSAGE(run.error.empty(), run.error);
    const char* const rounding = target.has(ir::Isa::kAvx512) ? "vrndscaleps" : "vroundps";
    CHECK_MESSAGE(run.lir.find("jump_eq") < run.lir.find(rounding), run.lir);
  }
}

TEST_CASE("select: scalar functions are emitted as written") {
  for (const ir::Target& target : runnable_targets()) {
    check<float>(target, DType::kF32);
    check<double>(target, DType::kF64);
  }
}

}  // namespace
}  // namespace hone::tests
