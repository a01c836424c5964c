// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/listing.h"

#include <doctest/doctest.h>

#include <cstring>

#include "jit/x86/encode/encode.h"
#include "jit/x86/encode/instructions.h"
#include "jit/x86/encode/machine.h"

namespace hone::runtime {

TEST_CASE("listing: labels, loops and constants") {
  using namespace jit;  // NOLINT: LIR's vocabulary
  Lir lir;
  for (Reg& r : lir.entry) r = lir.gpr();
  const float half = 0.5f;
  lir.pool.resize(4);
  std::memcpy(lir.pool.data(), &half, 4);
  const Reg v = lir.vec();
  const Reg n = lir.gpr();
  const int head = lir.label();
  Mem constant, data;
  constant.pool = 0;
  data.base = lir.entry[0];
  auto add = [&](Opcode op, std::array<Operand, 4> operands) {
    lir.code.push_back({op, false, {}, operands});
  };
  add(X86::mov, {greg(n), imm(3)});
  add(X86::vbroadcastss, {vreg(v, 32), mem(constant)});
  add(Pseudo::loop_begin, {imm(head)});
  add(X86::vaddps, {vreg(v, 32), vreg(v, 32), mem(data)});
  add(X86::dec, {greg(n)});
  add(Pseudo::jump_ne, {imm(head)});
  add(Pseudo::loop_end, {imm(head)});
  add(X86::vmovups, {mem(data), vreg(v, 32)});
  add(Pseudo::ret, {});
  ir::Target target;
  target.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  X86Code code;
  const size_t entry = encode(allocate(lir, target), target, code.bytes);
  code.entries.push_back(static_cast<int64_t>(entry));
  ir::Nest nest;
  nest.launches.emplace_back().name = "Y";
  const std::string text = listing(code, nest);
  INFO(text);
  CHECK(text.starts_with("launch Y, entry 0\n     0    mov eax, 0x03\n"));
  CHECK(text.find("; f32 0.5\n") != std::string::npos);
  CHECK(text.find("          L0:\n") != std::string::npos);
  CHECK(text.find("      vaddps ymm0, ymm0, [rdi]\n") != std::string::npos);
  CHECK(text.find("      jnz L0\n") != std::string::npos);
}

}  // namespace hone::runtime
