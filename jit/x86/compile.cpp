// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/compile.h"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "include/hone/error.h"
#include "jit/ir/machine.h"
#include "jit/passes/chosen_updates.h"
#include "jit/passes/loop_invariants.h"
#include "jit/passes/narrow_integers.h"
#include "jit/passes/reciprocals.h"
#include "jit/passes/short_integers.h"
#include "jit/x86/encode/encode.h"
#include "jit/x86/encode/machine.h"
#include "jit/x86/encode/print.h"
#include "jit/x86/encode/verify.h"
#include "jit/x86/select/select.h"

namespace hone::jit {
namespace {

void add_to(Report& report, const Allocation& allocation) {
  report.instructions += static_cast<int>(allocation.code.code.size());
  report.spills += allocation.spills;
  report.inner_spills += allocation.inner_spills;
  report.vec_peak = std::max(report.vec_peak, allocation.vec_peak);
  report.frame_bytes = std::max(report.frame_bytes, allocation.frame_bytes);
}

/// Refuses to go on with code that is not what the table of instructions says.
void check(const Lir& lir, const ir::Target& target) {
  if (std::string why = defect_of(lir, target); !why.empty()) throw std::logic_error(why);
}

/// Of stack that a kernel may take: it runs on threads that others made, perhaps with little.
/// Chosen: a small part of the smallest usual stack (not measured).
constexpr int kMostFrameBytes = 64 << 10;

/// Of a launch. Code of this length is several times as large as the nearest cache for code, and
/// takes seconds to find registers for. Chosen: some times as many as any schedule that paid has
/// (not measured).
constexpr size_t kMostInstructions = size_t{1} << 17;

/// Appends one launch to `code`. Throws an ir::Reject where registers or stack do not suffice; any
/// other defect of selected code is a bug, told with the LIR.
void compile_launch(const ir::Launch& launch, const Lir& lir, const ir::Target& target,
                    const EmitOptions& options, X86Code& code) {
  try {
    check(lir, target);
    if (lir.code.size() > kMostInstructions) {
      throw ir::Reject("it takes " + std::to_string(lir.code.size()) + " instructions, at most " +
                           std::to_string(kMostInstructions) + " are compiled; unroll less",
                       ir::Reject::kRefused);
    }
    const Allocation allocation = allocate(lir, target);
    check(allocation.code, target);
    if (allocation.frame_bytes > kMostFrameBytes) {
      throw ir::Reject("values that no registers were found for take " +
                           std::to_string(allocation.frame_bytes >> 10) +
                           " KB of stack, more than " + std::to_string(kMostFrameBytes >> 10) +
                           "; use smaller tiles, or unroll less",
                       ir::Reject::kRefused);
    }
    code.entries.push_back(
        static_cast<int64_t>(encode(allocation, target, code.bytes, options.debug)));
    add_to(code.report, allocation);
    if (options.keep_lir) {
      code.lir +=
          "launch " + launch.name + "\n" + print(lir) + "allocated\n" + print(allocation.code);
    }
  } catch (const std::logic_error& error) {
    throw InternalError("launch " + launch.name + ": " + error.what() + "\n" + print(lir));
  } catch (const Xbyak::Error& error) {
    throw InternalError("launch " + launch.name + ": the encoder says \"" + error.what() + "\"\n" +
                        print(lir));
  }
}

}  // namespace

Result<X86Code, ir::Reject> compile_x86(const ir::Nest& nest, const ir::Target& target,
                                        const EmitOptions& options) {
  X86Code code;
  const auto chosen = ir::machine_of(target).masks_lanes ? std::nullopt : with_chosen_updates(nest);
  const ir::Nest& whole = chosen ? *chosen : nest;
  const auto narrowed = with_narrow_integers(whole);
  const ir::Nest& narrow = narrowed ? *narrowed : whole;
  const auto shortened = with_short_integers(narrow);
  const ir::Nest& shortest = shortened ? *shortened : narrow;
  // Without instructions that fuse products with sums the parts would be no better than one.
  const auto multiplied = target.has(ir::Isa::kAvx2) ? with_reciprocals(shortest) : std::nullopt;
  const ir::Nest& divided = multiplied ? *multiplied : shortest;
  const auto moved = with_invariants_outside(divided);
  const ir::Nest& selected = moved ? *moved : divided;
  for (const ir::Launch& launch : selected.launches) {
    try {
      const Result<Lir, ir::Reject> lir = select(selected, launch, target);
      if (!lir) throw ir::Reject(lir.failure());
      compile_launch(launch, *lir, target, options, code);
    } catch (ir::Reject& why) {
      why.reason = "launch " + launch.name + ": " + why.reason;
      return std::move(why);
    }
  }
  code.report.code_bytes = static_cast<int64_t>(code.bytes.size());
  return code;
}

}  // namespace hone::jit
