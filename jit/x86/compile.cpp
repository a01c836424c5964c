// SPDX-License-Identifier: Apache-2.0
#include <xbyak/xbyak.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "include/hone/error.h"
#include "jit/code.h"
#include "jit/ir/nest.h"
#include "jit/x86/lir.h"
#include "jit/x86/select.h"
#include "jit/x86/verify.h"

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

/// One launch appended to `code`. What goes wrong after selection is a bug, told with the LIR; but
/// for registers that cannot be had: false.
bool compile_launch(const ir::Launch& launch, const Lir& lir, const ir::Target& target,
                    const CompileOptions& options, Code& code) {
  try {
    check(lir, target);
    const Allocation allocation = allocate(lir, target);
    check(allocation.code, target);
    const size_t entry = encode(allocation, target, code.bytes, options.debug);
    code.launches.push_back(
        {launch.name, static_cast<int64_t>(entry), launch.extent, launch.parallel, launch.at_bind});
    add_to(code.report, allocation);
    if (options.keep_lir) {
      code.lir +=
          "launch " + launch.name + "\n" + print(lir) + "allocated\n" + print(allocation.code);
    }
  } catch (const std::length_error&) {
    return false;
  } catch (const std::logic_error& error) {
    throw InternalError("launch " + launch.name + ": " + error.what() + "\n" + print(lir));
  } catch (const Xbyak::Error& error) {
    throw InternalError("launch " + launch.name + ": the encoder says \"" + error.what() + "\"\n" +
                        print(lir));
  }
  return true;
}

}  // namespace

Result<Code, Refusal> compile_x86(const ir::Nest& nest, const ir::Target& target,
                                  const CompileOptions& options) {
  Code code;
  for (const ir::Launch& launch : nest.launches) {
    const Result<Lir, Refusal> lir = select(nest, launch, target);
    if (!lir) return Refusal{"launch " + launch.name + ": " + lir.failure().message};
    if (!compile_launch(launch, *lir, target, options, code)) {
      return Refusal{"launch " + launch.name +
                     ": more values are live at once than registers can be found for; use smaller "
                     "tiles, or unroll less"};
    }
  }
  code.report.code_bytes = static_cast<int64_t>(code.bytes.size());
  return code;
}

}  // namespace hone::jit
