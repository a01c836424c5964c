// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/issue.h"

#include <algorithm>
#include <string_view>

namespace hone::jit {

using namespace ir;

namespace {

bool is_narrow(DType t) { return t == DType::kF16 || t == DType::kBF16; }

/// Instructions of the prelude's function for f32, as ptxas makes them for sm_90.
struct FunctionCost {
  std::string_view name;
  double instructions;
};
constexpr FunctionCost kFunctions[] = {
    {"abs", 1},    {"ceil", 1},       {"floor", 1},    {"round", 1}, {"trunc", 1},     {"exp", 7},
    {"exp2", 4},   {"expm1", 17},     {"log", 15},     {"log2", 13}, {"log1p", 18},    {"sqrt", 9},
    {"rsqrt", 18}, {"sin", 24},       {"cos", 24},     {"tanh", 20}, {"erf", 28},      {"pow", 60},
    {"gelu", 35},  {"gelu_tanh", 28}, {"sigmoid", 20}, {"silu", 22}, {"softplus", 30},
};
constexpr double kOtherFunction = 20;
/// Of a quotient of floats, and of integers.
constexpr double kQuotient = 9, kWholeQuotient = 24;
/// Of the greater or the lesser of floats, where NaN spreads.
constexpr double kEither = 3;
/// To round to 16 bits, and back again.
constexpr double kRounding = 2;
/// In 64 bits all takes about so many times as long.
constexpr double kWide = 2;

}  // namespace

double instructions_of(const Expr& e) {
  double n = 1;
  if (e->op == Op::kCall) {
    const std::string_view name = e->fn->name;
    const auto* const found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                           [&](const FunctionCost& f) { return f.name == name; });
    n = found == std::end(kFunctions) ? kOtherFunction : found->instructions;
  } else if (e->op == Op::kDiv || e->op == Op::kMod) {
    n = is_float(e->type) ? kQuotient : kWholeQuotient;
  } else if (e->op == Op::kMin || e->op == Op::kMax) {
    n = is_float(e->type) ? kEither : 1;
  }
  if (size_of(e->type) == 8) n *= kWide;
  return is_narrow(e->type) ? n + kRounding : n;
}

double load_instructions(DType type) { return size_of(type) < 4 ? 1 : 0; }

double store_instructions(const Stmt& store, DType type) {
  double n = size_of(type) < 4 ? 1 : 0;
  const bool either = store.reduce == Reduce::kMin || store.reduce == Reduce::kMax;
  if (store.reduce != Reduce::kNone) n += either && is_float(type) ? kEither : 1;
  return n;
}

}  // namespace hone::jit
