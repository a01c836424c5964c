// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::jit {

/// Resources of a compiled kernel, as the assembler reports them.
struct KernelResources {
  std::string symbol;
  int registers = 0;     ///< of a thread
  int local_bytes = 0;   ///< stack frame of a thread, in local memory
  int spill_bytes = 0;   ///< registers kept in local memory: bytes stored and loaded
  int shared_bytes = 0;  ///< static
};

/// The kernels that the log of a verbose compilation tells of.
std::vector<KernelResources> resources_in(std::string_view log);

/// The row of `symbol`, or null.
const KernelResources* resources_of(const std::vector<KernelResources>& all,
                                    std::string_view symbol);

}  // namespace hone::jit
