// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

namespace hone::jit {

/// Register classes: 64-bit general, vector (as wide as the operand says), mask of lanes.
enum class RegClass : uint8_t { kGpr, kVec, kMask };

/// A virtual register before allocation, a physical number after. Virtual registers may be written
/// many times (LIR is not SSA).
struct Reg {
  int32_t id = -1;
  bool valid() const { return id >= 0; }
  bool operator==(const Reg&) const = default;
};

/// base + index*scale + disp, or a constant of the pool when `pool` >= 0.
struct Mem {
  Reg base;
  Reg index;
  int32_t disp = 0;
  int32_t pool = -1;       ///< byte offset in Lir::pool
  int32_t slot = -1;       ///< made by allocate: byte offset in the stack frame
  uint8_t scale = 1;       ///< 1, 2, 4 or 8
  bool broadcast = false;  ///< one element repeated
};

/// One operand, in Intel order (destination first).
struct Operand {
  enum Kind : uint8_t { kNone, kReg, kImm, kMem } kind = kNone;
  /// Bytes of a vector register (16, 32, 64) or gpr (4, 8); 0 for a mask register. A gpr has 1 or 2
  /// as the source of a store or an extension. A kMem has the access's size where no register
  /// operand gives it: extensions, comparisons with an immediate, narrowing conversions. For a
  /// gather it is the index register's width, else 0.
  uint8_t width = 0;
  Reg reg;
  int64_t imm = 0;
  Mem mem;
};

/// The register class of a kReg operand, told by its width.
inline RegClass class_of(const Operand& o) {
  return o.width >= 16 ? RegClass::kVec : o.width == 0 ? RegClass::kMask : RegClass::kGpr;
}

/// What every machine does, in one instruction or in several: the encoder knows how.
enum class Pseudo : uint16_t {
  // `label` and the jumps hold the label's number in operands[0].imm.
  label,
  loop_begin,  ///< the label of a loop's head (operands[0].imm); depth + 1
  loop_end,    ///< after the loop's backward jump; depth - 1
  jump,
  jump_lt,  ///< signed, on the flags of the last comparison
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
  ret,        ///< restores callee-saved registers, returns
  count,
};

/// The number of the first instruction that is a machine's own.
constexpr uint16_t kFirstOfMachine = static_cast<uint16_t>(Pseudo::count);

/// True for the enumerations of instructions: `Pseudo`, and each machine's own.
template <class E>
constexpr bool kNamesInstructions = false;
template <>
inline constexpr bool kNamesInstructions<Pseudo> = true;

/// The number of an instruction: a pseudo instruction, or one of a machine. What a machine's
/// instructions do, this half asks the `Machine`.
struct Opcode {
  uint16_t number = 0;

  Opcode() = default;
  explicit constexpr Opcode(uint16_t n) : number(n) {}
  template <class E>
  requires kNamesInstructions<E>
  constexpr Opcode(E e) : number(static_cast<uint16_t>(e)) {}  // NOLINT: a name is its number
  constexpr auto operator<=>(const Opcode&) const = default;
};

/// True for labels, loops, jumps, divisions, spill, reload and ret.
constexpr bool is_pseudo(Opcode op) { return op.number < kFirstOfMachine; }

/// The pseudo instruction of a number, for `switch`; a machine's are none of the enumerators.
constexpr Pseudo pseudo_of(Opcode op) { return static_cast<Pseudo>(op.number); }

/// One instruction. With `mask` the destination is written under it. Lanes off are zeroed
/// (`zeroing`) or kept; then the destination is also read. A masked store does not touch lanes that
/// are off.
struct Inst {
  Opcode op;
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
    /// defines the register. Allocation may repeat that instruction instead of spilling.
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

}  // namespace hone::jit
