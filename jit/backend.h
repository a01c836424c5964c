// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/kernel.h"
#include "jit/code.h"
#include "jit/ir/nest.h"
#include "jit/ir/program.h"
#include "jit/ir/reject.h"
#include "jit/ir/target.h"
#include "jit/memory.h"

namespace hone::jit {

/// What may be asked of a back end; it ignores what is not its own.
struct EmitOptions {
  bool keep_lir = false;  ///< x86: fill X86Code::lir
  bool debug = false;     ///< x86: the prologue poisons vector and mask registers with NaN
  /// x86: what the program lowers to for the target, where that is known; null: it is lowered.
  std::shared_ptr<const ir::Nest> nest = nullptr;
};

/// What a back end made of a scheduled program, before it can be called. Each derives its own.
class Code {
 public:
  explicit Code(ir::Nest nest) : nest_(std::move(nest)) {}
  virtual ~Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  /// Launches, buffers and the args struct. A back end that lowers by itself leaves bodies out.
  const ir::Nest& nest() const { return nest_; }
  /// Alignment in bytes of the address in each slot of the args struct, as the code relies on it.
  /// Empty: as the nest says.
  virtual std::span<const int64_t> slot_align() const { return {}; }

 private:
  ir::Nest nest_;
};

/// Where code becomes callable. What a device needs beside the host's memory, its back end finds in
/// a class derived from this one.
struct Place {
  Place() = default;
  explicit Place(ExecutableMemory* m) : memory(m) {}
  virtual ~Place() = default;
  ExecutableMemory* memory = nullptr;  ///< of the host; outlives what is loaded there
};

/// The part of a launch to run.
struct Part {
  int64_t begin = 0;  ///< of the outer range; a device runs all of it
  int64_t end = 0;
  void* scratch = nullptr;  ///< of one worker; devices have none
  void* stream = nullptr;   ///< of a device
};

/// Code that can be called, by several threads at a time.
class Executable {
 public:
  Executable() = default;
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Runs a part of launch `launch` on filled slots; see ir::ArgsLayout. On a device it is put into
  /// the stream, on the thread's context.
  virtual Result<Done> run(size_t launch, const int64_t* slots, const Part& part) const = 0;
  /// The launch as a function of the host; null where there is none.
  virtual Launch::Function function(size_t launch) const {
    static_cast<void>(launch);
    return nullptr;
  }
  /// The machine code in the host's memory; empty where there is none.
  virtual std::span<const uint8_t> bytes() const { return {}; }
  const Report& report() const { return report_; }

 protected:
  Report report_;
};

/// A back end: one row of the table of them (runtime/build/backends.h).
struct Backend {
  std::string_view name;
  /// True for targets that it makes code for; the first row that does serves.
  bool (*takes)(const ir::Target& target);
  /// Code for a program with its schedule applied.
  Result<std::shared_ptr<const Code>, ir::Reject> (*emit)(const ir::Program& scheduled,
                                                          const ir::Target& target,
                                                          const EmitOptions& options);
  /// Makes it callable. kUnsupported where the system forbids that; the interpreter then serves.
  Result<std::shared_ptr<const Executable>, ir::Reject> (*load)(std::shared_ptr<const Code> code,
                                                                const ir::Target& target,
                                                                const Place& place);
  /// Begins what `load` will wait for, where that takes long; null: nothing does.
  void (*load_ahead)(std::shared_ptr<const Code> code, const ir::Target& target,
                     const Place& place) = nullptr;
};

}  // namespace hone::jit
