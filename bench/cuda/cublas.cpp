// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/outside.h"
#include "bench/cuda/peer.h"

namespace hone::bench {
namespace {

/// The part of cuBLAS that is used, with its interface's numbers.
struct Cublas {
  OutsideLibrary library{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
  void* handle = nullptr;
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*product)(void* handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b,
                 int ldb, long long stride_b, const void* beta, void* c, int type_c, int ldc,
                 long long stride_c, int batch, int compute, int algorithm) = nullptr;

  bool open(void* stream) {
    return library.find("cublasCreate_v2", create) &&
           library.find("cublasSetStream_v2", set_stream) &&
           library.find("cublasGemmStridedBatchedEx", product) && create(&handle) == 0 &&
           set_stream(handle, stream) == 0;
  }
};

constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kDefaultAlgorithm = -1;

/// One and zero of the type that a product is computed in.
union Factor {
  float f;
  double d;
  int32_t i;
};

}  // namespace

// Column-major, so that rows of C are its columns: C' = W' * A'. In f32 nothing is rounded to tf32:
// that would be another compute type.
GpuPeer open_cublas(void* stream) {
  auto library = std::make_shared<Cublas>();
  GpuPeer peer{"cuBLAS", {}};
  if (!library->open(stream)) return peer;
  peer.prepare = [library](std::shared_ptr<GpuOperands> o) -> std::function<int(size_t)> {
    GpuProduct p;
    if (!as_gpu_product(*o, &p) || p.epilogue != GpuProduct::kNone) return {};
    const int compute = p.out == DType::kI32  ? kCompute32I
                        : p.in == DType::kF64 ? kCompute64F
                                              : kCompute32F;
    Factor one{}, zero{};
    if (compute == kCompute32I) one.i = 1;
    if (compute == kCompute32F) one.f = 1;
    if (compute == kCompute64F) one.d = 1;
    return [=](size_t set) {
      const long long m = p.m, n = p.n, k = p.k;
      return library->product(library->handle, p.transposed ? 1 : 0, 0, p.n, p.m, p.k, &one,
                              o->data(set, 1), library_type(p.in), p.transposed ? p.k : p.n, n * k,
                              o->data(set, 0), library_type(p.in), p.k, m * k, &zero,
                              o->data(set, o->count() - 1), library_type(p.out), p.n, m * n,
                              p.batch, compute, kDefaultAlgorithm);
    };
  };
  return peer;
}

}  // namespace hone::bench
