// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "jit/native/lir.h"

namespace hone::jit {

/// What an instruction does to the register that is one of its operands.
struct OperandUse {
  bool read = false;
  bool written = false;
  bool low = false;  ///< its encoding reaches the low registers only, see RegisterOrder
};

/// What an instruction does to its registers. Those of an address are read.
struct Effects {
  std::array<OperandUse, 4> operands{};
  bool low_index = false;     ///< as OperandUse::low, of the index in an address
  bool mask_written = false;  ///< Inst::mask, which is always read
};

/// What holds of all instructions of one name.
struct OpcodeFacts {
  enum Move : uint8_t {
    kNone,
    kPart,   ///< copies a register of the class to another, or the low part of it
    kWhole,  ///< copies as much as the operand's width says, from memory as well
  } move = kNone;
  uint8_t repeats = 0;  ///< a load that repeats an element of this many bytes over a register
};

/// How an immediate of more than 32 bits gets into an instruction.
enum class LongImmediate : uint8_t {
  kFits,
  kDestination,  ///< moved to the destination first, which is the other source then
  kRegister,     ///< moved to a register, which stands in for it
};

/// How the registers are numbered and given out.
struct RegisterOrder {
  std::span<const int8_t> general;  ///< physical numbers, in the order they are given out
  std::array<int8_t, 4> entry{};    ///< where the calling convention passes args .. scratch
  int8_t first_mask = 0;            ///< those before it are no masks
  uint32_t low = ~0u;               ///< as bits: registers that every encoding reaches
};

/// What neutral code asks of a machine's instructions: a table of their properties.
class Machine {
 public:
  virtual ~Machine() = default;

  virtual std::string_view name_of(Opcode op) const = 0;
  virtual OpcodeFacts facts_of(Opcode op) const = 0;
  /// What an instruction that is not pseudo does; false where it has no form of these operands.
  virtual bool effects_of(const Inst& inst, Effects& out) const = 0;

  /// The copy of a whole register; of vectors from memory as well, by `vector_load`.
  virtual Opcode move_of(RegClass cls) const = 0;
  virtual Opcode vector_load() const = 0;
  /// True where operands from memory may be one element repeated.
  virtual bool repeats_operands() const = 0;

  /// How operand `i`, an immediate of more than 32 bits, gets in.
  virtual LongImmediate long_immediate(const Inst& inst, int i) const = 0;

  /// True when a form of the instruction has memory in place of its register operand `i`.
  virtual bool takes_memory(const Inst& inst, int i) const = 0;
  /// Puts memory in its place; false, with `inst` as it was, where that makes no form.
  virtual bool fold(Inst& inst, int i, const Operand& memory) const = 0;
  /// True when the element that `load` repeats may be operand `i`, repeated there.
  virtual bool repeats(const Inst& load, const Inst& inst, int i) const = 0;

  virtual RegisterOrder registers() const = 0;
};

}  // namespace hone::jit
