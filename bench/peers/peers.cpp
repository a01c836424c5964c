// SPDX-License-Identifier: Apache-2.0
#include "bench/peer.h"

namespace hone::bench {

#ifdef HONE_BENCH_OPENBLAS
extern const Peer kOpenBlas;
#endif
#ifdef HONE_BENCH_ONEDNN
extern const Peer kOneDnn;
#endif
#ifdef HONE_BENCH_EIGEN
extern const Peer kEigen;
#endif
#ifdef HONE_BENCH_LIBXSMM
extern const Peer kLibxsmm;
#endif
#ifdef HONE_BENCH_HALIDE
extern const Peer kHalide, kHalideAdams;
#endif

std::span<const Peer* const> peers() {
  static constexpr const Peer* kPeers[] = {
#ifdef HONE_BENCH_OPENBLAS
      &kOpenBlas,
#endif
#ifdef HONE_BENCH_ONEDNN
      &kOneDnn,
#endif
#ifdef HONE_BENCH_EIGEN
      &kEigen,
#endif
#ifdef HONE_BENCH_LIBXSMM
      &kLibxsmm,
#endif
#ifdef HONE_BENCH_HALIDE
      &kHalide,   &kHalideAdams,
#endif
      nullptr};
  return std::span(kPeers).first(std::size(kPeers) - 1);
}

std::span<const char* const> absent_peers() {
  static constexpr const char* kAbsent[] = {
#ifndef HONE_BENCH_OPENBLAS
      "OpenBLAS",
#endif
#ifndef HONE_BENCH_ONEDNN
      "oneDNN",
#endif
#ifndef HONE_BENCH_EIGEN
      "Eigen",
#endif
#ifndef HONE_BENCH_LIBXSMM
      "LIBXSMM",
#endif
#ifndef HONE_BENCH_HALIDE
      "Halide",
#endif
      // Distributions do not have these two with what a program is built against.
      "FBGEMM", "ONNX Runtime"};
  return kAbsent;
}

std::optional<Product> as_product(const OperandSet& set) {
  const std::string& name = set.problem().op.name();
  if (name != "matmul" && name != "fc" && name != "fc_gelu") return std::nullopt;
  const auto& p = set.params();
  for (const jit::TensorView& v : p) {
    if (v.type != DType::kF32) return std::nullopt;
    int64_t stride = 1;
    for (size_t d = v.shape.size(); d-- > 0;) {
      if (v.strides[d] != stride) return std::nullopt;
      stride *= v.shape[d];
    }
  }
  Product out;
  out.m = p[0].shape[0];
  out.k = p[0].shape[1];
  out.n = p[1].shape[1];
  out.x = static_cast<const float*>(p[0].data);
  out.w = static_cast<const float*>(p[1].data);
  out.bias = p.size() > 3 ? static_cast<const float*>(p[2].data) : nullptr;
  out.y = static_cast<float*>(p.back().data);
  return out;
}

}  // namespace hone::bench
