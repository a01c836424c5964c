// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "bench/models/peer.h"
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
#ifdef HONE_BENCH_ONNXRUNTIME
extern const Peer kOnnxRuntime;
extern const ModelPeer kOnnxRuntimeModels;
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
#ifdef HONE_BENCH_ONNXRUNTIME
      &kOnnxRuntime,
#endif
#ifdef HONE_BENCH_HALIDE
      &kHalide,      &kHalideAdams,
#endif
      nullptr};
  return std::span(kPeers).first(std::size(kPeers) - 1);
}

std::span<const ModelPeer* const> model_peers() {
  static constexpr const ModelPeer* kPeers[] = {
#ifdef HONE_BENCH_ONNXRUNTIME
      &kOnnxRuntimeModels,
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
#ifndef HONE_BENCH_ONNXRUNTIME
      "ONNX Runtime",
#endif
      "FBGEMM"};  // no distribution has what a program is built against
  return kAbsent;
}

int64_t number_of(const ops::Problem& problem, std::string_view name, int64_t otherwise) {
  const std::string& text = problem.text;
  const std::string key = " " + std::string(name) + "=";
  const size_t at = text.find(key);
  if (at != text.npos) {
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), otherwise);
  }
  return otherwise;
}

bool is_dense(const jit::TensorView& v) {
  int64_t stride = 1;
  for (size_t d = v.shape.size(); d-- > 0;) {
    if (v.strides[d] != stride) return false;
    stride *= v.shape[d];
  }
  return true;
}

std::optional<Product> as_product(const OperandSet& set) {
  const std::string& name = set.problem().op.name();
  if (name != "matmul" && name != "fc" && name != "fc_gelu") return std::nullopt;
  const auto& p = set.params();
  for (const jit::TensorView& v : p) {
    if (v.type != DType::kF32 || !is_dense(v)) return std::nullopt;
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
