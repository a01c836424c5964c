// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/context.h"

namespace hone::jit {

LoweringContext::LoweringContext(const ir::Program& lowered, const ir::Target& machine)
    : program(lowered), target(machine), tree(lowered), groups(lowered) {
  loops.reserve(program.stages.size());
  for (const ir::Stage& s : program.stages) loops.emplace_back(s);
  active.resize(program.stages.size(), nullptr);
}

}  // namespace hone::jit
