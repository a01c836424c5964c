// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/nest.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// Changes whenever emitted code may: what was measured under another number is a hint, not a fact.
inline constexpr int kCodeGeneration = 4;

/// Facts about generated code, for `hone show --report` and JSON.
struct Report {
  int instructions = 0;
  int spills = 0;
  int inner_spills = 0;
  int vec_peak = 0;
  int frame_bytes = 0;
  int64_t code_bytes = 0;
};

/// One launch of a Code; see ir::Launch.
struct CodeLaunch {
  std::string name;
  int64_t entry = 0;  ///< byte offset of the function in `bytes`
  ir::Expr extent;    ///< of the outer range, in constants and dims
  bool parallel = false;
  bool at_bind = false;
};

/// Position-independent machine code for a lowered program.
/// Each launch is `void fn(const int64_t* args, int64_t begin, int64_t end, void* scratch)`.
struct Code {
  std::vector<uint8_t> bytes;  ///< code and constants; entry points 64-byte aligned
  std::vector<CodeLaunch> launches;
  Report report;
  std::string lir;  ///< text, when asked for
};

/// Options of `compile_x86`.
struct CompileOptions {
  bool keep_lir = false;  ///< fill Code::lir
  bool debug = false;     ///< prologue poisons vector and mask registers with NaN
};

/// Why a backend refuses a nest (out of registers in an inner loop, an unsupported form).
struct Refusal {
  std::string message;
};

/// select -> allocate -> encode, for every launch of `nest`.
hone::Result<Code, Refusal> compile_x86(const ir::Nest& nest, const ir::Target& target,
                                        const CompileOptions& options = {});

}  // namespace hone::jit
