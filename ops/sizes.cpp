// SPDX-License-Identifier: Apache-2.0
#include "ops/sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ops/linear.h"

namespace hone::ops {
namespace {

using ir::Expr;

/// Most elements of a tensor.
/// Fixed by: bytes and offsets stay within 64 bits.
constexpr int64_t kMaxElements = int64_t{1} << 56;

/// An upper bound of an extent, or nothing where it leaves 64 bits.
std::optional<int64_t> largest(const Expr& e, const std::vector<ir::Dim>& dims) {
  const Linear form = linear_of(e);
  __int128 sum = form.constant;
  for (const auto& [atom, coefficient] : form.terms) {
    int64_t value = 0;
    if (atom->op == ir::Op::kDim) {
      for (const ir::Dim& d : dims) {
        if (d.name == atom->name) value = coefficient > 0 ? d.hi : d.lo;
      }
    } else if (atom->op == ir::Op::kDiv || atom->op == ir::Op::kMod) {
      const auto top = largest(atom->args[0], dims);
      if (!top) return std::nullopt;
      value = coefficient > 0 ? *top : 0;
    } else if (atom->op == ir::Op::kMul) {
      const auto a = largest(atom->args[0], dims), b = largest(atom->args[1], dims);
      if (!a || !b || __builtin_mul_overflow(*a, *b, &value)) return std::nullopt;
      if (coefficient < 0) value = 0;
    }
    sum += static_cast<__int128>(coefficient) * value;
  }
  if (form.overflow || sum > kMaxElements) return std::nullopt;
  return static_cast<int64_t>(sum);
}

/// True when the shape has no more than kMaxElements elements for all its dims.
bool is_addressable(const std::vector<Expr>& shape, const std::vector<ir::Dim>& dims) {
  int64_t count = 1;
  for (const Expr& extent : shape) {
    const auto most = largest(extent, dims);
    if (!most) return false;
    if (__builtin_mul_overflow(count, std::max<int64_t>(*most, 1), &count)) return false;
  }
  return count <= kMaxElements;
}

}  // namespace

void check_addressable(LoweringContext& c, const ir::Buffer& buffer, Span span) {
  if (c.binding.checking || is_addressable(buffer.shape, c.binding.ranged)) return;
  c.error(span, "`{}` is too large: a tensor has at most 2^56 elements", buffer.name);
}

}  // namespace hone::ops
