// SPDX-License-Identifier: Apache-2.0
// The slices along an axis that differ, each once, the first of each, the slice that each one is
// like, and how often it comes. Without an axis elements.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/host/elements.h"

namespace hone::ops {
namespace {

constexpr HostParam kUniqueParams[] = {{"axis", -1, -1, TensorRef::kMaxRank - 1},
                                       {"sorted", 1, 0, 1}};

Result<HostResults> unique_results(std::span<const HostTensor> reads,
                                   std::span<const int64_t> numbers) {
  const HostTensor& x = reads[0];
  const int64_t axis = numbers[0];
  if (axis >= static_cast<int64_t>(x.shape.size())) {
    return Failure{ErrorCode::kSemantic,
                   fmt::format("there is no axis {} of {}", axis, x.shape.size())};
  }
  HostResults out;
  out.most = axis < 0 ? product_of(x.shape) : x.shape[static_cast<size_t>(axis)];
  out.tensors.push_back({x.type, axis < 0 ? std::vector<ir::Expr>{ir::Expr()} : x.shape});
  if (axis >= 0) out.tensors[0].shape[static_cast<size_t>(axis)] = ir::Expr();
  out.tensors.push_back({DType::kI64, {ir::Expr()}});
  out.tensors.push_back({DType::kI64, {out.most}});
  out.tensors.push_back({DType::kI64, {ir::Expr()}});
  return out;
}

/// What `count` leaves for `write`, in the scratch.
struct Sorted {
  Sorted(const HostCall& call, int64_t length)
      : keys(reinterpret_cast<uint64_t*>(call.scratch.data())),
        order(reinterpret_cast<int64_t*>(keys + length)),
        groups(order + length),
        begins(groups + length) {}

  uint64_t* keys;   ///< of elements
  int64_t* order;   ///< slices, equal ones together, in their order
  int64_t* groups;  ///< of equal slices, as they come in the results
  int64_t* begins;  ///< of each group in `order`, and the end of the last
};

int64_t unique_scratch(std::span<const std::vector<int64_t>> extents,
                       std::span<const int64_t> numbers) {
  const int64_t length =
      numbers[0] < 0 ? product_of(extents[0]) : extents[0][static_cast<size_t>(numbers[0])];
  int64_t words = 0, bytes = 0;
  if (length < 0 || __builtin_mul_overflow(length, int64_t{4}, &words) ||
      __builtin_mul_overflow(words + 1, static_cast<int64_t>(sizeof(int64_t)), &bytes)) {
    return -1;
  }
  return bytes;
}

/// Orders slices: less than 0 where `a` comes before `b`, 0 where they are equal.
class SliceOrder {
 public:
  SliceOrder(const TensorRef& x, const Slices& s, const uint64_t* keys)
      : x_(x), s_(s), keys_(s.outer * s.inner == 1 ? keys : nullptr) {}

  int compare(int64_t a, int64_t b) const {
    if (keys_) return keys_[a] < keys_[b] ? -1 : keys_[a] > keys_[b];
    for (int64_t o = 0; o < s_.outer; ++o) {
      for (int64_t i = 0; i < s_.inner; ++i) {
        const uint64_t one = key(o, a, i), other = key(o, b, i);
        if (one != other) return one < other ? -1 : 1;
      }
    }
    return 0;
  }

 private:
  uint64_t key(int64_t o, int64_t k, int64_t i) const {
    return order_key(x_.type(), bits_at(x_, (o * s_.length + k) * s_.inner + i));
  }

  const TensorRef& x_;
  const Slices& s_;
  const uint64_t* keys_;  ///< null: slices have several elements
};

Result<int64_t> count_groups(const HostCall& call) {
  const TensorRef& x = call.reads[0];
  const Slices s(x, call.numbers[0]);
  const Sorted sorted(call, s.length);
  if (s.outer * s.inner == 1) {
    for (int64_t k = 0; k < s.length; ++k) sorted.keys[k] = order_key(x.type(), bits_at(x, k));
  }
  const SliceOrder order(x, s, sorted.keys);
  std::iota(sorted.order, sorted.order + s.length, int64_t{0});
  std::sort(sorted.order, sorted.order + s.length, [&](int64_t a, int64_t b) {
    const int which = order.compare(a, b);
    return which != 0 ? which < 0 : a < b;
  });
  int64_t groups = 0;
  for (int64_t k = 0; k < s.length; ++k) {
    if (k > 0 && order.compare(sorted.order[k - 1], sorted.order[k]) == 0) continue;
    sorted.begins[groups++] = k;
  }
  sorted.begins[groups] = s.length;
  std::iota(sorted.groups, sorted.groups + groups, int64_t{0});
  if (call.numbers[1] == 0) {
    std::sort(sorted.groups, sorted.groups + groups, [&](int64_t a, int64_t b) {
      return sorted.order[sorted.begins[a]] < sorted.order[sorted.begins[b]];
    });
  }
  return groups;
}

void copy_slices(const HostCall& call, const Slices& s, const Sorted& sorted, int64_t count,
                 void* result) {
  const auto bytes = static_cast<size_t>(s.inner * size_of(call.reads[0].type()));
  auto* to = static_cast<std::byte*>(result);
  if (!to || bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(call.reads[0].data());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t p = 0; p < count; ++p) {
      const int64_t first = sorted.order[sorted.begins[sorted.groups[p]]];
      std::memcpy(to, from + static_cast<size_t>(o * s.length + first) * bytes, bytes);
      to += bytes;
    }
  }
}

void write_groups(const HostCall& call, int64_t count, std::span<void* const> results) {
  const Slices s(call.reads[0], call.numbers[0]);
  const Sorted sorted(call, s.length);
  copy_slices(call, s, sorted, count, results[0]);
  auto* const firsts = static_cast<int64_t*>(results[1]);
  auto* const places = static_cast<int64_t*>(results[2]);
  auto* const counts = static_cast<int64_t*>(results[3]);
  for (int64_t p = 0; p < count; ++p) {
    const int64_t begin = sorted.begins[sorted.groups[p]],
                  end = sorted.begins[sorted.groups[p] + 1];
    if (firsts) firsts[p] = sorted.order[begin];
    if (counts) counts[p] = end - begin;
    for (int64_t k = begin; places && k < end; ++k) places[sorted.order[k]] = p;
  }
}

}  // namespace

const HostFunction kUnique{"unique",
                           "unique<axis=.., sorted=..>(x)",
                           1,
                           1,
                           kUniqueParams,
                           unique_results,
                           unique_scratch,
                           count_groups,
                           write_groups};

}  // namespace hone::ops
