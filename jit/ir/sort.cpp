// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/sort.h"

#include <algorithm>
#include <numeric>

namespace hone::ir {

std::vector<size_t> stable_order(size_t count,
                                 bool (*before)(const void* context, size_t a, size_t b),
                                 const void* context) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return before(context, a, b); });
  return order;
}

}  // namespace hone::ir
