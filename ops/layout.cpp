// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "jit/ir/sort.h"
#include "ops/bindings.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr int64_t kMaxStride = int64_t{1} << 40;  // given at the call
constexpr int64_t kMaxOffset = int64_t{1} << 56;  // elements

/// The fixed extents of a buffer; empty when one is known only at the call.
std::vector<int64_t> fixed_extents(const ir::Buffer& b) {
  std::vector<int64_t> extents;
  for (const Expr& e : b.shape) {
    int64_t v = 0;
    if (!ir::is_const(e, &v)) return {};
    extents.push_back(v);
  }
  return extents;
}

/// Dims by stride, the widest first: the order in memory. Strides given at the call count as wide.
std::vector<int> order_of(const std::vector<int64_t>& strides) {
  std::vector<int> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  const auto width = [&](int i) {
    return strides[i] == kOpenStride ? std::numeric_limits<int64_t>::max() : strides[i];
  };
  ir::stable_sort(order, [&](int a, int b) { return width(a) > width(b); });
  return order;
}

bool is_identity(const std::vector<int>& order) {
  return std::is_sorted(order.begin(), order.end());
}

/// Are these strides those of dense storage in `order`? `in_byte`: elements that share a byte; a
/// row has whole bytes.
bool is_dense(const std::vector<int64_t>& extents, const std::vector<int64_t>& strides,
              const std::vector<int>& order, int64_t in_byte) {
  if (extents.empty()) return false;
  int64_t expected = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (strides[order[i]] != expected) return false;
    expected *= extents[order[i]];
    if (i + 1 == order.size()) expected = (expected + in_byte - 1) / in_byte * in_byte;
  }
  return true;
}

/// Elements of less than a byte share bytes along one dim. What lies apart along the others are
/// whole bytes.
void check_packed_strides(const Argument& a, const TensorLayout& l, const ir::Buffer& b,
                          Diagnostics& diagnostics) {
  const int in_byte = elements_per_byte(b.type);
  const auto wrong = [&](std::string why) {
    diagnostics.error(l.strides_span, fmt::format("`{}` is of {}, and a byte holds {}; {}", a.name,
                                                  name_of(b.type), in_byte, why));
  };
  if (std::count(l.strides.begin(), l.strides.end(), kOpenStride) > 0) {
    return wrong("its strides are given here, and none is left to the call");
  }
  if (std::count(l.strides.begin(), l.strides.end(), 1) != 1) {
    return wrong("the stride of one dim is 1, along which they lie side by side");
  }
  for (const int64_t stride : l.strides) {
    if (stride == 1 || stride % in_byte == 0) continue;
    return wrong(
        fmt::format("rows begin at whole bytes, so other strides are multiples of {}, "
                    "and {} is none",
                    in_byte, stride));
  }
}

/// Elements of a tensor that is written must not share memory; offsets must stay addressable.
void check_strides(const Argument& a, const TensorLayout& l, const std::vector<int64_t>& extents,
                   const std::vector<int>& order, Diagnostics& diagnostics) {
  __int128 reach = 0;
  const bool open = std::count(l.strides.begin(), l.strides.end(), kOpenStride) > 0;
  for (size_t i = order.size(); i-- > 0 && !extents.empty() && !open;) {
    const int64_t stride = l.strides[order[i]], extent = extents[order[i]];
    if (a.role != ir::Role::kInput && extent > 1 && stride <= reach) {
      diagnostics.error(l.strides_span,
                        fmt::format("`{}` is written, and with these strides two of its elements "
                                    "share memory",
                                    a.name));
      return;
    }
    reach += static_cast<__int128>(std::max<int64_t>(extent - 1, 0)) * stride;
  }
  if (reach > kMaxOffset) {
    diagnostics.error(l.strides_span,
                      fmt::format("with these strides `{}` spans more than 2^56 elements", a.name));
  }
}

void apply_strides(const Argument& a, TensorLayout& l, ir::Buffer& b, ir::Program& program,
                   Diagnostics& diagnostics) {
  const std::vector<int64_t> extents = fixed_extents(b);
  const std::vector<int> order = order_of(l.strides);
  check_strides(a, l, extents, order, diagnostics);
  if (is_packed(b.type)) check_packed_strides(a, l, b, diagnostics);
  if (diagnostics.failed()) return;
  if (is_dense(extents, l.strides, order, elements_per_byte(b.type))) {
    l.strides.clear();
    l.order = is_identity(order) ? std::vector<int>() : order;
    return;
  }
  if (!is_identity(order)) {
    for (const int dim : order) b.axes.push_back({dim});
  }
  for (const int dim : order) {
    if (l.strides[dim] != kOpenStride) {
      b.strides.push_back(ir::make_int(l.strides[dim]));
      continue;
    }
    const std::string name = fmt::format("{}.stride{}", a.name, dim);
    program.dims.push_back({name, a.role == ir::Role::kInput ? 0 : 1, kMaxStride, {}});
    b.strides.push_back(ir::make_dim(name));
  }
}

}  // namespace

void apply_layout(const Definition& d, Bindings& bindings, ir::Program& program,
                  Diagnostics& diagnostics) {
  size_t next = 0;  // buffers begin with the tensors, in order
  for (size_t i = 0; i < d.args.size(); ++i) {
    if (d.args[i].scalar) continue;
    ir::Buffer& b = program.buffers.edit(next++);
    TensorLayout& l = bindings.layouts[i];
    b.align = l.align;
    b.constant = l.constant;
    b.cold = l.cold;
    if (!l.strides.empty()) apply_strides(d.args[i], l, b, program, diagnostics);
    if (is_identity(l.order)) l.order.clear();
    for (const int dim : l.order) b.axes.push_back({dim});
  }
}

}  // namespace hone::ops
