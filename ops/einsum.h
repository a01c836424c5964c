// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ops/source.h"

namespace hone::ops {

/// True for `einsum ij,jk->ik ...`, which stands for the text of an op.
bool is_einsum(std::string_view text);

/// The text of the op that `einsum ij,jk->ik` at the beginning of a source stands for; empty where
/// an error says why there is none. `end`: where the bindings begin, after it.
std::string op_of_einsum(Diagnostics& diagnostics, int* end);

}  // namespace hone::ops
