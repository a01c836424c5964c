// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda/operands.h"

namespace hone::bench {

/// Another library on the GPU, opened at run time.
struct GpuPeer {
  std::string name;
  /// How to put one solution with operand set `set` into the peer's stream, which gives the
  /// library's error code; null where it cannot solve the problem.
  std::function<std::function<int(size_t set)>(std::shared_ptr<GpuOperands>)> prepare;
};

/// The libraries that are here, working in `stream` of the calling thread's context; `missing`
/// takes the names of the others.
std::vector<GpuPeer> gpu_peers(void* stream, std::vector<std::string>* missing);

/// Workspace of a peer's solution, freed with it.
class PeerWorkspace {
 public:
  PeerWorkspace(std::shared_ptr<GpuOperands> operands, size_t bytes);
  ~PeerWorkspace();
  PeerWorkspace(const PeerWorkspace&) = delete;
  PeerWorkspace& operator=(const PeerWorkspace&) = delete;

  /// Null where none is wanted, or there is no more.
  void* data() const { return reinterpret_cast<void*>(memory_); }
  bool missing() const { return bytes_ > 0 && memory_ == 0; }

 private:
  std::shared_ptr<GpuOperands> operands_;  ///< which keep the GPU
  size_t bytes_;
  uint64_t memory_ = 0;
};

/// C[B,M,N] = A[B,M,K] * W[B,K,N], rows of C and A one after the other; W perhaps transposed in
/// memory. What follows the product is `epilogue`.
struct GpuProduct {
  int batch = 1, m = 0, n = 0, k = 0;
  DType in = DType::kF32, out = DType::kF32;
  bool transposed = false;  ///< W lies as [N,K]
  enum Epilogue { kNone, kBias, kBiasRelu, kBiasGelu } epilogue = kNone;
};

/// The operands as a product, if they are one: matmul, batched_matmul, matmul_i8, fc and its kin.
bool as_gpu_product(const GpuOperands& operands, GpuProduct* out);

/// cudaDataType of a dtype; -1 where the libraries have none.
int library_type(DType type);

// Rows of gpu_peers; each is false in `prepare` where the library is not here.
GpuPeer open_cublas(void* stream);
GpuPeer open_cublaslt(void* stream);
GpuPeer open_cudnn(void* stream);

}  // namespace hone::bench
