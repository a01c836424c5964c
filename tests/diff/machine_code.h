// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/memory.h"

namespace hone::tests {

/// A nest as machine code of this process.
class MachineCode {
 public:
  /// Compiles; why the back end refuses, or "".
  std::string compile(const ir::Nest& nest, const ir::Target& target);
  /// Calls the function of a launch.
  void run(int launch, const int64_t* args, int64_t begin, int64_t end, void* scratch) const;

 private:
  using Function = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);
  jit::ExecutableMemory memory_;
  std::vector<Function> functions_;
};

}  // namespace hone::tests
