// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "jit/ir/target.h"
#include "jit/x86/encode/instructions.h"

namespace hone::jit {

/// What an operand of a form may be. The letters are explained at the top of ops.def.
enum class Shape : uint8_t {
  none,
  R,    ///< general register of 4 or 8 bytes
  N,    ///< general register of 1 or 2 bytes
  G,    ///< general register of 1, 2, 4 or 8 bytes
  R8,   ///< the low byte of a general register, whatever the operand's width
  R16,  ///< the low two bytes, likewise
  R32,  ///< general register of 4 bytes
  R64,  ///< general register of 8 bytes
  RM,
  RMS,
  R32M,
  R64M,
  M,
  MS,
  V,
  VM,
  VMS,
  W,
  WM,
  X,
  XM,
  Y,
  YM,
  Z,
  H,
  HM,
  Q,
  QM,
  E,
  EM,
  K,
  SV,  ///< memory with a vector index as wide as the instruction
  SH,  ///< memory with a vector index half as wide
  I8,
  I32,
  I64,
};

/// What happens to operand 0; the others are only read. kGather writes the destination and its
/// mask (operand 2, or Inst::mask), reads both, and wants destination, index and mask different.
enum class Access : uint8_t { kW, kRW, kR, kGather };

/// The instruction encodings a form has.
enum class Encoding : uint8_t { kBase, kBmi, kVex, kEvex, kAny, kBf16, kVnni };

/// One row of ops.def.
struct Form {
  const char* name;
  X86 op;
  Access access;
  Encoding encoding;
  std::array<Shape, 4> shapes;
};

/// All rows of ops.def, in its order; a mnemonic's forms are adjacent.
std::span<const Form> forms();

/// The mnemonic, without the underscore that keeps it apart from a C++ keyword.
std::string_view name_of(Opcode op);

/// The form that fits the operands of `inst`, or null. Pseudo instructions have none.
const Form* form_of(const Inst& inst);

/// Whether the shape allows a memory operand.
bool takes_memory(Shape shape);

/// True when operand `i` of the instruction reads its register (addresses always read theirs).
bool reads(const Inst& inst, const Form& form, int i);
/// True when operand `i` of the instruction writes its register.
bool writes(const Inst& inst, const Form& form, int i);

/// True for x ^ x and the like: the sources are equal, and do not matter.
bool is_idiom(const Inst& inst);

/// True when the instruction, of this form, needs an EVEX encoding: 64-byte registers, masks,
/// broadcasts, or physical registers from 16.
bool needs_evex(const Inst& inst, const Form& form, bool physical);

/// Why `target` cannot run the instruction (no form, an extension missing), or empty.
std::string unsupported(const Inst& inst, const ir::Target& target, bool physical);

}  // namespace hone::jit
