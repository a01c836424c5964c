// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/issue.h"

#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Of a quotient of floats, and of integers.
/// Chosen: instructions of what CUDA compiles it to, about (not measured).
constexpr double kQuotient = 9, kWholeQuotient = 24;
/// To round to 16 bits, and back again.
/// Chosen: instructions of what CUDA compiles it to, about (not measured).
constexpr double kRounding = 2;
/// How many times as long everything takes in 64 bits.
/// Chosen: two registers for one (not measured).
constexpr double kWide = 2;

}  // namespace

double instructions_of(const Expr& e) {
  double n = 1;
  if (e->op == Op::kCall) {
    n = e->fn->device_length;
  } else if (e->op == Op::kDiv || e->op == Op::kMod) {
    n = is_float(e->type) ? kQuotient : exponent_of(e->args[1]) ? 1 : kWholeQuotient;
  }
  if (size_of(e->type) == 8) n *= kWide;
  return is_narrow_float(e->type) ? n + kRounding : n;
}

double load_instructions(DType type) { return size_of(type) < 4 ? 1 : 0; }

double store_instructions(const StoreStmt& store, DType type) {
  double n = size_of(type) < 4 ? 1 : 0;
  if (store.reduce != Reduce::kNone) n += 1;
  return n;
}

}  // namespace hone::jit
