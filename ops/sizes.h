// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/lowering_context.h"

namespace hone::ops {

/// An error at `span` where a tensor has more elements than 64 bits address, for some of its dims.
void check_addressable(LoweringContext& c, const ir::Buffer& buffer, Span span);

}  // namespace hone::ops
