// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include/hone/c.h"
#include "include/hone/call.h"
#include "include/hone/error.h"
#include "include/hone/tensor.h"

namespace hone::runtime {

/// The caller's tensor; what is wrong with the struct itself otherwise.
Result<TensorRef> c_tensor(const hone_tensor& t);

/// How a call runs; the default for null.
CallOptions c_call(const hone_call_options* options);

}  // namespace hone::runtime
