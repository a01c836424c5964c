// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "jit/backend.h"
#include "schedules/schedule.h"

namespace hone::runtime {

/// A problem with its schedule applied and turned into code, before it can be called.
struct Compiled {
  std::string schedule;  ///< canonical text
  ir::Program scheduled;
  const jit::Backend* backend = nullptr;  ///< that made the code
  std::shared_ptr<const jit::Code> code;
  std::string refusal;  ///< why the target's back end made none, where the interpreter's serves

  const ir::Nest& nest() const { return code->nest(); }
};

/// What the stages of a compile are asked for.
struct BuildOptions : jit::EmitOptions {
  /// A refusal of the back end is a reject; else the interpreter serves.
  bool refusal_rejects = true;
  /// No machine code: the interpreter serves.
  bool interpret = false;
  /// Makes the code; null: the target's, see backend_of.
  const jit::Backend* backend = nullptr;
};

/// Has the target's back end emit. An exception is a reject of kind kBug.
Result<Compiled, ir::Reject> compile_scheduled(schedules::Scheduled scheduled,
                                               const ir::Target& target,
                                               const BuildOptions& options = {});

/// Text to code: the same of a schedule that is read and applied first.
Result<Compiled, ir::Reject> compile_schedule(const ir::Program& program, const ir::Target& target,
                                              const std::string& schedule,
                                              const BuildOptions& options = {});

/// Makes it callable, by the same rules.
Result<std::shared_ptr<const jit::Executable>, ir::Reject> load(const Compiled& compiled,
                                                                const ir::Target& target,
                                                                const jit::Place& place);

}  // namespace hone::runtime
