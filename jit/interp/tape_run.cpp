// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/interp/scalar.h"
#include "jit/interp/tape.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"

namespace hone::jit {
namespace {

using ir::Op;

template <class A, class R, class F>
void map(const A* a, R* d, int n, F f) {
  for (int i = 0; i < n; ++i) d[i] = f(a[i]);
}

template <class A, class R, class F>
void map(const A* a, const A* b, R* d, int n, F f) {
  for (int i = 0; i < n; ++i) d[i] = f(a[i], b[i]);
}

/// Minimum and maximum propagate NaN: a NaN on either side wins both comparisons.
double max_of(double a, double b) { return a > b || a != a ? a : b; }
double min_of(double a, double b) { return a < b || a != a ? a : b; }

int64_t wrapping(Op op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(op == Op::kAdd ? x + y : op == Op::kSub ? x - y : x * y);
}

/// Comparisons and the like of one operand type; true when `op` was one.
template <class T>
bool run_compare(Op op, const T* a, const T* b, int64_t* d, int n) {
  switch (op) {
    case Op::kEq:
      map(a, b, d, n, [](T x, T y) -> int64_t { return x == y; });
      return true;
    case Op::kNe:
      map(a, b, d, n, [](T x, T y) -> int64_t { return x != y; });
      return true;
    case Op::kLt:
      map(a, b, d, n, [](T x, T y) -> int64_t { return x < y; });
      return true;
    case Op::kLe:
      map(a, b, d, n, [](T x, T y) -> int64_t { return x <= y; });
      return true;
    default:
      return false;
  }
}

template <class T>
void run_select(const int64_t* c, const T* a, const T* b, T* d, int n) {
  for (int i = 0; i < n; ++i) d[i] = c[i] ? a[i] : b[i];
}

void run_float(const TapeInstr& in, Frame& fr, int n, int dst) {
  const double* a = fr.f(in.a);
  const double* b = in.b >= 0 ? fr.f(in.b) : nullptr;
  double* d = fr.f(dst);
  switch (in.op) {
    case Op::kNeg:
      return map(a, d, n, [](double x) { return -x; });
    case Op::kAdd:
      return map(a, b, d, n, [](double x, double y) { return x + y; });
    case Op::kSub:
      return map(a, b, d, n, [](double x, double y) { return x - y; });
    case Op::kMul:
      return map(a, b, d, n, [](double x, double y) { return x * y; });
    case Op::kDiv:
      return map(a, b, d, n, [](double x, double y) { return x / y; });
    case Op::kMod:
      return map(a, b, d, n, [](double x, double y) { return x - y * std::floor(x / y); });
    case Op::kMin:
      return map(a, b, d, n, [](double x, double y) { return min_of(x, y); });
    case Op::kMax:
      return map(a, b, d, n, [](double x, double y) { return max_of(x, y); });
    case Op::kSelect:
      return run_select(fr.i(in.a), fr.f(in.b), fr.f(in.c), d, n);
    case Op::kCall: {
      const auto eval = in.fn->eval;
      if (b) return map(a, b, d, n, [eval](double x, double y) { return eval(x, y); });
      return map(a, d, n, [eval](double x) { return eval(x, 0); });
    }
    default:
      return;
  }
}

void run_int(const TapeInstr& in, Frame& fr, int n, int dst) {
  const int64_t* a = fr.i(in.a);
  const int64_t* b = in.b >= 0 ? fr.i(in.b) : nullptr;
  int64_t* d = fr.i(dst);
  switch (in.op) {
    case Op::kNot:
      return map(a, d, n, [](int64_t x) -> int64_t { return x == 0; });
    case Op::kNeg:
      map(a, d, n, [](int64_t x) { return wrapping(Op::kSub, 0, x); });
      break;
    case Op::kAdd:
      map(a, b, d, n, [](int64_t x, int64_t y) { return wrapping(Op::kAdd, x, y); });
      break;
    case Op::kSub:
      map(a, b, d, n, [](int64_t x, int64_t y) { return wrapping(Op::kSub, x, y); });
      break;
    case Op::kMul:
      map(a, b, d, n, [](int64_t x, int64_t y) { return wrapping(Op::kMul, x, y); });
      break;
    case Op::kDiv:
      map(a, b, d, n, floor_div);
      break;
    case Op::kMod:
      map(a, b, d, n, floor_mod);
      break;
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kShl:
    case Op::kShr:
      map(a, b, d, n,
          [op = in.op, t = in.type](int64_t x, int64_t y) { return ir::bits_of(op, t, x, y); });
      break;
    case Op::kMin:
      return map(a, b, d, n, [](int64_t x, int64_t y) { return std::min(x, y); });
    case Op::kMax:
      return map(a, b, d, n, [](int64_t x, int64_t y) { return std::max(x, y); });
    case Op::kAnd:
      return map(a, b, d, n, [](int64_t x, int64_t y) { return x & y; });
    case Op::kOr:
      return map(a, b, d, n, [](int64_t x, int64_t y) { return x | y; });
    case Op::kSelect:
      return run_select(fr.i(in.a), fr.i(in.b), fr.i(in.c), d, n);
    case Op::kCall:
      // The only function of integers is the absolute value.
      map(a, d, n, [](int64_t x) { return x < 0 ? wrapping(Op::kSub, 0, x) : x; });
      break;
    default:
      run_compare(in.op, a, b, d, n);
      return;
  }
  if (in.type == DType::kI64) return;
  map(d, d, n, [t = in.type](int64_t x) { return wrap_to(t, x); });
}

void run_cast(const TapeInstr& in, Frame& fr, int n, int dst) {
  const DType t = in.type;
  if (is_float(t)) {
    if (is_float(in.from)) {
      // Widening is exact; in rounded arithmetic the operand of a narrowing is rounded already.
      if (t == DType::kF64) return map(fr.f(in.a), fr.f(dst), n, [](double x) { return x; });
      return map(fr.f(in.a), fr.f(dst), n, [t](double x) { return round_to(t, x); });
    }
    return map(fr.i(in.a), fr.f(dst), n, [t](int64_t x) {
      // Straight to f32: by way of f64 a large integer would be rounded twice.
      if (t == DType::kF32) return static_cast<double>(static_cast<float>(x));
      return round_to(t, static_cast<double>(x));
    });
  }
  if (is_float(in.from)) {
    return map(fr.f(in.a), fr.i(dst), n, [t](double x) { return int_from_float(t, x); });
  }
  map(fr.i(in.a), fr.i(dst), n, [t](int64_t x) { return wrap_to(t, x); });
}

void run_expr(const TapeInstr& in, Frame& fr, int n, int dst) {
  if (in.op == Op::kCast) {
    run_cast(in, fr, n, dst);
  } else if (is_float(in.type)) {
    run_float(in, fr, n, dst);
    const bool rounded = fr.arithmetic == Arithmetic::kRounded && in.type != DType::kF64;
    if (rounded && in.op != Op::kSelect) {
      map(fr.f(dst), fr.f(dst), n, [](double x) -> double { return static_cast<float>(x); });
    }
  } else if (is_float(in.from) && in.op != Op::kSelect) {
    run_compare(in.op, fr.f(in.a), fr.f(in.b), fr.i(dst), n);
  } else {
    run_int(in, fr, n, dst);
  }
  if (in.inexact && fr.has_bounds()) bound_instr(in, fr, n, dst);
}

/// Copies lane 0 of register `r` to the others.
void spread(const TapeInstr& in, Frame& fr, int n, int r) {
  if (is_float(in.type)) {
    std::fill_n(fr.f(r) + 1, n - 1, fr.f(r)[0]);
  } else {
    std::fill_n(fr.i(r) + 1, n - 1, fr.i(r)[0]);
  }
  if (in.inexact && fr.has_bounds()) std::fill_n(fr.e(r) + 1, n - 1, fr.e(r)[0]);
}

}  // namespace

void run_tape(const Tape& tape, Frame& fr, int n) {
  for (int r = 0; r < static_cast<int>(tape.code.size()); ++r) {
    const TapeInstr& in = tape.code[static_cast<size_t>(r)];
    const int lanes = in.varying ? n : 1;
    switch (in.kind) {
      case TapeInstr::kConst:
        continue;
      case TapeInstr::kEnv:
        if (is_float(in.type)) {
          fr.f(r)[0] = fr.float_env[in.slot];
        } else {
          fr.i(r)[0] = fr.env[in.slot];
        }
        break;
      case TapeInstr::kLane:
        std::memcpy(fr.i(r), fr.lane, static_cast<size_t>(n) * sizeof(int64_t));
        break;
      case TapeInstr::kInRange:
        map(fr.i(in.a), fr.i(r), lanes, [extent = static_cast<uint64_t>(in.i)](int64_t x) {
          return static_cast<int64_t>(static_cast<uint64_t>(x) < extent);
        });
        break;
      case TapeInstr::kLoad:
        fr.load(fr.self, in, fr, lanes, r);
        break;
      case TapeInstr::kExpr:
        run_expr(in, fr, lanes, r);
        break;
    }
    if (!in.varying && in.broadcast && n > 1) spread(in, fr, n, r);
  }
}

}  // namespace hone::jit
