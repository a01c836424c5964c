// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/in_group.h"

#include "jit/ir/group.h"

namespace hone::schedules {

void keep_in_group(ir::Program& program, const std::string& made, const std::string& of) {
  const ir::Stage& whole = *program.stage(of);
  const size_t part = program.stages.index_of(*program.stage(made));
  const ir::Groups groups(program);
  if (!groups.together(part, program.stages.index_of(whole))) return;
  const ir::Place at = whole.at;
  program.stages.edit(part).at = at;
}

}  // namespace hone::schedules
