// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Where vectors have no masks: running values in registers that some lanes alone update become
/// updates of all lanes. The other lanes keep what they had.
///   vec j: if k <= j: t[j] sum= a*B[j]  =>  vec j: t[j] = select(k <= j, t[j] + a*B[j], t[j])
/// Only conditions on indices are looked at. Reads are proved to lie inside their tensors without
/// these. Nothing where there is no such update.
std::optional<ir::Nest> with_chosen_updates(const ir::Nest& nest);

}  // namespace hone::jit
