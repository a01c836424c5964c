// SPDX-License-Identifier: Apache-2.0
// The slices along an axis that a condition names; without an axis elements, in row-major order.
#include <fmt/format.h>

#include "ops/host/elements.h"

namespace hone::ops {
namespace {

constexpr HostParam kCompressParams[] = {{"axis", -1, -1, TensorRef::kMaxRank - 1}};

Result<HostResults> compress_results(std::span<const HostTensor> reads,
                                     std::span<const int64_t> numbers) {
  const HostTensor &x = reads[0], &condition = reads[1];
  const int64_t axis = numbers[0];
  if (axis >= static_cast<int64_t>(x.shape.size())) {
    return Failure{ErrorCode::kSemantic,
                   fmt::format("there is no axis {} of {}", axis, x.shape.size())};
  }
  if (condition.type != DType::kBool || condition.shape.size() != 1) {
    return Failure{ErrorCode::kSemantic,
                   fmt::format("its condition is {} of {} dims; bool of 1 is accepted",
                               name_of(condition.type), condition.shape.size())};
  }
  HostResults out;
  const ir::Expr length = axis < 0 ? product_of(x.shape) : x.shape[static_cast<size_t>(axis)];
  int64_t ours = 0, all = 0;
  const bool shorter =
      ir::is_const(condition.shape[0], &ours) && !(ir::is_const(length, &all) && all <= ours);
  out.most = shorter ? condition.shape[0] : length;
  out.tensors.push_back({x.type, axis < 0 ? std::vector<ir::Expr>{ir::Expr()} : x.shape});
  if (axis >= 0) out.tensors[0].shape[static_cast<size_t>(axis)] = ir::Expr();
  return out;
}

int64_t compress_scratch(std::span<const std::vector<int64_t>>, std::span<const int64_t>) {
  return 0;
}

bool is_named(const TensorRef& condition, int64_t k) {
  return element_at<uint8_t>(condition.data(), k) != 0;
}

Result<int64_t> count_named(const HostCall& call) {
  const int64_t length = Slices(call.reads[0], call.numbers[0]).length;
  int64_t all = 0;
  for (int64_t k = 0; k < call.reads[1].count(); ++k) {
    if (!is_named(call.reads[1], k)) continue;
    if (k >= length) {
      return Failure{ErrorCode::kBounds,
                     fmt::format("its condition is true at {}; there are {} slices", k, length)};
    }
    ++all;
  }
  return all;
}

void write_named(const HostCall& call, int64_t, std::span<void* const> results) {
  const TensorRef &x = call.reads[0], &condition = call.reads[1];
  const Slices s(x, call.numbers[0]);
  const auto bytes = static_cast<size_t>(s.inner * size_of(x.type()));
  auto* to = static_cast<std::byte*>(results[0]);
  if (!to || bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(x.data());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t k = 0; k < std::min(s.length, condition.count()); ++k) {
      if (!is_named(condition, k)) continue;
      std::memcpy(to, from + static_cast<size_t>(o * s.length + k) * bytes, bytes);
      to += bytes;
    }
  }
}

}  // namespace

const HostFunction kCompress{"compress",
                             "compress<axis=..>(x, condition)",
                             2,
                             2,
                             kCompressParams,
                             compress_results,
                             compress_scratch,
                             count_named,
                             write_named};

}  // namespace hone::ops
