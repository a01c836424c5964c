// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace hone::jit {

/// A device function that C++ does not have: its code on the device, and its meaning in C++.
struct Intrinsic {
  const char* signature;       ///< `float f32_of_f16(unsigned short h)`
  const char* device;          ///< body on the device
  const char* host;            ///< body in C++, the meaning
  const char* templates = "";  ///< `template <int N>` where it is one
};

/// All of them; the printer uses no other.
std::span<const Intrinsic> intrinsics();

}  // namespace hone::jit
