// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/forms.h"

#include <cstdlib>

namespace hone::runtime {

Result<jit::CudaForms> cuda_forms() {
  const char* const asked = std::getenv("HONE_CUDA_AB");
  if (!asked || !*asked) return jit::CudaForms{};
  auto forms = jit::parse_cuda_forms(asked);
  if (!forms) return Failure{ErrorCode::kArgument, "HONE_CUDA_AB: " + forms.failure().message};
  return forms;
}

}  // namespace hone::runtime
