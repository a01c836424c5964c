// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/backend.h"

/// What hone-halide.so, which is this folder and Halide, has to offer: its row, and null to another
/// version of hone, whose classes may differ. A module of its own, since Halide brings a compiler
/// that no program should load before it is asked for.
extern "C" __attribute__((visibility("default"))) const hone::jit::Backend* hone_halide_backend(
    const char* version);

namespace hone::jit {

inline constexpr char kHalideModule[] = "hone-halide.so";

}  // namespace hone::jit
