// SPDX-License-Identifier: Apache-2.0
#include "jit/native/report/nest_values.h"

#include <algorithm>

namespace hone::jit {

using namespace ir;

namespace {

/// x/0 and x%0 are 0.
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_rest(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t combine(Op op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return static_cast<int64_t>(x + y);
    case Op::kSub:
      return static_cast<int64_t>(x - y);
    case Op::kMul:
      return static_cast<int64_t>(x * y);
    case Op::kDiv:
      return floor_quotient(a, b);
    case Op::kMod:
      return floor_rest(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kAnd:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

}  // namespace

std::optional<int64_t> NestValues::eval(const Expr& e, bool zero_data) const {
  const std::optional<int64_t> data = zero_data ? std::optional<int64_t>(0) : std::nullopt;
  const auto arg = [&](size_t i) { return eval(e->args[i], zero_data); };
  switch (e->op) {
    case Op::kInt:
      return e->i;
    case Op::kVar:
      return e->id >= 0 ? loops_[static_cast<size_t>(e->id)] : data;
    case Op::kDim:
      return dims_[static_cast<size_t>(e->id)];
    case Op::kFloat:
    case Op::kScalar:
    case Op::kLoad:
    case Op::kCall:
      return data;
    case Op::kCast:
      // Of indices, which every integer type in the way holds.
      return is_float(e->type) ? data : arg(0);
    case Op::kNeg:
      if (const auto a = arg(0)) return static_cast<int64_t>(0 - static_cast<uint64_t>(*a));
      return std::nullopt;
    case Op::kNot:
      if (const auto a = arg(0)) return *a == 0;
      return std::nullopt;
    case Op::kSelect: {
      const auto condition = arg(0);
      return condition ? arg(*condition != 0 ? 1 : 2) : std::nullopt;
    }
    default: {
      const auto a = arg(0), b = arg(1);
      // One side may settle what the other leaves to data.
      if (e->op == Op::kAnd && ((a && *a == 0) || (b && *b == 0))) return 0;
      if (e->op == Op::kOr && ((a && *a != 0) || (b && *b != 0))) return 1;
      return a && b ? std::optional<int64_t>(combine(e->op, *a, *b)) : std::nullopt;
    }
  }
}

Trips trips_of(const ForStmt& loop, const NestValues& values) {
  const auto begin = values.eval(loop.begin), end = values.eval(loop.end);
  if (!begin || !end) return {begin.value_or(0), kTripsFromData, true};
  return {*begin, std::max<int64_t>(0, *end - *begin), false};
}

}  // namespace hone::jit
