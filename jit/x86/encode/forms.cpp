// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/encode/forms.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace hone::jit {
namespace {

using enum Shape;
using enum Access;
using enum Encoding;

constexpr Form kForms[] = {
#define HONE_X86(name, access, encoding, ...) {#name, X86::name, access, encoding, {__VA_ARGS__}},
#define HONE_X86_ALSO HONE_X86
#include "jit/x86/encode/ops.def"
#undef HONE_X86
};
constexpr int kFormCount = static_cast<int>(std::size(kForms));
constexpr int kOpCount = static_cast<int>(X86::after_last) - kFirstOfMachine;

/// The place of an instruction in tables of the machine's own.
constexpr int index_of(Opcode op) { return op.number - kFirstOfMachine; }

/// The first row of every mnemonic; one entry more than there are mnemonics.
constexpr std::array<int16_t, kOpCount + 1> kFirst = [] {
  std::array<int16_t, kOpCount + 1> first{};
  for (int i = kFormCount - 1; i >= 0; --i) first[index_of(kForms[i].op)] = i;
  first[kOpCount] = kFormCount;
  return first;
}();

constexpr bool adjacent() {
  for (int i = 1; i < kFormCount; ++i) {
    if (kForms[i].op < kForms[i - 1].op) return false;
  }
  return true;
}
static_assert(adjacent(), "the forms of a mnemonic stand together in ops.def");

constexpr std::string_view kPseudoNames[] = {
    "label",     "loop_begin", "loop_end", "jump",    "jump_lt",    "jump_le",
    "jump_gt",   "jump_ge",    "jump_eq",  "jump_ne", "jump_below", "jump_above_equal",
    "floor_div", "floor_mod",  "reload",   "spill",   "ret"};

/// Widths of registers as bits: 0 (masks), 1, 2, 4, 8, 16, 32, 64 bytes.
constexpr uint8_t width_bit(int width) {
  return static_cast<uint8_t>(width == 0 ? 1 : 2 << __builtin_ctz(static_cast<unsigned>(width)));
}

constexpr uint8_t widths_of(Shape shape) {
  constexpr uint8_t b1 = width_bit(1), b2 = width_bit(2), b4 = width_bit(4), b8 = width_bit(8);
  constexpr uint8_t x = width_bit(16), y = width_bit(32), z = width_bit(64);
  switch (shape) {
    case R:
    case RM:
    case RMS:
      return b4 | b8;
    case N:
      return b1 | b2;
    case G:
    case R8:
    case R16:
      return b1 | b2 | b4 | b8;
    case R32:
    case R32M:
      return b4;
    case R64:
    case R64M:
      return b8;
    case V:
    case VM:
    case VMS:
      return x | y | z;
    case W:
    case WM:
      return y | z;
    case X:
    case XM:
    case E:
    case EM:
    case Q:
    case QM:
      return x;
    case Y:
    case YM:
      return y;
    case Z:
      return z;
    case H:
    case HM:
      return x | y;
    case K:
      return width_bit(0);
    default:
      return 0;
  }
}

constexpr std::array<uint8_t, static_cast<int>(I64) + 1> kWidths = [] {
  std::array<uint8_t, static_cast<int>(I64) + 1> widths{};
  for (size_t s = 0; s < widths.size(); ++s) widths[s] = widths_of(static_cast<Shape>(s));
  return widths;
}();

bool fits(Shape shape, const Operand& o) {
  switch (o.kind) {
    case Operand::kNone:
      return shape == none;
    case Operand::kReg:
      return kWidths[static_cast<int>(shape)] & width_bit(o.width);
    case Operand::kMem:
      if ((shape == MS || shape == SV || shape == SH) && o.width == 0) return false;
      return takes_memory(shape);
    case Operand::kImm:
      if (shape == I64) return true;
      if (shape == I8) return o.imm >= -128 && o.imm <= 255;
      return shape == I32 && o.imm >= std::numeric_limits<int32_t>::min() &&
             o.imm <= std::numeric_limits<int32_t>::max();
  }
  return false;
}

/// True where a register, or the index of a gather, has 64 bytes.
bool wide(const Inst& inst) {
  return std::any_of(inst.operands.begin(), inst.operands.end(),
                     [](const Operand& o) { return o.kind != Operand::kImm && o.width == 64; });
}

bool fits(const Form& form, const Inst& inst) {
  if (form.encoding == kVex && (inst.mask.valid() || wide(inst))) return false;
  for (int i = 0; i < 4; ++i) {
    if (!fits(form.shapes[i], inst.operands[i])) return false;
  }
  // A gather of either encoding has the same operands but for the mask.
  return form.access != kGather || (form.encoding == kEvex) == inst.mask.valid();
}

}  // namespace

std::span<const Form> forms() { return kForms; }

std::string_view name_of(Opcode op) {
  if (is_pseudo(op)) return kPseudoNames[op.number];
  std::string_view name = kForms[kFirst[index_of(op)]].name;
  if (name.back() == '_') name.remove_suffix(1);
  return name;
}

const Form* form_of(const Inst& inst) {
  if (is_pseudo(inst.op)) return nullptr;
  const int op = index_of(inst.op);
  for (int i = kFirst[op]; i < kFirst[op + 1]; ++i) {
    if (fits(kForms[i], inst)) return &kForms[i];
  }
  return nullptr;
}

bool takes_memory(Shape shape) {
  switch (shape) {
    case RM:
    case RMS:
    case R32M:
    case R64M:
    case M:
    case MS:
    case VM:
    case VMS:
    case WM:
    case XM:
    case YM:
    case HM:
    case QM:
    case EM:
    case SV:
    case SH:
      return true;
    default:
      return false;
  }
}

bool reads(const Inst& inst, const Form& form, int i) {
  if (inst.operands[i].kind != Operand::kReg) return false;
  if (i > 0) return !is_idiom(inst);
  if (form.access == kW) {
    // Masked lanes of the destination are kept; a masked comparison zeroes its mask's, and a blend
    // takes them from its first source.
    if (inst.op >= X86::vblendmps && inst.op <= X86::vpblendmq) return false;
    return inst.mask.valid() && !inst.zeroing && class_of(inst.operands[0]) == RegClass::kVec;
  }
  return !is_idiom(inst);
}

bool writes(const Inst& inst, const Form& form, int i) {
  if (inst.operands[i].kind != Operand::kReg) return false;
  if (i == 0) return form.access != kR;
  return i == 2 && form.access == kGather;
}

bool is_idiom(const Inst& inst) {
  const auto& o = inst.operands;
  if (inst.mask.valid()) return false;
  auto same = [&](int a, int b) {
    return o[a].kind == Operand::kReg && o[b].kind == Operand::kReg && o[a].reg == o[b].reg;
  };
  switch (x86_of(inst.op)) {
    case X86::xor_:
    case X86::sub:
      return same(0, 1);
    case X86::vxorps:
    case X86::vxorpd:
    case X86::vpxor:
    case X86::vpxord:
    case X86::vpxorq:
    case X86::vpcmpeqb:
    case X86::vpcmpeqw:
    case X86::vpcmpeqd:
    case X86::vpcmpeqq:
    case X86::kxorb:
    case X86::kxorw:
    case X86::kxord:
    case X86::kxorq:
    case X86::kxnorb:
    case X86::kxnorw:
    case X86::kxnord:
    case X86::kxnorq:
      return same(1, 2);
    case X86::vpternlogd:
    case X86::vpternlogq:
      return (o[3].imm & 0xff) == 0 || (o[3].imm & 0xff) == 0xff;
    default:
      return false;
  }
}

bool needs_evex(const Inst& inst, const Form& form, bool physical) {
  if (form.encoding == kEvex || form.encoding == kBf16) return true;
  if (form.encoding != kAny && form.encoding != kVnni) return false;
  if (inst.mask.valid() || wide(inst)) return true;
  for (int i = 0; i < 4; ++i) {
    const Operand& o = inst.operands[i];
    if (o.kind == Operand::kMem && o.mem.broadcast) return true;
    if (physical && o.kind == Operand::kReg && class_of(o) == RegClass::kVec && o.reg.id >= 16) {
      return true;
    }
    // Shifts of memory by an immediate, and compressions to memory, exist with EVEX only.
    if (i == 1 && o.kind == Operand::kMem && form.shapes[2] == I8 && form.shapes[1] == V)
      return true;
  }
  return false;
}

std::string unsupported(const Inst& inst, const ir::Target& target, bool physical) {
  if (is_pseudo(inst.op)) return {};
  const std::string name(name_of(inst.op));
  const Form* form = form_of(inst);
  if (!form) return name + ": no form has these operands; see ops.def";
  auto lacks = [&](ir::Isa isa, const char* text) {
    return target.has(isa) ? std::string() : name + " needs " + text + ", which the target lacks";
  };
  if (form->encoding == kBase) return {};
  if (form->encoding == kBf16) return lacks(ir::Isa::kBf16, "avx512_bf16");
  const bool evex = needs_evex(inst, *form, physical);
  if (form->encoding == kVnni) {
    if (evex || target.has(ir::Isa::kVnni)) return lacks(ir::Isa::kVnni, "avx512_vnni");
    return lacks(ir::Isa::kAvxVnni, "avx_vnni");
  }
  return evex ? lacks(ir::Isa::kAvx512, "avx512") : lacks(ir::Isa::kAvx2, "avx2");
}

}  // namespace hone::jit
