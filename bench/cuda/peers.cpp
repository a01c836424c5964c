// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/peer.h"

namespace hone::bench {
namespace {

bool dense(const jit::TensorView& v, bool swapped) {
  std::vector<size_t> order;
  for (size_t d = 0; d < v.shape.size(); ++d) order.push_back(d);
  if (swapped) std::swap(order[order.size() - 1], order[order.size() - 2]);
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (v.shape[order[i]] != 1 && v.strides[order[i]] != stride) return false;
    stride *= v.shape[order[i]];
  }
  return true;
}

}  // namespace

std::vector<GpuPeer> gpu_peers(void* stream, std::vector<std::string>* missing) {
  std::vector<GpuPeer> out;
  for (const auto open : {open_cublas, open_cublaslt, open_cudnn}) {
    GpuPeer peer = open(stream);
    if (peer.prepare) {
      out.push_back(std::move(peer));
    } else {
      missing->push_back(peer.name);
    }
  }
  return out;
}

bool as_gpu_product(const GpuOperands& o, GpuProduct* out) {
  const std::string& op = o.op();
  const bool batched = op == "batched_matmul";
  const bool bias = op == "fc" || op == "fc_relu" || op == "fc_gelu";
  if (!batched && !bias && op != "matmul" && op != "matmul_i8") return false;
  const jit::TensorView a = o.view(0, 0), w = o.view(0, 1), c = o.view(0, o.count() - 1);
  out->transposed = !dense(w, false);
  if (!dense(a, false) || !dense(c, false) || !dense(w, out->transposed)) return false;
  const size_t first = batched ? 1 : 0;
  out->batch = batched ? static_cast<int>(a.shape[0]) : 1;
  out->m = static_cast<int>(a.shape[first]);
  out->k = static_cast<int>(a.shape[first + 1]);
  out->n = static_cast<int>(w.shape[first + 1]);
  out->in = a.type;
  out->out = c.type;
  out->epilogue = !bias             ? GpuProduct::kNone
                  : op == "fc_gelu" ? GpuProduct::kBiasGelu
                  : op == "fc_relu" ? GpuProduct::kBiasRelu
                                    : GpuProduct::kBias;
  return library_type(out->in) >= 0 && library_type(out->out) >= 0;
}

// Numbers of cudaDataType.
int library_type(DType type) {
  switch (type) {
    case DType::kF32:
      return 0;
    case DType::kF64:
      return 1;
    case DType::kF16:
      return 2;
    case DType::kI8:
      return 3;
    case DType::kI32:
      return 10;
    case DType::kBF16:
      return 14;
    default:
      return -1;
  }
}

PeerWorkspace::PeerWorkspace(std::shared_ptr<GpuOperands> operands, size_t bytes)
    : operands_(std::move(operands)), bytes_(bytes) {
  if (bytes == 0) return;
  auto memory = operands_->gpu().memory().hold(static_cast<int64_t>(bytes));
  if (memory) memory_ = *memory;
}

PeerWorkspace::~PeerWorkspace() {
  if (memory_) operands_->gpu().memory().release(memory_, static_cast<int64_t>(bytes_));
}

}  // namespace hone::bench
