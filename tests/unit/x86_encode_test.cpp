// SPDX-License-Identifier: Apache-2.0
// Small functions written by hand: what allocation makes of them, and what they do when run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "jit/memory.h"
#include "jit/x86/encode/encode.h"
#include "jit/x86/encode/forms.h"
#include "jit/x86/encode/machine.h"
#include "jit/x86/encode/print.h"
#include "tests/support/isa_check.h"
#include "tests/unit/x86_machine.h"

namespace hone::jit {
namespace {

using Function = void (*)(void* args, int64_t begin, int64_t end, void* scratch);

/// LIR under construction, with the four entry registers.
struct Code {
  Lir lir;
  Code() {
    for (Reg& r : lir.entry) r = lir.gpr();
  }
  void add(Opcode op, std::array<Operand, 4> operands = {}) {
    lir.code.push_back({op, false, {}, operands});
  }
  Operand at(int disp) const {
    Mem m;
    m.base = lir.entry[0];
    m.disp = disp;
    return mem(m);
  }
  Operand constant(int offset) const {
    Mem m;
    m.pool = offset;
    return mem(m);
  }
  template <class T>
  int pool(T value) {
    const size_t offset = lir.pool.size();
    lir.pool.resize(offset + sizeof value);
    std::memcpy(&lir.pool[offset], &value, sizeof value);
    return static_cast<int>(offset);
  }
};

ir::Target avx2() {
  ir::Target t;
  t.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  return t;
}

bool can_run() { return tests::host_x86().has(ir::Isa::kAvx2); }

Function load(ExecutableMemory& memory, const std::vector<uint8_t>& bytes, size_t entry) {
  const ExecutableSpan span = memory.add(bytes).value();
  return reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span.data + entry));
}

int count(const Lir& lir, Opcode op) {
  return static_cast<int>(
      std::count_if(lir.code.begin(), lir.code.end(), [op](const Inst& i) { return i.op == op; }));
}

/// sum over 100 rounds of a loop with `tile` accumulators; then each is scaled by a constant of
/// its own that was loaded before the loop.
Code reduction(int tile, bool remat) {
  Code c;
  const Reg n = c.lir.gpr();
  std::vector<Reg> sums, scales;
  for (int i = 0; i < tile; ++i) {
    scales.push_back(c.lir.vec());
    const int offset = c.pool(static_cast<float>(i + 1));
    if (remat) c.lir.regs.back().remat = offset;
    c.add(X86::vbroadcastss, {vreg(scales[i], 32), c.constant(offset)});
  }
  for (int i = 0; i < tile; ++i) {
    sums.push_back(c.lir.vec());
    c.add(X86::vxorps, {vreg(sums[i], 32), vreg(sums[i], 32), vreg(sums[i], 32)});
  }
  const int head = c.lir.label();
  c.add(X86::mov, {greg(n), imm(100)});
  c.add(Pseudo::loop_begin, {imm(head)});
  const Reg x = c.lir.vec();
  c.add(X86::vmovups, {vreg(x, 32), c.at(0)});
  for (int i = 0; i < tile; ++i)
    c.add(X86::vaddps, {vreg(sums[i], 32), vreg(sums[i], 32), vreg(x, 32)});
  c.add(X86::sub, {greg(n), imm(1)});
  c.add(Pseudo::jump_ne, {imm(head)});
  c.add(Pseudo::loop_end, {imm(head)});
  for (int i = 0; i < tile; ++i) {
    c.add(X86::vmulps, {vreg(sums[i], 32), vreg(sums[i], 32), vreg(scales[i], 32)});
    c.add(X86::vmovups, {c.at(32 + 32 * i), vreg(sums[i], 32)});
  }
  c.add(Pseudo::ret);
  return c;
}

void check_reduction(bool remat) {
  const int tile = 12;
  const Code c = reduction(tile, remat);
  const Allocation a = allocate(c.lir, avx2());
  INFO(print(a.code));
  // 12 sums and 12 scales are live around the loop; the loop itself mentions 13 registers.
  CHECK(a.vec_peak == 25);
  CHECK(a.inner_spills == 0);
  CHECK((a.spills == 0) == remat);
  if (!can_run()) return;
  std::vector<uint8_t> bytes;
  const size_t entry = encode(a, avx2(), bytes);
  ExecutableMemory memory;
  std::vector<float> data(8 * (1 + tile), 2.0f);
  load(memory, bytes, entry)(data.data(), 0, 0, nullptr);
  for (int i = 0; i < tile; ++i) CHECK(data[8 + 8 * i] == 200.0f * (i + 1));
}

}  // namespace

TEST_CASE("allocate: what a loop does not mention is kept in memory around it") {
  check_reduction(false);
}

TEST_CASE("allocate: constants are loaded again instead of spilled") { check_reduction(true); }

TEST_CASE("allocate: a repeated constant becomes the operand itself") {
  Code c;
  std::vector<Reg> constants;
  for (int i = 0; i < 20; ++i) {
    constants.push_back(c.lir.vec());
    std::array<float, 8> lanes;
    lanes.fill(static_cast<float>(i));
    c.lir.regs.back().remat = c.pool(lanes);
    c.add(X86::vmovups, {vreg(constants[i], 32), c.constant(c.lir.regs.back().remat)});
  }
  const Reg sum = c.lir.vec();
  c.add(X86::vmovups, {vreg(sum, 32), c.at(0)});
  for (Reg k : constants) c.add(X86::vaddps, {vreg(sum, 32), vreg(sum, 32), vreg(k, 32)});
  c.add(X86::vmovups, {c.at(0), vreg(sum, 32)});
  c.add(Pseudo::ret);
  const Allocation a = allocate(c.lir, avx2());
  INFO(print(a.code));
  CHECK(a.spills == 0);
  CHECK(a.frame_bytes == 0);
  CHECK(count(a.code, X86::vmovups) < 18);
  if (!can_run()) return;
  std::vector<uint8_t> bytes;
  const size_t entry = encode(a, avx2(), bytes);
  ExecutableMemory memory;
  std::vector<float> data(8, 1.0f);
  load(memory, bytes, entry)(data.data(), 0, 0, nullptr);
  CHECK(data == std::vector<float>(8, 191.0f));
}

TEST_CASE("allocate: arguments stay where the caller put them, copies disappear") {
  Code c;
  const Reg i = c.lir.gpr();
  const Reg j = c.lir.gpr();
  c.add(X86::mov, {greg(i), greg(c.lir.entry[1])});
  c.add(X86::mov, {greg(j), greg(i)});
  c.add(X86::add, {greg(j), greg(c.lir.entry[2])});
  c.add(X86::mov, {c.at(0), greg(j)});
  c.add(Pseudo::ret);
  const Allocation a = allocate(c.lir, avx2());
  CHECK(print(a.code) ==
        "entry rdi rsi rdx rcx\n"
        "  add rsi, rdx\n"
        "  mov [rdi], rsi\n"
        "  ret\n");
}

TEST_CASE("allocate: more registers than an instruction may have is a bug, said so") {
  Code c;
  c.add(X86::vaddps, {vreg(c.lir.vec(), 32), vreg(c.lir.vec(), 32), greg(c.lir.gpr())});
  CHECK_THROWS_WITH(allocate(c.lir, avx2()), "no form of vaddps has these operands");
}

TEST_CASE("encode: floor division and its remainder, where idiv would trap too") {
  if (!can_run()) return;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const int64_t values[] = {0, 1, -1, 2, -2, 3, -3, 7, -7, 1000, kMin, kMin + 1, -(kMin + 1)};
  Code c;
  const Reg q = c.lir.gpr();
  const Reg r = c.lir.gpr();
  c.add(Pseudo::floor_div, {greg(q), greg(c.lir.entry[1]), greg(c.lir.entry[2])});
  c.add(Pseudo::floor_mod, {greg(r), greg(c.lir.entry[1]), greg(c.lir.entry[2])});
  c.add(X86::mov, {c.at(0), greg(q)});
  c.add(X86::mov, {c.at(8), greg(r)});
  c.add(Pseudo::ret);
  std::vector<uint8_t> bytes;
  const size_t entry = encode(allocate(c.lir, avx2()), avx2(), bytes);
  ExecutableMemory memory;
  const Function f = load(memory, bytes, entry);
  for (int64_t a : values) {
    for (int64_t b : values) {
      int64_t out[2];
      f(out, a, b, nullptr);
      int64_t quotient = 0, rest = 0;
      if (b == -1) {
        quotient = static_cast<int64_t>(-static_cast<uint64_t>(a));
      } else if (b != 0) {
        quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
        rest = static_cast<int64_t>(static_cast<uint64_t>(a) -
                                    static_cast<uint64_t>(b) * static_cast<uint64_t>(quotient));
      }
      INFO(a, " / ", b);
      CHECK(out[0] == quotient);
      CHECK(out[1] == rest);
    }
  }
}

TEST_CASE("encode: several functions in one piece, each with its constants") {
  if (!can_run()) return;
  std::vector<uint8_t> bytes;
  std::vector<size_t> entries;
  for (int f = 0; f < 3; ++f) {
    Code c;
    const Reg v = c.lir.vec();
    const int offset = c.pool(static_cast<double>(f + 0.5));
    c.add(X86::vbroadcastsd, {vreg(v, 32), c.constant(offset)});
    c.add(X86::vmovups, {c.at(0), vreg(v, 32)});
    c.add(Pseudo::ret);
    entries.push_back(encode(allocate(c.lir, avx2()), avx2(), bytes, f == 1));
  }
  ExecutableMemory memory;
  const ExecutableSpan span = memory.add(bytes).value();
  for (int f = 0; f < 3; ++f) {
    CHECK(entries[f] % 64 == 0);
    CHECK(tests::isa_violation(bytes, entries[f], avx2()) == "");
    double out[4] = {};
    reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span.data + entries[f]))(out, 0, 0,
                                                                                    nullptr);
    CHECK(out[3] == f + 0.5);
  }
}

TEST_CASE("isa check: an instruction beyond the target is found") {
  Code c;
  const Reg v = c.lir.vec();
  c.add(X86::vmovups, {vreg(v, 64), c.at(0)});
  c.add(Pseudo::ret);
  ir::Target avx512 = avx2();
  avx512.isa |= static_cast<uint32_t>(ir::Isa::kAvx512);
  std::vector<uint8_t> bytes;
  const size_t entry = encode(allocate(c.lir, avx512), avx512, bytes);
  CHECK(tests::isa_violation(bytes, entry, avx512) == "");
  CHECK(tests::isa_violation(bytes, entry, avx2()) ==
        "0: vmovups zmm0, zmmword ptr [rdi] (AVX512F_512)");
  CHECK(unsupported(c.lir.code[0], avx2(), false) ==
        "vmovups needs avx512, which the target lacks");
}

}  // namespace hone::jit
