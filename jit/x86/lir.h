// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/target.h"

namespace hone::jit {

/// Register classes: 64-bit general, vector (xmm/ymm/zmm by the operand's width), AVX-512 mask.
enum class RegClass : uint8_t { kGpr, kVec, kMask };

/// A virtual register before allocation, a physical number after. Virtual registers may be written
/// many times (LIR is not SSA).
struct Reg {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
  bool operator==(const Reg&) const = default;
};

/// base + index*scale + disp, or a constant of the pool (rip-relative) when `pool` >= 0.
struct Mem {
  Reg base;
  Reg index;
  int32_t disp = 0;
  int32_t pool = -1;       ///< byte offset in Lir::pool
  int32_t slot = -1;       ///< made by allocate: byte offset in the stack frame
  uint8_t scale = 1;       ///< 1, 2, 4 or 8
  bool broadcast = false;  ///< EVEX {1toN}: one element repeated
};

/// One operand, in Intel order (destination first).
struct Operand {
  enum Kind : uint8_t { kNone, kReg, kImm, kMem } kind = kNone;
  /// Bytes of a vector register (16, 32, 64) or gpr (4, 8; 1 and 2 too as the source of a mov to
  /// memory or a movzx); 0 for a mask register. Of kMem: the access's size where no register
  /// operand gives it (rows with MS: movzx, cmp with an immediate, narrowing conversions), a
  /// gather's index register's width, else 0.
  uint8_t width = 0;
  Reg reg;
  int64_t imm = 0;
  Mem mem;
};

/// The register class of a kReg operand, told by its width.
inline RegClass class_of(const Operand& o) {
  return o.width >= 16 ? RegClass::kVec : o.width == 0 ? RegClass::kMask : RegClass::kGpr;
}

/// Instructions: every row of ops.def, by mnemonic, then the pseudo instructions.
enum class X86 : uint16_t {
#define HONE_X86(name, ...) name,
#include "jit/x86/ops.def"
#undef HONE_X86
  // Pseudo instructions. `label` and the jumps hold the label's number in operands[0].imm.
  label,
  loop_begin,  ///< the label of a loop's head (operands[0].imm); depth + 1
  loop_end,    ///< after the loop's backward jump; depth - 1
  jump,
  jump_lt,  ///< signed, on the flags of the last cmp/test/sub/dec
  jump_le,
  jump_gt,
  jump_ge,
  jump_eq,
  jump_ne,
  jump_below,  ///< unsigned
  jump_above_equal,
  floor_div,  ///< r, r|imm, r|imm, 64 bits each: floor division; x/0 = 0, MIN/-1 = MIN. Slow: never
              ///< in inner loops
  floor_mod,  ///< r, r, r: x - y*floor(x/y); x%0 = 0
  reload,     ///< made by allocate: register, spill slot (Mem::slot)
  spill,      ///< made by allocate: spill slot, register
  ret,        ///< restores callee-saved registers, vzeroupper where due, returns
};

/// One instruction. With `mask` the destination is written under it: lanes off are zeroed
/// (`zeroing`) or kept (then the destination is also read); for stores they are not touched.
struct Inst {
  X86 op;
  bool zeroing = false;
  Reg mask;
  std::array<Operand, 4> operands;
};

/// A function over virtual registers, before allocation. Backward jumps go to loop_begin labels
/// only; loops are entered at their head. A register that a loop reads before writing it in the
/// same iteration has been written before the loop. Entry registers are defined at the start:
/// args, begin, end, scratch (the launch's signature).
struct Lir {
  struct RegInfo {
    RegClass cls;
    /// >= 0: the value is the pool constant at this offset, loaded by the one instruction that
    /// defines the register, so that allocation may repeat that instruction instead of spilling.
    int32_t remat = -1;
  };
  std::vector<Inst> code;
  std::vector<RegInfo> regs;
  std::vector<uint8_t> pool;  ///< constants, 64-byte aligned start, emitted after the code
  int labels = 0;
  std::array<Reg, 4> entry;  ///< args, begin, end, scratch
  bool physical = false;     ///< registers are physical numbers: allocate has run

  Reg gpr() { return make(RegClass::kGpr); }
  Reg vec() { return make(RegClass::kVec); }
  Reg mask() { return make(RegClass::kMask); }
  Reg make(RegClass cls) {
    regs.push_back({cls, -1});
    return {static_cast<int32_t>(regs.size()) - 1};
  }
  int label() { return labels++; }
};

inline Operand vreg(Reg r, int width) {
  return {Operand::kReg, static_cast<uint8_t>(width), r, 0, {}};
}
inline Operand greg(Reg r, int width = 8) {
  return {Operand::kReg, static_cast<uint8_t>(width), r, 0, {}};
}
inline Operand kreg(Reg r) { return {Operand::kReg, 0, r, 0, {}}; }
inline Operand imm(int64_t v) { return {Operand::kImm, 0, {}, v, {}}; }
inline Operand mem(Mem m, int width = 0) {
  return {Operand::kMem, static_cast<uint8_t>(width), {}, 0, m};
}

/// LIR as text, one instruction a line; virtual registers as g1 v2 k3, physical by their names.
std::string print(const Lir& lir);
/// One instruction as text; `physical` as in Lir.
std::string print(const Inst& inst, bool physical);

/// What allocation did, for the report.
struct Allocation {
  Lir code;              ///< physical registers; spill code inserted
  int spills = 0;        ///< spill slots used
  int inner_spills = 0;  ///< accesses to spill slots inside innermost loops
  int frame_bytes = 0;
  int vec_peak = 0;  ///< most vector registers live at once, before spilling
};

/// Registers that allocation may use. Fewer than the target has make spills, for tests.
struct RegisterFile {
  int gprs = 15;  ///< all but rsp
  int vecs = 16;
  int masks = 7;  ///< k1 to k7
  int vector_bytes = 32;
  bool vex_dot = false;  ///< dot products have only their VEX form
};

/// The register file of a target.
RegisterFile registers_of(const ir::Target& target);

/// Linear scan with loop-weighted spill costs.
Allocation allocate(const Lir& lir, const RegisterFile& file);
inline Allocation allocate(const Lir& lir, const ir::Target& target) {
  return allocate(lir, registers_of(target));
}

/// Machine code with its constant pool; position-independent. Appends to `out`; returns the entry's
/// offset in it. `debug` adds a prologue that fills vector and mask registers with NaN patterns.
size_t encode(const Allocation& allocation, const ir::Target& target, std::vector<uint8_t>& out,
              bool debug = false);

}  // namespace hone::jit
