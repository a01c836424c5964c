// SPDX-License-Identifier: Apache-2.0
// Stands in for what prints kernels in a build without CUDA.
#include "jit/cuda/sm90_rows.h"
#include "jit/cuda/source.h"

namespace hone::jit {

bool has_cuda() { return false; }

Result<CudaSource, ir::Reject> print_cuda(const ir::Nest&, const ir::Target&, const CudaForms&) {
  return ir::Reject("this hone was built without CUDA", ir::Reject::kRefused);
}

std::string cuda_prelude() { return {}; }

std::string sm90_rows_for(std::string_view) { return {}; }

bool needs_sm90a(std::string_view) { return false; }

}  // namespace hone::jit
