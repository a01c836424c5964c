// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "include/hone/model.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// Weights come in the host's memory, which loading reads; else what is wrong. `gpu` may be null.
Result<Done> check_in_host(Gpu* gpu, std::span<const NamedTensor> weights);

/// bind_constant of a tensor in the host's memory, for a kernel wherever it runs. On a GPU the
/// tensor has a copy there for the time of the bind.
Result<std::shared_ptr<const BoundState>> bind_weight(const std::shared_ptr<const KernelState>& k,
                                                      const BoundState& base, std::string_view name,
                                                      const TensorRef& tensor);

}  // namespace hone::runtime
