// SPDX-License-Identifier: Apache-2.0
// Vector loops: tails, types, masks, reductions over lanes, elements that do not lie together.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "jit/ir/functions/function.h"
#include "tests/unit/select_nests.h"

namespace hone::tests {
namespace {

using ir::Expr;
using ir::Mark;
using ir::Op;
using ir::Reduce;

Expr num(int64_t v) { return ir::make_int(v); }
Expr real(double v, DType type = DType::kF32) { return ir::make_float(v, type); }

void check(const NestMaker& maker, const std::string& what, double tolerance = 1e-5,
           double scale = 1) {
  for (const ir::Target& target : runnable_targets()) {
    for (const bool at_start : {false, true}) {
      const NestRun run = check_nest(maker, target, at_start, tolerance, scale);
      INFO(what, target.vector_bytes() == 64 ? " avx512" : " avx2");
      CHECK_MESSAGE(run.refusal.empty(), run.refusal);
      CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
    }
  }
}

/// Y[j] = f(X[j]) over one vector loop of `extent`, constant or known at the call.
template <class F>
NestMaker element_wise(DType from, DType to, int64_t extent, bool dynamic, const F& f) {
  NestMaker t;
  const int j = t.loop("j"), one = t.loop("one");
  const Expr n = dynamic ? t.dim("N", 0, 1000, extent) : num(extent);
  const int x = t.tensor("X", from, n), y = t.tensor("Y", to, n);
  t.launch(one, num(1),
           {ir::make_for(j, Mark::kVector, num(0), n,
                         {ir::make_store(y, t.var(j), f(t.load(x, t.var(j)), t.var(j), n))})});
  return t;
}

}  // namespace

TEST_CASE("select: vector loops end where their tensors end") {
  for (const bool dynamic : {false, true}) {
    for (const int64_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 300, 511}) {
      const auto twice = [](const Expr& x, const Expr&, const Expr&) {
        return x * real(2) + real(1);
      };
      check(element_wise(DType::kF32, DType::kF32, n, dynamic, twice),
            "n=" + std::to_string(n) + (dynamic ? " dynamic" : ""));
    }
    check(element_wise(DType::kF32, DType::kF32, dynamic ? 0 : 5, dynamic,
                       [](const Expr& x, const Expr&, const Expr&) { return x; }),
          "empty");
  }
}

TEST_CASE("select: every type is loaded, added, stored and converted to every other") {
  // Types of less than a byte are bytes by then.
  constexpr int kTypes = static_cast<int>(DType::kI4);
  for (int from = 0; from < kTypes; ++from) {
    for (int to = 0; to < kTypes; ++to) {
      const DType a = static_cast<DType>(from), b = static_cast<DType>(to);
      for (const int64_t n : {35, 67}) {
        for (const bool dynamic : {false, true}) {
          check(element_wise(
                    a, b, n, dynamic,
                    [&](const Expr& x, const Expr&, const Expr&) { return ir::make_cast(b, x); }),
                std::string(name_of(a)) + " to " + std::string(name_of(b)), 1e-6, 60);
        }
      }
    }
    const DType a = static_cast<DType>(from);
    if (a == DType::kBool) continue;
    const DType via = is_narrow_float(a) ? DType::kF32 : a;
    const auto wide = [&](const Expr& x) { return ir::make_cast(via, x); };
    for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kMin, Op::kMax, Op::kDiv, Op::kMod}) {
      if (is_float(a) && op == Op::kMod) continue;
      check(element_wise(a, a, 37, false,
                         [&](const Expr& x, const Expr&, const Expr&) {
                           const Expr other =
                               is_float(via) ? real(-1.5, via) : ir::make_int(7, via);
                           return ir::make_cast(a, ir::make_binary(op, wide(x), other));
                         }),
            std::string(name_of(a)) + " op " + std::to_string(static_cast<int>(op)), 1e-2);
    }
    for (const Op op : {Op::kEq, Op::kNe, Op::kLt, Op::kLe}) {
      check(element_wise(a, DType::kBool, 37, false,
                         [&](const Expr& x, const Expr&, const Expr&) {
                           const Expr other = is_float(via) ? real(0.5, via) : ir::make_int(7, via);
                           return ir::make_binary(op, wide(x), other);
                         }),
            std::string(name_of(a)) + " compared " + std::to_string(static_cast<int>(op)));
    }
  }
}

TEST_CASE("select: doubles are rounded to 16 bits once") {
  // Middles between neighbours and what lies a little beside them, which a single cannot tell
  // apart: of ordinary values, of denormals, at the largest.
  struct Middles {
    DType to;
    double base, half, beside;
  };
  constexpr Middles kMiddles[] = {
      {DType::kF16, 1, 0x1p-11, 0x1p-40},
      {DType::kF16, 0, 0x1p-25, 0x1p-60},
      {DType::kF16, 63392, 16, 0x1p-30},
      {DType::kBF16, 1, 0x1p-8, 0x1p-40},
  };
  for (const Middles& m : kMiddles) {
    for (const double beside : {0.0, m.beside, -m.beside}) {
      for (const double sign : {1.0, -1.0}) {
        check(element_wise(DType::kF64, m.to, 67, false,
                           [&](const Expr&, const Expr& j, const Expr&) {
                             const Expr steps = ir::make_cast(DType::kF64, j * num(2) + num(1)) *
                                                real(sign * m.half, DType::kF64);
                             const Expr middle = steps + real(sign * m.base, DType::kF64);
                             return ir::make_cast(m.to, middle + real(beside, DType::kF64));
                           }),
              std::string(name_of(m.to)) + " beside " + std::to_string(m.base), 0);
      }
    }
  }
}

TEST_CASE("select: floats become integers by truncation, within the limits") {
  for (const DType from : {DType::kF32, DType::kF64}) {
    for (const DType to : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kU8}) {
      for (const double scale : {1.0, 1e2, 1e5, 1e9, 1e10, 1e19, 1e30}) {
        check(element_wise(from, to, 40, false,
                           [&](const Expr& x, const Expr&, const Expr&) {
                             // Some lanes are NaN: 0 / 0 where x < -2 * scale.
                             const Expr zero = real(0, from);
                             const Expr nan = ir::make_binary(Op::kDiv, x - x, zero);
                             const Expr low = ir::make_binary(Op::kLt, x, real(-2 * scale, from));
                             return ir::make_cast(to, ir::make_select(low, nan, x));
                           }),
              std::string(name_of(from)) + " to " + std::string(name_of(to)), 0, scale);
      }
    }
  }
}

TEST_CASE("select: conditions on the lane") {
  const auto where = [](Op op, int64_t sign) {
    return [=](const Expr& x, const Expr& j, const Expr& n) {
      const Expr a = j * num(sign), b = sign > 0 ? n - num(9) : num(-11);
      return ir::make_select(ir::make_binary(op, a, b), x, real(-1));
    };
  };
  for (const Op op : {Op::kEq, Op::kNe, Op::kLt, Op::kLe}) {
    for (const int64_t sign : {1, -1}) {
      for (const bool dynamic : {false, true}) {
        check(element_wise(DType::kF32, DType::kF32, 45, dynamic, where(op, sign)),
              "op " + std::to_string(static_cast<int>(op)) + " sign " + std::to_string(sign));
      }
    }
  }
  check(element_wise(DType::kF32, DType::kF32, 45, true,
                     [](const Expr& x, const Expr& j, const Expr&) {
                       return x + ir::make_cast(DType::kF32, j * num(3));
                     }),
        "index as a value");
  check(element_wise(DType::kU8, DType::kBool, 77, true,
                     [](const Expr& x, const Expr& j, const Expr&) {
                       const Expr odd = ir::make_binary(Op::kLt, ir::make_int(9, DType::kU8), x);
                       return ir::make_binary(
                           Op::kOr, ir::make_unary(Op::kNot, odd),
                           ir::make_binary(Op::kAnd, odd, ir::make_binary(Op::kLt, j, num(50))));
                     }),
        "logic");
}

TEST_CASE("select: reductions over lanes") {
  for (const DType type :
       {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kI8, DType::kU8}) {
    for (const Reduce reduce : {Reduce::kSum, Reduce::kMax, Reduce::kMin, Reduce::kProd}) {
      for (const int64_t n : {3, 16, 40, 333}) {
        for (const bool dynamic : {false, true}) {
          NestMaker t;
          const int i = t.loop("i"), j = t.loop("j");
          const Expr len = dynamic ? t.dim("N", 0, 1000, n) : num(n);
          const int x = t.tensor("X", type, len * num(3)), s = t.tensor("S", type, 3);
          t.launch(i, num(3),
                   {ir::make_store(s, t.var(i),
                                   ir::make_cast(type, num(reduce == Reduce::kProd ? 1 : 0))),
                    ir::make_for(j, Mark::kVector, num(0), len,
                                 {ir::make_store(s, t.var(i), t.load(x, t.var(i) * len + t.var(j)),
                                                 reduce)})});
          check(t, std::string(name_of(type)) + " n=" + std::to_string(n), 1e-4, 0.4);
        }
      }
    }
  }
}

TEST_CASE("select: any and all over lanes") {
  for (const Reduce reduce : {Reduce::kAny, Reduce::kAll}) {
    for (const double limit : {-9.0, 0.0, 2.99, 9.0}) {
      for (const int64_t n : {5, 40, 333}) {
        NestMaker t;
        const int i = t.loop("i"), j = t.loop("j");
        const Expr len = t.dim("N", 0, 1000, n);
        const int x = t.tensor("X", DType::kF32, len), s = t.tensor("S", DType::kBool, 1);
        t.launch(
            i, num(1),
            {ir::make_store(s, num(0), ir::make_int(reduce == Reduce::kAll, DType::kBool)),
             ir::make_for(j, Mark::kVector, num(0), len,
                          {ir::make_store(
                              s, num(0), ir::make_binary(Op::kLt, real(limit), t.load(x, t.var(j))),
                              reduce)})});
        check(t, "limit " + std::to_string(limit));
      }
    }
  }
}

TEST_CASE("select: softmax of rows") {
  for (const int64_t n : {5, 64, 200}) {
    NestMaker t;
    const int i = t.loop("i"), j1 = t.loop("j1"), j2 = t.loop("j2"), j3 = t.loop("j3");
    const int x = t.tensor("X", DType::kF32, n * 4), y = t.tensor("Y", DType::kF32, n * 4);
    const int m = t.worker("m", DType::kF32, 1), s = t.worker("s", DType::kF32, 1);
    const int e = t.worker("e", DType::kF32, n);
    const Expr row = t.var(i) * num(n);
    const ir::Function* exp = ir::function_named("exp");
    t.launch(
        i, num(4),
        {ir::make_store(m, num(0), real(-1e30)), ir::make_store(s, num(0), real(0)),
         t.loop_over(j1, Mark::kVector, n,
                     {ir::make_store(m, num(0), t.load(x, row + t.var(j1)), Reduce::kMax)}),
         t.loop_over(
             j2, Mark::kVector, n,
             {ir::make_store(e, t.var(j2),
                             ir::make_call(exp, {t.load(x, row + t.var(j2)) - t.load(m, num(0))})),
              ir::make_store(s, num(0), t.load(e, t.var(j2)), Reduce::kSum)}),
         t.loop_over(j3, Mark::kVector, n,
                     {ir::make_store(
                         y, row + t.var(j3),
                         ir::make_binary(Op::kDiv, t.load(e, t.var(j3)), t.load(s, num(0))))})});
    check(t, "n=" + std::to_string(n));
  }
}

TEST_CASE("select: scalar functions") {
  for (const ir::Function& each : ir::functions()) {
    const ir::Function* fn = &each;
    for (const DType type : {DType::kF32, DType::kF64}) {
      for (const int64_t n : {1, 37}) {
        check(element_wise(type, type, n, false,
                           [&](const Expr& x, const Expr&, const Expr&) {
                             std::vector<Expr> args = {x};
                             if (fn->arity == 2) args.push_back(real(1.25, type));
                             return ir::make_call(fn, args);
                           }),
              std::string(fn->name) + " " + std::string(name_of(type)), 1e-5);
      }
    }
  }
}

TEST_CASE("select: NaN wins in minimum and maximum") {
  for (const DType type : {DType::kF32, DType::kF64}) {
    for (const Op op : {Op::kMin, Op::kMax}) {
      check(element_wise(type, type, 40, false,
                         [&](const Expr& x, const Expr& j, const Expr&) {
                           const Expr zero = real(0, type);
                           const Expr nan = ir::make_binary(Op::kDiv, x - x, zero);
                           const Expr a =
                               ir::make_select(ir::make_binary(Op::kLt, j, num(11)), nan, x);
                           const Expr b = ir::make_select(ir::make_binary(Op::kLt, num(31), j), nan,
                                                          real(0.5, type));
                           return ir::make_binary(op, a, b);
                         }),
            "lanes");
    }
    for (const Reduce reduce : {Reduce::kMax, Reduce::kMin}) {
      for (const int64_t where : {-1, 0, 17, 99, 332}) {
        NestMaker t;
        const int i = t.loop("i"), j = t.loop("j");
        const int x = t.tensor("X", type, 333), s = t.tensor("S", type, 1);
        const Expr xj = t.load(x, t.var(j));
        const Expr nan = ir::make_binary(Op::kDiv, xj - xj, real(0, type));
        t.launch(i, num(1),
                 {ir::make_store(s, num(0), real(0, type)),
                  t.loop_over(
                      j, Mark::kVector, 333,
                      {ir::make_store(
                          s, num(0),
                          ir::make_select(ir::make_binary(Op::kEq, t.var(j), num(where)), nan, xj),
                          reduce)})});
        check(t, "reduced, NaN at " + std::to_string(where));
      }
    }
  }
}

TEST_CASE("select: quotients by one divisor, whatever it is") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType type : {DType::kF32, DType::kF64}) {
    for (const double divisor : {3.0, -7.0, 0.0, kInfinity, -kInfinity, std::nan(""), 1e-45, 3e-39,
                                 1e-320, 1e30, 3e38, 1e307}) {
      for (const double scale : {1.0, 1e-30, 1e-39, 1e38, 1e300}) {
        check(element_wise(type, type, 40, false,
                           [&](const Expr& x, const Expr& j, const Expr&) {
                             const Expr big = real(kInfinity, type);
                             const Expr first = ir::make_binary(Op::kEq, j, num(3));
                             return ir::make_binary(Op::kDiv, ir::make_select(first, big, x),
                                                    real(divisor, type));
                           }),
              std::to_string(divisor) + " scale " + std::to_string(scale), 3e-7, scale);
      }
    }
  }
}

TEST_CASE("select: whole vectors are loaded without a mask, whatever is made of them") {
  // Cores do not foresee where masked loads go on: from memory they take twice the time.
  for (const ir::Target& target : runnable_targets()) {
    if (target.vector_bytes() != 64) continue;
    for (const bool constant : {true, false}) {
      NestMaker t;
      const int j = t.loop("j"), one = t.loop("one");
      const Expr n = num(4096);
      const int x = t.tensor("X", DType::kF32, n), z = t.tensor("Z", DType::kF32, n),
                y = t.tensor("Y", DType::kF32, n);
      const Expr other = constant ? real(0.5) : t.load(z, t.var(j));
      const Expr larger = ir::make_binary(Op::kMax, t.load(x, t.var(j)), other);
      t.launch(one, num(1),
               {ir::make_for(j, Mark::kVector, num(0), n, {ir::make_store(y, t.var(j), larger)})});
      const NestRun run = check_nest(t, target, true, 1e-5, 1);
      CHECK_MESSAGE(run.refusal.empty(), run.refusal);
      CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
      std::istringstream lines(run.lir);
      for (std::string line; std::getline(lines, line);) {
        const bool masked = line.find('{') != std::string::npos;
        CHECK_FALSE_MESSAGE((masked && line.find("m512[") != std::string::npos), line);
      }
    }
  }
}

}  // namespace hone::tests
