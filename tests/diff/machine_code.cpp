// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/machine_code.h"

#include "jit/code.h"

namespace hone::tests {

std::string MachineCode::compile(const ir::Nest& nest, const ir::Target& target) {
  jit::CompileOptions options;
  options.debug = true;
  auto code = jit::compile_x86(nest, target, options);
  if (!code) return code.failure().message;
  auto span = memory_.add(code->bytes);
  if (!span) return span.failure().message;
  for (const jit::CodeLaunch& l : code->launches) {
    functions_.push_back(
        reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span->data + l.entry)));
  }
  return "";
}

void MachineCode::run(int launch, const int64_t* args, int64_t begin, int64_t end,
                      void* scratch) const {
  functions_[static_cast<size_t>(launch)](args, begin, end, scratch);
}

}  // namespace hone::tests
