// SPDX-License-Identifier: Apache-2.0
#include "jit/native/report/nest_values.h"

#include <algorithm>

#include "jit/ir/integers.h"

namespace hone::jit {

using namespace ir;

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
      return a && b ? std::optional<int64_t>(combined(e->op, *a, *b)) : std::nullopt;
    }
  }
}

Trips trips_of(const ForStmt& loop, const NestValues& values) {
  const auto begin = values.eval(loop.begin), end = values.eval(loop.end);
  if (!begin || !end) return {begin.value_or(0), kTripsFromData, true};
  return {*begin, std::max<int64_t>(0, *end - *begin), false};
}

}  // namespace hone::jit
