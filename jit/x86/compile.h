// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/backend.h"
#include "jit/code.h"
#include "jit/ir/nest.h"
#include "jit/ir/reject.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// Position-independent machine code for a lowered program.
/// Each launch is `void fn(const int64_t* args, int64_t begin, int64_t end, void* scratch)`.
struct X86Code {
  std::vector<uint8_t> bytes;    ///< code and constants; entry points 64-byte aligned
  std::vector<int64_t> entries;  ///< per launch of the nest: byte offset of its function
  Report report;
  std::string lir;  ///< text, when asked for
};

/// select -> allocate -> encode, for every launch of `nest`.
Result<X86Code, ir::Reject> compile_x86(const ir::Nest& nest, const ir::Target& target,
                                        const EmitOptions& options = {});

/// The machine code in what this back end emitted; null where another did.
const X86Code* x86_code(const Code& code);

/// Machine code for x86-64, from AVX2 on.
extern const Backend kX86Backend;

}  // namespace hone::jit
