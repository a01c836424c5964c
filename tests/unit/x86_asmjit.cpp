// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/x86_asmjit.h"

#ifndef HONE_TEST_ASMJIT

namespace hone::tests {

std::optional<std::vector<uint8_t>> asmjit_bytes(const jit::Inst&, const jit::Form&) {
  return std::nullopt;
}

}  // namespace hone::tests

#else

#include <asmjit/x86.h>

namespace hone::tests {
namespace {

using namespace asmjit;  // NOLINT: an encoder's vocabulary
using jit::Operand;
using jit::Shape;

x86::Gp general(int id, int width) {
  const auto n = static_cast<uint32_t>(id);
  return width == 1   ? x86::Gp(x86::gpb_lo(n))
         : width == 2 ? x86::Gp(x86::gpw(n))
         : width == 4 ? x86::Gp(x86::gpd(n))
                      : x86::Gp(x86::gpq(n));
}

x86::Vec vector(int id, int width) {
  const auto n = static_cast<uint32_t>(id);
  return width == 64   ? x86::Vec(x86::zmm(n))
         : width == 32 ? x86::Vec(x86::ymm(n))
                       : x86::Vec(x86::xmm(n));
}

x86::Mem memory(const Operand& o, Shape shape) {
  const x86::Gp base = general(o.mem.base.id, 8);
  const bool gather = shape == Shape::SV || shape == Shape::SH;
  const uint32_t size = gather ? 0 : o.width;
  const auto shift = static_cast<uint32_t>(__builtin_ctz(o.mem.scale));
  if (!o.mem.index.valid()) return x86::Mem(base, o.mem.disp, size);
  if (gather) return x86::Mem(base, vector(o.mem.index.id, o.width), shift, o.mem.disp, size);
  return x86::Mem(base, general(o.mem.index.id, 8), shift, o.mem.disp, size);
}

asmjit::Operand converted(const Operand& o, Shape shape) {
  switch (o.kind) {
    case Operand::kNone:
      return {};
    case Operand::kImm:
      return asmjit::Imm(o.imm);
    case Operand::kMem:
      return memory(o, shape);
    case Operand::kReg:
      break;
  }
  switch (jit::class_of(o)) {
    case jit::RegClass::kVec:
      return vector(o.reg.id, o.width);
    case jit::RegClass::kMask:
      return x86::k(static_cast<uint32_t>(o.reg.id));
    case jit::RegClass::kGpr:
      break;
  }
  return general(o.reg.id, shape == Shape::R8 ? 1 : shape == Shape::R16 ? 2 : o.width);
}

}  // namespace

std::optional<std::vector<uint8_t>> asmjit_bytes(const jit::Inst& inst, const jit::Form& form) {
  const std::string name(jit::name_of(inst.op));
  const InstId id = InstAPI::stringToInstId(Arch::kX64, name.data(), name.size());
  if (id == x86::Inst::kIdNone) return std::nullopt;
  CodeHolder code;
  code.init(Environment(Arch::kX64));
  x86::Assembler assembler(&code);
  if (inst.mask.valid()) assembler.k(x86::k(static_cast<uint32_t>(inst.mask.id)));
  if (inst.zeroing) assembler.z();
  if (form.encoding == jit::Encoding::kVnni) assembler.evex();
  asmjit::Operand operands[4];
  for (int i = 0; i < 4; ++i) operands[i] = converted(inst.operands[i], form.shapes[i]);
  if (assembler.emitOpArray(id, operands, 4) != kErrorOk) return std::nullopt;
  const CodeBuffer& buffer = code.textSection()->buffer();
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

}  // namespace hone::tests

#endif
