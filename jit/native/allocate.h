// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/native/lir.h"
#include "jit/native/machine.h"

namespace hone::jit {

/// Registers that allocation may use. Fewer than the target has make spills, for tests.
struct RegisterFile {
  const Machine* machine = nullptr;
  int gprs = 0;  ///< all but the stack pointer
  int vecs = 0;
  int masks = 0;
  int vector_bytes = 0;
};

/// What allocation did, for the report.
struct Allocation {
  Lir code;              ///< physical registers; spill code inserted
  int spills = 0;        ///< spill slots used
  int inner_spills = 0;  ///< accesses to spill slots inside innermost loops
  int frame_bytes = 0;
  int vec_peak = 0;  ///< most vector registers live at once, before spilling
};

/// Linear scan with loop-weighted spill costs.
Allocation allocate(const Lir& lir, const RegisterFile& file);

}  // namespace hone::jit
