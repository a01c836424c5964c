// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/model/model_state.h"

namespace hone::runtime {

/// A graph as it runs, in Graphviz's DOT: a cluster for each kernel, with a box for each of its
/// nodes. Tensors that leave a kernel, and those of the caller, are ellipses.
std::string dot_of(const ModelState& model);

}  // namespace hone::runtime
