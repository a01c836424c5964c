// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace hone::ir {

/// Positions 0..count-1 in the order that `before(context, a, b)` says of two of them, and equal
/// ones as they stand.
std::vector<size_t> stable_order(size_t count,
                                 bool (*before)(const void* context, size_t a, size_t b),
                                 const void* context);

/// The same by a lambda.
template <class Before>
std::vector<size_t> stable_order(size_t count, const Before& before) {
  return stable_order(
      count,
      [](const void* context, size_t a, size_t b) -> bool {
        return (*static_cast<const Before*>(context))(a, b);
      },
      &before);
}

/// std::stable_sort in a tenth of its code: one instance orders positions for every type.
template <class T, class Before>
void stable_sort(std::vector<T>& all, const Before& before) {
  std::vector<T> sorted;
  sorted.reserve(all.size());
  const auto positions_before = [&](size_t a, size_t b) { return before(all[a], all[b]); };
  for (const size_t i : stable_order(all.size(), positions_before)) {
    sorted.push_back(std::move(all[i]));
  }
  all = std::move(sorted);
}

}  // namespace hone::ir
