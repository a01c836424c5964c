// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/cuda/forms.h"

namespace hone::runtime {

/// The forms of kernels that HONE_CUDA_AB asks for, by their names; without it those thought best.
Result<jit::CudaForms> cuda_forms();

}  // namespace hone::runtime
