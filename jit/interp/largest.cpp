// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/largest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/interp/scalar.h"

namespace hone::jit {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double size_of_value(double v) {
  return v == v ? std::fabs(v) : std::numeric_limits<double>::infinity();
}

double largest_of_view(const TensorView& view) {
  double out = 0;
  std::vector<int64_t> index(view.shape.size());
  for (int64_t left = view.elements(); left > 0; --left) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
    const double v = is_float(view.type)
                         ? read_float(view.type, view.data, offset)
                         : static_cast<double>(read_int(view.type, view.data, offset));
    out = std::max(out, size_of_value(v));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < view.shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

double largest_of_cells(const Cells& cells) {
  double out = 0;
  for (const double v : cells.f) out = std::max(out, size_of_value(v));
  for (const int64_t v : cells.i) out = std::max(out, std::fabs(static_cast<double>(v)));
  return out;
}

}  // namespace

std::vector<double> largest_factors(const RefState& state, const std::vector<ir::Expr>& factors) {
  std::vector<double> out;
  for (const ir::Expr& factor : factors) {
    ir::Expr load = factor;
    while (load->op == ir::Op::kCast) load = ir::Expr(load->args[0]);
    double largest = kUnknown;
    if (load->op == ir::Op::kLoad) {
      const RefBuffer& b = state.buffers[static_cast<size_t>(state.buffer_index(load->name))];
      if (b.producer < 0 && b.view) {
        largest = largest_of_view(*b.view);
      } else if (!state.on_demand) {
        largest = largest_of_cells(b.cells);
      }
    }
    if (load->guarded) {
      const ir::Expr& fill = load->args.back();
      const bool known = fill->op == ir::Op::kFloat && largest == largest;
      largest = known ? std::max(largest, size_of_value(fill->f)) : kUnknown;
    }
    out.push_back(largest);
  }
  return out;
}

}  // namespace hone::jit
