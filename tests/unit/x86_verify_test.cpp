// SPDX-License-Identifier: Apache-2.0
// What selection might get wrong is found before registers are given out.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "jit/x86/encode/instructions.h"
#include "jit/x86/encode/machine.h"
#include "jit/x86/encode/verify.h"

namespace hone::jit {
namespace {

ir::Target target_of(const char* text) { return *ir::parse_target(text, {}); }

/// A function of one instruction, on registers of every class.
struct One {
  Lir lir;
  Reg g = lir.gpr(), v = lir.vec(), k = lir.mask();

  std::string with(Opcode op, std::initializer_list<Operand> operands, Reg mask = {},
                   bool zeroing = false, const char* target = "x86 isa=avx512") {
    Inst inst{op, zeroing, mask, {}};
    std::copy(operands.begin(), operands.end(), inst.operands.begin());
    lir.code = {inst};
    return defect_of(lir, target_of(target));
  }
};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("x86 verify: a register has one class") {
  One one;
  const Reg g = one.g, v = one.v, k = one.k;
  CHECK(one.with(X86::kandq, {kreg(k), kreg(k), kreg(k)}) == "");
  CHECK(has(one.with(X86::kandq, {kreg(k), kreg(v), kreg(k)}), "a vector register where a mask"));
  CHECK(has(one.with(X86::vmovups, {vreg(k, 64), vreg(v, 64)}), "a mask register where a vector"));
  CHECK(
      has(one.with(X86::vmovups, {vreg(v, 64), vreg(v, 64)}, v), "a vector register where a mask"));
  CHECK(has(one.with(X86::add, {greg(g), greg(v)}), "a vector register where a general"));
  Mem m;
  m.base = v;
  CHECK(has(one.with(X86::mov, {greg(g), mem(m)}), "a vector register where a general"));
  CHECK(has(one.with(X86::mov, {greg(g), greg(Reg{99})}), "does not exist"));
}

TEST_CASE("x86 verify: operands are such as the table says") {
  One one;
  const Reg g = one.g, v = one.v, k = one.k;
  CHECK(has(one.with(X86::vaddps, {vreg(v, 64), vreg(v, 32), vreg(v, 64)}), "another width"));
  CHECK(has(one.with(X86::add, {greg(g, 8), greg(g, 4)}), "different widths"));
  CHECK(has(one.with(X86::cmp, {greg(g), imm(int64_t{1} << 31)}), "no form"));
  CHECK(has(one.with(X86::vaddps, {vreg(v, 64), vreg(v, 64), vreg(v, 64)}, {}, true), "to zero"));
  Mem there, lacking;
  there.base = g;
  lacking.pool = 0;
  CHECK(has(one.with(X86::vmovups, {mem(there), vreg(v, 64)}, k, true), "to zero"));
  CHECK(has(one.with(X86::add, {greg(g), greg(g)}, k), "takes none"));
  CHECK(has(one.with(X86::vmovups, {vreg(v, 64), mem(lacking)}), "the pool lacks"));
  CHECK(has(one.with(Pseudo::jump, {imm(0)}), "a label that does not exist"));
  const Operand a = vreg(v, 32);
  CHECK(has(one.with(X86::vaddps, {a, a, a}, k, false, "x86 isa=avx2"), "avx512"));
  CHECK(has(one.with(X86::vpdpbusd, {a, a, a}, {}, false, "x86 isa=avx2"), "vnni"));
}

}  // namespace hone::jit
