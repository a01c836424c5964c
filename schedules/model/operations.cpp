// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <utility>

#include "schedules/model/model.h"

namespace hone::schedules {

using namespace ir;

namespace {

/// Instructions that a scalar function expands to, on vectors of floats.
double length_of(std::string_view name) {
  static constexpr std::pair<std::string_view, double> kLengths[] = {
      {"abs", 1},    {"ceil", 1},      {"cos", 20},  {"erf", 18},  {"exp", 10},       {"exp2", 9},
      {"expm1", 14}, {"floor", 1},     {"gelu", 22}, {"log", 16},  {"gelu_tanh", 18}, {"log1p", 18},
      {"log2", 16},  {"pow", 40},      {"round", 1}, {"rsqrt", 6}, {"sigmoid", 14},   {"silu", 15},
      {"sin", 20},   {"softplus", 30}, {"sqrt", 4},  {"tanh", 16}, {"trunc", 1}};
  for (const auto& row : kLengths) {
    if (row.first == name) return row.second;
  }
  return 20;
}

/// True for an integer division by a power of two.
bool shifts(const Expr& e) {
  int64_t divisor = 0;
  return is_const(e->args[1], &divisor) && divisor > 0 && (divisor & (divisor - 1)) == 0;
}

}  // namespace

double operations_of(const Expr& e) {
  double n = 0;
  switch (e->op) {
    case Op::kInt:
    case Op::kFloat:
    case Op::kVar:
    case Op::kDim:
    case Op::kScalar:
      return 0;
    case Op::kLoad:
      return e->guarded ? 1 + operations_of(e->args.back()) : 0;
    case Op::kCall:
      n = length_of(e->fn->name);
      break;
    case Op::kDiv:
      n = is_float(e->type) ? 4 : shifts(e) ? 2 : 20;
      break;
    case Op::kMod:
      n = shifts(e) ? 1 : 24;
      break;
    default:
      n = 1;
      break;
  }
  for (const Expr& a : e->args) n += operations_of(a);
  return n;
}

}  // namespace hone::schedules
