// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/backend.h"

namespace hone::jit {

/// Has Halide make the code, from a program's stages. Where the build has no Halide it refuses all.
extern const Backend kHalideBackend;

/// True where the build has Halide.
bool has_halide();

}  // namespace hone::jit
