// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/product_schedules.h"

#include <fmt/format.h>

#include "jit/ir/instructions.h"

namespace hone::tests {

std::string product(const std::string& instruction, int m, int n, int k, const std::string& more) {
  const ir::Instruction& row = *ir::instruction_named(instruction);
  return fmt::format(
      "op p(A: {}[M,K], B: {}[K,N]) -> (C: {}[M,N]) {{ C[m,n] = sum[k](A[m,k] * B[k,n]) }} M={} "
      "N={} K={}{}",
      name_of(row.a), name_of(row.b), name_of(row.accumulate), m, n, k, more);
}

std::string by_warpgroups(const std::string& instruction, int depth, int step,
                          const std::string& of_b, const std::string& rest) {
  return fmt::format(
      "split C/m 128 -> m.b m.i tail=pad; split C/n 32 -> n.b n.i tail=pad; split C/m.i 64 -> m.w "
      "m.r; reorder C/m.b C/n.b C/m.w C/m.r C/n.i; stage C at C/m.w -> Ct in=warp; bind C/m.b "
      "block.y; bind C/n.b block.x; bind C/m.w thread.y; lanes C/m.r C/n.i 2 -> lane warps=4; "
      "split Ct/k {} -> k.o k.i tail=pad; split Ct/k.i {} -> k.s k.t; split Ct/m 64 -> m.o m.t; "
      "split Ct/n 32 -> n.o n.t; reorder k.o k.s Ct/m.o Ct/n.o m.t n.t k.t; stage A at Ct/k.o -> "
      "As in=shared swizzle=on; stage B at Ct/k.o -> Bs in=shared swizzle=on {}; tensorize m.t n.t "
      "k.t {}; {}",
      depth, step, of_b, instruction, rest);
}

}  // namespace hone::tests
