// SPDX-License-Identifier: Apache-2.0
// The places of elements that are not 0, in row-major order: `p[d,k]` is index d of element k.

#include "ops/host/elements.h"

namespace hone::ops {
namespace {

Result<HostResults> nonzero_results(std::span<const HostTensor> reads, std::span<const int64_t>) {
  const HostTensor& x = reads[0];
  if (x.shape.empty()) return Failure{ErrorCode::kSemantic, "its argument has no dims"};
  const auto rank = static_cast<int64_t>(x.shape.size());
  return HostResults{{{DType::kI64, {ir::make_int(rank), ir::Expr()}}}, product_of(x.shape)};
}

int64_t nonzero_scratch(std::span<const std::vector<int64_t>>, std::span<const int64_t>) {
  return 0;
}

/// Calls `f` with the number of each element that is not 0.
template <class F>
void each_nonzero(const TensorRef& x, const F& f) {
  with_bits(x.type(), [&](auto zero) {
    using Bits = decltype(zero);
    // Of floats both zeros are 0.
    const auto sign = static_cast<Bits>(Bits{1} << (bit_width_of(x.type()) - 1));
    const Bits mask = is_float(x.type()) ? static_cast<Bits>(~sign) : static_cast<Bits>(~Bits{0});
    const int64_t count = x.count();
    for (int64_t i = 0; i < count; ++i) {
      if ((element_at<Bits>(x.data(), i) & mask) != 0) f(i);
    }
  });
}

Result<int64_t> count_nonzero(const HostCall& call) {
  int64_t all = 0;
  each_nonzero(call.reads[0], [&](int64_t) { ++all; });
  return all;
}

void write_nonzero(const HostCall& call, int64_t count, std::span<void* const> results) {
  const TensorRef& x = call.reads[0];
  auto* const places = static_cast<int64_t*>(results[0]);
  if (!places) return;
  int64_t k = 0;
  each_nonzero(x, [&](int64_t place) {
    for (int d = x.rank() - 1; d >= 0; --d) {
      places[d * count + k] = place % x.extent(d);
      place /= x.extent(d);
    }
    ++k;
  });
}

}  // namespace

const HostFunction kNonzero{"nonzero",     "nonzero(x)", 1, 1, {}, nonzero_results, nonzero_scratch,
                            count_nonzero, write_nonzero};

}  // namespace hone::ops
