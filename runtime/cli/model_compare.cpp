// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_compare.h"

#include <algorithm>
#include <cmath>

#include "jit/interp/scalar.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {
namespace {

/// How far results may lie apart, as a share of the largest: kernels that add in another order.
/// Chosen: sums of thousands of terms in f32 (not measured).
constexpr double kTolerance = 1e-3;
/// The same where values between nodes are rounded to 8 bits. A sum at the other side of a half is
/// a step away, and results follow. Tuned on: ResNet-50, BERT and MobileNetV2 in 8 bits, where it
/// is 0.005 to 0.007.
constexpr double kByteTolerance = 2e-2;

std::vector<double> values_of(const TensorRef& t) {
  std::vector<double> out;
  if (is_packed(t.type())) {
    std::vector<int64_t> shape;
    for (int i = 0; i < t.rank(); ++i) shape.push_back(t.extent(i));
    const auto* bytes = static_cast<const uint8_t*>(t.data());
    return {bytes, bytes + dense_bytes(t.type(), shape)};
  }
  for (int64_t i = 0; i < t.count(); ++i) {
    out.push_back(is_float(t.type()) ? jit::read_float(t.type(), t.data(), i)
                                     : static_cast<double>(jit::read_int(t.type(), t.data(), i)));
  }
  return out;
}

}  // namespace

std::vector<std::vector<double>> elements_of(std::span<const NamedTensor> tensors) {
  std::vector<std::vector<double>> out;
  for (const NamedTensor& t : tensors) out.push_back(values_of(t.tensor));
  return out;
}

double difference_of(const std::vector<std::vector<double>>& want,
                     const std::vector<std::vector<double>>& got) {
  double most = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double largest = 0, apart = 0;
    if (want[i].size() != got[i].size()) return INFINITY;
    for (size_t j = 0; j < want[i].size(); ++j) {
      const double a = want[i][j], b = got[i][j];
      if (std::isfinite(a)) largest = std::max(largest, std::abs(a));
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      apart = std::max(apart, std::isfinite(a - b) ? std::abs(a - b) : INFINITY);
    }
    if (apart > 0) most = std::max(most, apart / largest);
  }
  return most;
}

double tolerance_of(const ops::Graph& graph) {
  const bool bytes = std::any_of(graph.values.begin(), graph.values.end(), [](const auto& v) {
    const bool byte = v.type == DType::kI8 || v.type == DType::kU8;
    return v.kind == ops::GraphValue::kMade && byte;
  });
  return bytes ? kByteTolerance : kTolerance;
}

}  // namespace hone::runtime
