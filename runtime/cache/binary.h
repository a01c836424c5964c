// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone::runtime {

/// The key of machine code for a GPU: source, generation, compiler and GPU.
struct BinaryKey {
  std::string source;  ///< a hash of its text
  int generation = 0;  ///< of hone's generated code
  std::string nvrtc;   ///< the compiler's version, `13.0`; empty: any
  int sm = 0;
};

using Bytes = std::vector<uint8_t>;

}  // namespace hone::runtime
