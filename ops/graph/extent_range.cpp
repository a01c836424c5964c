// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/extent_range.h"

#include <algorithm>

#include "ops/gradient/index_terms.h"

namespace hone::ops {
namespace {

using ir::IntegerRange;

const ir::Dim* find(const std::vector<ir::Dim>& dims, std::string_view name) {
  const auto at =
      std::find_if(dims.begin(), dims.end(), [&](const ir::Dim& d) { return d.name == name; });
  return at == dims.end() ? nullptr : &*at;
}

std::optional<IntegerRange> product(const IntegerRange& a, const IntegerRange& b) {
  IntegerRange out{INT64_MAX, INT64_MIN};
  for (const int64_t x : {a.lo, a.hi}) {
    for (const int64_t y : {b.lo, b.hi}) {
      int64_t value = 0;
      if (__builtin_mul_overflow(x, y, &value)) return {};
      out = {std::min(out.lo, value), std::max(out.hi, value)};
    }
  }
  return out;
}

std::optional<IntegerRange> sum(const IntegerRange& a, const IntegerRange& b, bool minus) {
  IntegerRange out{};
  const bool over = minus ? __builtin_sub_overflow(a.lo, b.hi, &out.lo) ||
                                __builtin_sub_overflow(a.hi, b.lo, &out.hi)
                          : __builtin_add_overflow(a.lo, b.lo, &out.lo) ||
                                __builtin_add_overflow(a.hi, b.hi, &out.hi);
  return over ? std::nullopt : std::optional(out);
}

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

std::optional<IntegerRange> range_of_extent(const ir::Expr& extent,
                                            const std::vector<ir::Dim>& dims) {
  if (extent->op == ir::Op::kInt) return IntegerRange{extent->i, extent->i};
  if (extent->op == ir::Op::kDim) {
    const ir::Dim* dim = find(dims, extent->name);
    return dim ? std::optional(IntegerRange{dim->lo, dim->hi}) : std::nullopt;
  }
  if (extent->args.empty() || extent->args.size() > 2) return {};
  const auto a = range_of_extent(extent->args[0], dims);
  if (!a) return {};
  if (extent->op == ir::Op::kNeg) return sum({0, 0}, *a, true);
  const auto b = extent->args.size() == 2 ? range_of_extent(extent->args[1], dims) : std::nullopt;
  if (!b) return {};
  switch (extent->op) {
    case ir::Op::kAdd:
      return sum(*a, *b, false);
    case ir::Op::kSub:
      return sum(*a, *b, true);
    case ir::Op::kMul:
      return product(*a, *b);
    case ir::Op::kDiv:
      if (b->lo <= 0 || b->lo != b->hi) return {};
      return IntegerRange{floor_of(a->lo, b->lo), floor_of(a->hi, b->lo)};
    case ir::Op::kMod:
      if (b->lo <= 0 || b->lo != b->hi) return {};
      return IntegerRange{0, b->lo - 1};
    default:
      return {};
  }
}

ir::Expr with_fixed_dims(const ir::Expr& extent, const std::vector<ir::Dim>& dims) {
  return tidy(ir::rewrite(extent, [&](const ir::Expr& x) -> ir::Expr {
    const ir::Dim* dim = x->op == ir::Op::kDim ? find(dims, x->name) : nullptr;
    return dim && dim->lo == dim->hi ? ir::make_int(dim->lo) : ir::Expr();
  }));
}

}  // namespace hone::ops
