// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/lines.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::runtime {
namespace {

size_t dim_of(const ir::Buffer& b, size_t axis) {
  return b.axes.empty() ? axis : static_cast<size_t>(b.axes[axis].dim);
}

/// Elements from one index along an axis to the next; axes from the outermost on.
std::vector<double> strides_of(const ir::Buffer& b, const Domain& domain) {
  std::vector<double> strides(b.shape.size(), 1);
  for (size_t a = b.shape.size(); a-- > 0;) {
    if (!b.strides.empty()) {
      strides[a] = domain.closed(b.strides[a]);
    } else if (a + 1 < b.shape.size()) {
      strides[a] = strides[a + 1] * domain.closed(b.shape[dim_of(b, a + 1)]);
    }
  }
  return strides;
}

}  // namespace

bool is_repeated(const ir::Buffer& b, size_t dim, const Domain& domain) {
  for (size_t a = 0; a < b.strides.size(); ++a) {
    if (dim_of(b, a) == dim && domain.closed(b.strides[a]) == 0) return true;
  }
  return false;
}

double distinct(const ir::Buffer& b, const Domain& domain) {
  double count = 1;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    if (!is_repeated(b, d, domain)) count *= domain.closed(b.shape[d]);
  }
  return std::max(count, 1.0);
}

bool reads_data(const ir::Expr& index) {
  bool found = false;
  ir::visit(index, [&](const ir::Expr& x) { found = found || x->op == ir::Op::kLoad; });
  return found;
}

double elements_of(const ir::Buffer& b, std::span<const ir::Expr> indices, const Domain& domain) {
  std::vector<ir::Expr> shape, moving;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    if (is_repeated(b, d, domain)) continue;
    shape.push_back(b.shape[d]);
    moving.push_back(indices[d]);
  }
  return domain.elements(shape, moving);
}

double row_of(const ir::Buffer& b, std::span<const ir::Expr> indices, const Domain& domain) {
  double row = 1;
  for (size_t a = b.shape.size(); a-- > 0;) {
    const size_t d = dim_of(b, a);
    if (is_repeated(b, d, domain)) continue;
    const bool dense = b.strides.empty() || domain.closed(b.strides[a]) == row;
    if (!dense || reads_data(indices[d])) break;
    const double values = domain.elements({b.shape[d]}, indices.subspan(d, 1));
    row *= values;
    if (values < domain.closed(b.shape[d])) break;
  }
  return std::max(row, 1.0);
}

double elements_in_line(const ir::Buffer& b, std::span<const ir::Expr> indices,
                        const Domain& domain, double unit) {
  const double all = std::max(1.0, unit / size_of(b.type));
  const std::vector<double> strides = strides_of(b, domain);
  Vars known;  // what is one value in a line
  for (size_t a = 0; a < strides.size(); ++a) {
    const ir::Expr& index = indices[dim_of(b, a)];
    if (strides[a] >= all && is_one_to_one(index)) known.merge(vars_of(index));
  }
  double most = 1;
  for (size_t a = 0; a < strides.size(); ++a) {
    if (strides[a] >= all || strides[a] <= 0) continue;
    const size_t d = dim_of(b, a);
    const Vars own = vars_of(indices[d]);
    if (std::includes(known.begin(), known.end(), own.begin(), own.end())) continue;
    const double places = std::ceil(all / strides[a] / domain.step(indices[d]));
    most *= std::min(places, std::max(1.0, domain.elements({b.shape[d]}, indices.subspan(d, 1))));
  }
  return std::min(most, all);
}

}  // namespace hone::runtime
