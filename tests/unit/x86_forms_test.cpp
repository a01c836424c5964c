// SPDX-License-Identifier: Apache-2.0
// Every row of ops.def is encoded with random operands, registers and masks; a disassembler must
// read back what was meant, and AsmJit, where installed, must produce the same bytes.
#include <Zydis/Zydis.h>
#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "jit/x86/encode/emit.h"
#include "jit/x86/encode/print.h"
#include "tests/support/isa_check.h"
#include "tests/unit/x86_asmjit.h"

namespace hone::jit {
namespace {

using enum Shape;

ir::Target everything() {
  ir::Target t;
  t.isa = ~0u;
  return t;
}

/// Choices that make one instruction of a form.
struct Variant {
  int width = 32;       ///< of the instruction: 16, 32, 64
  bool memory = false;  ///< where a shape allows both
  bool broadcast = false;
  bool masked = false;
  bool zeroing = false;
  bool high = false;  ///< vector registers from 16
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  /// An instruction of the form, or one without a form where the variant makes no sense.
  Inst make(const Form& form, const Variant& v) {
    Inst inst{form.op, v.zeroing, {}, {}};
    for (int i = 0; i < 4; ++i) inst.operands[i] = operand(form, form.shapes[i], v);
    if (v.masked) inst.mask = Reg{below(7) + 1};
    return inst;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Reg vec(const Variant& v) { return {v.high ? 16 + below(16) : below(16)}; }
  Reg gpr() {
    const int r = below(15);
    return {r >= 4 ? r + 1 : r};
  }

  Operand memory(const Form& form, Shape shape, const Variant& v) {
    Mem m;
    m.base = gpr();
    if (shape == SV || shape == SH) {
      // Destination, index and mask of a gather differ: the index is from the top registers.
      m.index = Reg{15};
      m.scale = static_cast<uint8_t>(1 << below(4));
      return mem(m, shape == SV ? v.width : std::max(16, v.width / 2));
    }
    if (below(2)) {
      m.index = gpr();
      m.scale = static_cast<uint8_t>(1 << below(4));
    }
    const int disps[] = {0, 8, -64, 128, 4096, 12345};
    m.disp = disps[below(6)];
    m.broadcast = v.broadcast;
    int width = 0;
    if (shape == MS) width = form.op == X86::movzx || form.op == X86::movsx ? 1 + below(2) : 4;
    if (shape == RMS) width = 8;
    if (shape == VMS) width = v.broadcast ? v.width : v.width;
    return mem(m, width);
  }

  Operand operand(const Form& form, Shape shape, const Variant& v) {
    const bool wants_memory = v.memory && takes_memory(shape);
    if (wants_memory) return memory(form, shape, v);
    switch (shape) {
      case none:
        return {};
      case R:
      case RM:
      case RMS:
        return greg(gpr(), v.width == 16 ? 4 : 8);
      case N:
        return greg(gpr(), v.width == 16 ? 1 : 2);
      case G:
        return greg(gpr(), v.width == 16 ? 1 : v.width == 32 ? 2 : 4);
      case R8:
      case R16:
      case R32:
      case R32M:
        return greg(gpr(), 4);
      case R64:
      case R64M:
        return greg(gpr(), 8);
      case M:
      case MS:
      case SV:
      case SH:
        return memory(form, shape, v);
      case V:
      case VM:
      case VMS:
      case W:
      case WM:
        return vreg(form.access == Access::kGather ? gather_register() : vec(v), v.width);
      case X:
      case XM:
        return vreg(vec(v), 16);
      case Y:
      case YM:
        return vreg(vec(v), 32);
      case Z:
        return vreg(vec(v), 64);
      case H:
      case HM:
        return vreg(form.access == Access::kGather ? gather_register() : vec(v),
                    std::max(16, v.width / 2));
      case Q:
      case QM:
        return vreg(vec(v), 16);
      case E:
      case EM:
        return vreg(vec(v), 16);
      case K:
        return kreg(Reg{below(7) + 1});
      case I8:
        return imm(below(8));
      case I32:
        return imm(below(2) ? 100 + below(27) : -1000 - below(100000));
      case I64:
        return imm(v.width == 16 ? 0x12345678 : 0x123456789abcdefLL);
    }
    return {};
  }

  Reg gather_register() { return {gathered_++ % 14}; }

  std::mt19937 random_;
  int gathered_ = 0;
};

std::string alias(std::string name) {
  const std::pair<const char*, const char*> ends[] = {{"ae", "nb"}, {"e", "z"},   {"ne", "nz"},
                                                      {"a", "nbe"}, {"ge", "nl"}, {"g", "nle"}};
  for (const std::string prefix : {"set", "cmov"}) {
    for (const auto& [ours, theirs] : ends) {
      if (name == prefix + ours) return prefix + theirs;
    }
  }
  return name;
}

std::string register_name(const Operand& o, Shape shape) {
  switch (class_of(o)) {
    case RegClass::kVec: {
      const char letter = o.width == 64 ? 'z' : o.width == 32 ? 'y' : 'x';
      return letter + std::string("mm") + std::to_string(o.reg.id);
    }
    case RegClass::kMask:
      return "k" + std::to_string(o.reg.id);
    case RegClass::kGpr:
      break;
  }
  const int width = shape == R8 ? 1 : shape == R16 ? 2 : o.width;
  const ZydisRegisterClass cls = width == 1   ? ZYDIS_REGCLASS_GPR8
                                 : width == 2 ? ZYDIS_REGCLASS_GPR16
                                 : width == 4 ? ZYDIS_REGCLASS_GPR32
                                              : ZYDIS_REGCLASS_GPR64;
  // Bytes of registers 4 to 7 are spl to dil, which Zydis numbers after ah to bh.
  const int id = width == 1 && o.reg.id >= 4 ? o.reg.id + 4 : o.reg.id;
  return ZydisRegisterGetString(ZydisRegisterEncode(cls, static_cast<ZyanU8>(id)));
}

std::string gpr_name(Reg r) { return register_name(greg(r), R); }

/// Why the decoded operand is not `o`, or empty.
std::string differs(const Operand& o, Shape shape, const ZydisDecodedOperand& d,
                    bool vector_instruction) {
  switch (d.type) {
    case ZYDIS_OPERAND_TYPE_REGISTER: {
      if (o.kind != Operand::kReg) return "a register was decoded";
      const std::string got = ZydisRegisterGetString(d.reg.value);
      // Vector instructions name the whole register where they read its low bytes.
      const bool part = (shape == R8 || shape == R16) && !vector_instruction;
      const std::string want = register_name(o, part || shape == N || shape == G ? shape : R);
      return got == want ? "" : "register " + got + " for " + want;
    }
    case ZYDIS_OPERAND_TYPE_IMMEDIATE: {
      const uint64_t keep = d.size >= 64 ? ~uint64_t{0} : (uint64_t{1} << d.size) - 1;
      return (d.imm.value.u & keep) == (static_cast<uint64_t>(o.imm) & keep) ? "" : "immediate";
    }
    case ZYDIS_OPERAND_TYPE_MEMORY: {
      if (o.kind != Operand::kMem) return "memory was decoded";
      if (ZydisRegisterGetString(d.mem.base) != gpr_name(o.mem.base)) return "base";
      if (o.mem.index.valid()) {
        const Operand index =
            o.width >= 16 && shape != VMS ? vreg(o.mem.index, o.width) : greg(o.mem.index);
        if (ZydisRegisterGetString(d.mem.index) != register_name(index, V)) return "index";
        if (d.mem.scale != o.mem.scale) return "scale";
      } else if (d.mem.index != ZYDIS_REGISTER_NONE) {
        return "an index was decoded";
      }
      return d.mem.disp.value == o.mem.disp ? "" : "displacement";
    }
    default:
      return "kind of operand";
  }
}

/// Why the table's reads and writes of operand `i` are not the disassembler's, or empty.
std::string accessed(const Inst& inst, const Form& form, int i, const ZydisDecodedOperand& d) {
  if (inst.operands[i].kind != Operand::kReg || is_idiom(inst)) return "";
  const bool wants_read = (d.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  const bool wants_write = (d.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  if (writes(inst, form, i) != wants_write) return wants_write ? "is written" : "is not written";
  if (wants_read && !reads(inst, form, i)) return "is read";
  return "";
}

/// Why `bytes` are not the instruction, or empty.
std::string mismatch(const Inst& inst, const Form& form, const std::vector<uint8_t>& bytes) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction d;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(), &d, operands))) {
    return "does not decode";
  }
  if (d.length != bytes.size()) return "decodes to another length";
  const std::string name(name_of(inst.op));
  const std::string got = ZydisMnemonicGetString(d.mnemonic);
  if (got != name && got != alias(name)) return "mnemonic " + got;
  const bool evex = d.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
  const bool scalar = d.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  const bool opmask = name[0] == 'k';
  if (!scalar && !opmask && form.encoding != Encoding::kBmi && form.encoding != Encoding::kVnni &&
      evex != needs_evex(inst, form, true)) {
    return evex ? "EVEX where VEX was meant" : "VEX where EVEX was meant";
  }
  if (inst.mask.valid()) {
    if (d.avx.mask.reg != ZYDIS_REGISTER_K0 + inst.mask.id) return "mask";
    const bool zeroing = d.avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
    // Of a comparison the disassembler says zeroing: lanes off give 0 in the mask it writes.
    const bool compares = inst.operands[0].kind == Operand::kReg && inst.operands[0].width == 0;
    const bool blends = d.avx.mask.mode == ZYDIS_MASK_MODE_CONTROL ||
                        d.avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING;
    if (zeroing != inst.zeroing && !compares && !blends) return "zeroing";
  }
  int at = 0;
  for (int i = 0; i < d.operand_count_visible; ++i) {
    if (operands[i].encoding == ZYDIS_OPERAND_ENCODING_MASK) continue;
    if (at == 4 || inst.operands[at].kind == Operand::kNone) return "more operands";
    const std::string why =
        differs(inst.operands[at], form.shapes[at], operands[i], name[0] == 'v');
    if (!why.empty()) return "operand " + std::to_string(at) + ": " + why;
    const std::string access = accessed(inst, form, at, operands[i]);
    if (!access.empty()) return "operand " + std::to_string(at) + " " + access;
    ++at;
  }
  return at < 4 && inst.operands[at].kind != Operand::kNone ? "fewer operands" : "";
}

std::vector<uint8_t> encoded(const Inst& inst, const Form& form) {
  alignas(64) uint8_t buffer[256];
  Xbyak::CodeGenerator g(sizeof buffer, buffer);
  EmitContext context;
  context.evex_dot = true;
  emit(g, inst, form, context);
  return {buffer, buffer + g.getSize()};
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (uint8_t b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

std::string text_of(const Inst& inst) {
  Lir lir;
  lir.physical = true;
  lir.code.push_back(inst);
  const std::string all = print(lir);
  return all.substr(all.find('\n') + 1);
}

bool is_vector_form(const Form& form) {
  return form.encoding == Encoding::kAny || form.encoding == Encoding::kEvex ||
         form.encoding == Encoding::kBf16 || form.encoding == Encoding::kVnni;
}

/// Where either of two encodings is right.
bool two_encodings(const Form& form) { return form.op == X86::vmovq || form.op == X86::vpextrw; }

/// Forms that have no masked variant although they are EVEX.
bool maskable(const Inst& inst, const Form& form) {
  if (!is_vector_form(form)) return false;
  const std::string_view name = form.name;
  if (name[0] == 'k') return false;
  for (const char* prefix :
       {"vmovnt",    "vpinsr",     "vpextr",  "vextractps", "vinsertps", "vmovd",     "vmovq",
        "vmovhlps",  "vmovlhps",   "vmovhpd", "vucomi",     "vcvtsi2",   "vcvtss2si", "vcvttss2si",
        "vcvtsd2si", "vcvttsd2si", "vpmovm2", "vpslldq",    "vpsrldq",   "vpsadbw"}) {
    if (name.starts_with(prefix) && !name.starts_with("vmovdq") && !name.starts_with("vmovddup"))
      return false;
  }
  if (name.starts_with("vpmov") && name.ends_with("2m")) return false;
  const Operand& first = inst.operands[0];
  if (name.starts_with("vextract") && first.kind == Operand::kMem) return false;
  return first.kind == Operand::kMem || class_of(first) != RegClass::kGpr;
}

}  // namespace

TEST_CASE("x86: every form reads back as it was meant") {
  Maker maker(1);
  int count = 0;
  int compared = 0;
  for (const Form& form : forms()) {
    for (int bits = 0; bits < 96; ++bits) {
      Variant v;
      v.width = 16 << (bits % 3);
      v.memory = bits / 3 & 1;
      v.masked = bits / 6 & 1;
      v.zeroing = bits / 12 & 1;
      v.high = bits / 24 & 1;
      if (v.zeroing && !v.masked) continue;
      Inst inst = maker.make(form, v);
      if (form.access == Access::kGather) {
        if (v.masked != (form.encoding == Encoding::kEvex) || v.zeroing) continue;
      } else if (v.masked && !maskable(inst, form)) {
        continue;
      }
      const bool vector =
          inst.operands[0].kind == Operand::kReg && class_of(inst.operands[0]) == RegClass::kVec;
      if (v.zeroing && !vector) continue;
      if (form_of(inst) != &form) continue;
      if (v.high && (form.encoding == Encoding::kVex)) continue;
      ++count;
      INFO(text_of(inst));
      std::vector<uint8_t> bytes;
      CHECK_NOTHROW(bytes = encoded(inst, form));
      CHECK(mismatch(inst, form, bytes) == "");
      CHECK(tests::isa_violation(bytes, 0, everything()).ends_with("leaves the code"));
      if (two_encodings(form)) continue;
      if (const auto other = tests::asmjit_bytes(inst, form)) {
        ++compared;
        CHECK(hex(*other) == hex(bytes));
      }
    }
  }
  CHECK(count > 4000);
#ifdef HONE_TEST_ASMJIT
  CHECK(compared > 4000);
#endif
}

TEST_CASE("x86: every form can be made") {
  Maker maker(2);
  for (const Form& form : forms()) {
    bool made = false;
    for (int bits = 0; bits < 12 && !made; ++bits) {
      Variant v;
      v.width = 16 << (bits % 3);
      v.memory = bits / 3 & 1;
      v.masked = bits / 6 & 1;
      made = form_of(maker.make(form, v)) == &form;
    }
    INFO(form.name);
    CHECK(made);
  }
}

}  // namespace hone::jit
