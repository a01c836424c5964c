// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cases.h"

#include <fmt/format.h>

namespace hone::bench {
namespace {

constexpr const char* kChain =
    "op chain<T=f32>(A: T[N], B: T[N], C: T[N]) -> (Y: T[N]) { "
    "t[i] = relu(A[i] * B[i] + C[i]); Y[i] = tanh(t[i]) * A[i] }";

std::vector<std::string> squares(const char* op, std::initializer_list<int> sizes,
                                 const std::string& rest = "") {
  std::vector<std::string> out;
  for (const int n : sizes) out.push_back(fmt::format("{0} M={1} N={1} K={1}{2}", op, n, rest));
  return out;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<GpuGroup> moves() {
  return {
      {"element-wise",
       Against::kCopy,
       0.90,
       {"copy N=134217728", "relu N=134217728", "add N=134217728", "add N=268435456 T=bf16",
        "gelu N=134217728", "bias_gelu M=16384 N=8192 T=bf16", "where_greater N=67108864",
        "convert N=134217728 U=bf16", std::string(kChain) + " N=67108864"}},
      {"reductions",
       Against::kCopy,
       0.90,
       {"row_sum M=16384 N=16384", "row_sum M=16384 N=16384 T=bf16", "row_max M=131072 N=1024",
        "row_argmax M=16384 N=8192", "column_sum M=16384 N=8192", "sum_all M=16384 N=16384"}},
      {"softmax",
       Against::kCopy,
       0.90,
       {"softmax M=16384 N=8192", "softmax M=16384 N=8192 T=bf16", "softmax M=262144 N=512",
        "softmax M=2048 N=65536", "log_softmax M=16384 N=8192"}},
      {"normalisation",
       Against::kCopy,
       0.90,
       {"layernorm M=65536 N=2048", "layernorm M=16384 N=8192 T=bf16", "layernorm M=131072 N=768",
        "rmsnorm M=16384 N=8192"}},
      {"transposes",
       Against::kCopy,
       0.90,
       {"transpose M=16384 N=8192", "transpose M=16384 N=8192 T=bf16",
        "transpose M=16384 N=16384 T=i8", "nchw_to_nhwc N=64 C=256 H=56 W=56",
        "split_heads B=64 S=1024 H=32 D=64 T=bf16"}},
      {"embedding bags",
       Against::kCopy,
       0.80,
       {"embedding_bag R=1000000 D=128 L=2097152 B=65536",
        "embedding_bag R=1000000 D=128 L=2097152 B=65536 T=f16",
        "gather_rows R=1000000 D=128 N=1048576"}},
  };
}

std::vector<GpuGroup> products() {
  return {
      {"matmul f32", Against::kPeer, 0.85, squares("matmul", {1024, 2048, 4096, 8192})},
      {"matmul bf16/f16", Against::kPeer, 0.90,
       squares("matmul", {4096, 8192}, " T=bf16") + squares("matmul", {4096, 8192}, " T=f16")},
      {"matmul, smaller", Against::kPeer, 0,
       squares("matmul", {512}) + squares("matmul", {512, 1024, 2048}, " T=bf16") +
           squares("matmul", {512, 1024, 2048}, " T=f16")},
      {"skinny and batched",
       Against::kPeer,
       1.00,
       {"matmul M=16 N=8192 K=8192 T=bf16", "matmul M=64 N=8192 K=8192 T=bf16",
        "matmul M=256 N=4096 K=4096 T=bf16", "matmul M=8192 N=64 K=8192 T=bf16",
        "matmul M=16 N=16384 K=4096 T=f16", "batched_matmul B=64 M=512 N=512 K=128 T=bf16",
        "batched_matmul B=512 M=128 N=128 K=64 T=f16",
        "batched_matmul B=16 M=1024 N=1024 K=1024 T=bf16"}},
      {"matmul i8", Against::kPeer, 0.90,
       squares("matmul_i8", {4096, 8192}, " B@N,K") + squares("matmul_i8", {4096})},
      {"matmul i8, smaller", Against::kPeer, 0, squares("matmul_i8", {512, 1024, 2048}, " B@N,K")},
      {"fused epilogue", Against::kBare, 1 / 1.05,
       squares("fc_gelu", {4096, 8192}, " T=bf16") + squares("fc_gelu", {4096}, " T=f16") +
           squares("fc_relu", {4096}, " T=bf16")},
      {"attention",
       Against::kPeer,
       0.70,
       {"attention B=4 H=32 S=2048 L=2048 D=128 T=bf16",
        "attention B=2 H=32 S=8192 L=8192 D=128 T=bf16",
        "causal_attention B=4 H=32 S=2048 D=128 T=bf16",
        "causal_attention B=4 H=32 S=4096 D=64 T=f16"}},
      {"convolutions",
       Against::kPeer,
       0,
       {"conv2d N=64 C=64 H=56 W=56 O=64 R=3 Q=3 P=1 T=f16",
        "conv2d N=64 C=256 H=14 W=14 O=512 R=1 Q=1 T=f16",
        "conv2d N=32 C=128 H=28 W=28 O=128 R=3 Q=3 P=1",
        "conv2d N=64 C=3 H=224 W=224 O=64 R=7 Q=7 S=2 P=3 T=f16"}},
  };
}

std::vector<GpuGroup> tiny_groups() {
  return {
      {"element-wise", Against::kCopy, 0.90, {"relu N=1000", std::string(kChain) + " N=300"}},
      {"reductions", Against::kCopy, 0.90, {"row_sum M=8 N=64"}},
      {"softmax", Against::kCopy, 0.90, {"softmax M=4 N=100"}},
      {"normalisation", Against::kCopy, 0.90, {"layernorm M=4 N=64"}},
      {"transposes", Against::kCopy, 0.90, {"transpose M=16 N=24 T=bf16"}},
      {"embedding bags", Against::kCopy, 0.80, {"embedding_bag R=100 D=8 L=40 B=5"}},
      {"matmul f32", Against::kPeer, 0.85, squares("matmul", {32})},
      {"matmul bf16/f16", Against::kPeer, 0.90, squares("matmul", {32}, " T=bf16")},
      {"skinny and batched", Against::kPeer, 1.00, {"batched_matmul B=3 M=16 N=16 K=8 T=f16"}},
      {"matmul i8", Against::kPeer, 0.90, squares("matmul_i8", {32}, " B@N,K")},
      {"fused epilogue", Against::kBare, 1 / 1.05, squares("fc_gelu", {32}, " T=bf16")},
      {"attention", Against::kPeer, 0.70, {"attention B=1 H=2 S=16 L=16 D=8 T=f16"}},
      {"convolutions", Against::kPeer, 0, {"conv2d N=1 C=2 H=6 W=6 O=3 R=3 Q=3 P=1 T=f16"}},
  };
}

}  // namespace

std::vector<GpuGroup> gpu_groups(bool tiny) {
  if (tiny) return tiny_groups();
  std::vector<GpuGroup> all = moves();
  for (GpuGroup& g : products()) all.push_back(std::move(g));
  return all;
}

std::string bare_product(const std::string& problem) {
  for (const char* fused : {"fc_gelu ", "fc_relu ", "fc "}) {
    if (problem.rfind(fused, 0) == 0) {
      return "matmul " + problem.substr(std::string(fused).size());
    }
  }
  return "";
}

}  // namespace hone::bench
