// SPDX-License-Identifier: Apache-2.0
// Random programs, allocated with many registers and with few, run for real and must leave in
// memory what a tiny interpreter of virtual LIR leaves.
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

#include "jit/memory.h"
#include "jit/x86/encode/encode.h"
#include "jit/x86/encode/forms.h"
#include "jit/x86/encode/machine.h"
#include "jit/x86/encode/print.h"
#include "tests/support/isa_check.h"
#include "tests/unit/x86_machine.h"

namespace hone::jit {
namespace {

using Function = void (*)(uint8_t* args, int64_t begin, int64_t end, void* scratch);

std::vector<uint8_t> fresh_memory(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> memory(4096);
  for (uint8_t& b : memory) b = static_cast<uint8_t>(random());
  return memory;
}

/// Calls through registers that the ABI protects, to see that they come back as they were.
bool keeps_registers(Function f, uint8_t* args) {
  uint64_t before[6] = {1, 2, 3, 4, 5, 6};
  uint64_t after[6] = {};
  uint64_t* from = before;
  uint64_t* to = after;
  asm volatile(
      "sub $128, %%rsp\n"  // the compiler's red zone
      "push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push %%r15\n"
      "push %%rdx\n"
      "mov 0(%%rcx), %%rbx; mov 8(%%rcx), %%rbp; mov 16(%%rcx), %%r12\n"
      "mov 24(%%rcx), %%r13; mov 32(%%rcx), %%r14; mov 40(%%rcx), %%r15\n"
      "call *%%rax\n"
      "pop %%rdx\n"
      "mov %%rbx, 0(%%rdx); mov %%rbp, 8(%%rdx); mov %%r12, 16(%%rdx)\n"
      "mov %%r13, 24(%%rdx); mov %%r14, 32(%%rdx); mov %%r15, 40(%%rdx)\n"
      "pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx\n"
      "add $128, %%rsp\n"
      : "+a"(f), "+D"(args), "+c"(from), "+d"(to)
      :
      : "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
        "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15");
  return std::memcmp(before, after, sizeof before) == 0;
}

struct Outcome {
  Allocation allocation;
  std::vector<uint8_t> memory;
  bool kept = false;
  std::string violation;
};

Outcome run(const Lir& lir, const ir::Target& target, const RegisterFile& file, unsigned seed,
            bool debug) {
  Outcome out;
  out.allocation = allocate(lir, file);
  std::vector<uint8_t> bytes;
  const size_t entry = encode(out.allocation, target, bytes, debug);
  out.violation = tests::isa_violation(bytes, entry, target);
  ExecutableMemory executable;
  const ExecutableSpan span = executable.add(bytes).value();
  out.memory = fresh_memory(seed);
  out.kept =
      keeps_registers(reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span.data + entry)),
                      out.memory.data());
  return out;
}

void check_programs(const ir::Target& target, unsigned first, unsigned count) {
  const int bytes = target.vector_bytes();
  int spilled = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const Lir lir = tests::RandomLir(seed, bytes).make();
    std::vector<uint8_t> expected = fresh_memory(seed);
    tests::interpret(lir, expected, bytes);
    RegisterFile few = registers_of(target);
    few.gprs = 9 + static_cast<int>(seed % 3);
    few.vecs = 3 + static_cast<int>(seed % 5);
    few.masks = bytes == 64 ? 2 : 0;
    for (const RegisterFile& file : {registers_of(target), few}) {
      const Outcome out = run(lir, target, file, seed, seed % 2);
      INFO("seed ", seed, " vecs ", file.vecs, "\n", print(lir));
      CHECK(out.violation == "");
      CHECK(out.kept);
      REQUIRE(out.memory == expected);
      spilled += out.allocation.spills > 0;
    }
  }
  CHECK(spilled > static_cast<int>(count) / 2);
}

}  // namespace

TEST_CASE("allocate: random programs compute what they say, on AVX2") {
  ir::Target target = tests::host_x86();
  if (!target.has(ir::Isa::kAvx2)) return;
  target.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  check_programs(target, 1, 300);
}

TEST_CASE("allocate: random programs compute what they say, on AVX-512") {
  const ir::Target target = tests::host_x86();
  if (!target.has(ir::Isa::kAvx512)) return;
  check_programs(target, 1000, 300);
}

TEST_CASE("allocate: a vector is loaded again rather than spilled, until memory is written") {
  const ir::Target target = tests::host_x86();
  if (!target.has(ir::Isa::kAvx2)) return;
  // Eight vectors are added up in order and then backwards, with four registers.
  constexpr int kVectors = 8;
  const auto program = [&](bool writes) {
    Lir lir;
    const Reg args = lir.gpr();
    lir.entry[0] = args;
    const auto at = [&](int i) {
      Mem m;
      m.base = args;
      m.disp = 32 * i;
      return mem(m);
    };
    std::vector<Reg> loaded;
    const auto emit = [&](Opcode op, std::array<Operand, 4> operands) {
      lir.code.push_back({op, false, {}, operands});
    };
    for (int i = 0; i < kVectors; ++i) {
      loaded.push_back(lir.vec());
      emit(X86::vmovups, {vreg(loaded.back(), 32), at(i)});
    }
    if (writes) emit(X86::vmovups, {at(3), vreg(loaded[0], 32)});
    const Reg sum = lir.vec();
    emit(X86::vmovups, {vreg(sum, 32), vreg(loaded[0], 32)});
    for (int i = 1; i < 2 * kVectors; ++i) {
      const Reg term = loaded[static_cast<size_t>(i < kVectors ? i : 2 * kVectors - 1 - i)];
      emit(X86::vpaddd, {vreg(sum, 32), vreg(sum, 32), vreg(term, 32)});
    }
    emit(X86::vmovups, {at(kVectors), vreg(sum, 32)});
    emit(Pseudo::ret, {});
    return lir;
  };
  RegisterFile few = registers_of(target);
  few.vecs = 4;
  for (const bool writes : {false, true}) {
    CAPTURE(writes);
    const Lir lir = program(writes);
    std::vector<uint8_t> expected = fresh_memory(7);
    tests::interpret(lir, expected, 32);
    const Outcome out = run(lir, target, few, 7, false);
    CHECK(out.memory == expected);
    CHECK((out.allocation.spills > 0) == writes);
    // A load that waits for its first reader is not made before as well.
    int loads = 0;
    for (const auto& inst : out.allocation.code.code) {
      loads += inst.operands[1].kind == Operand::kMem;
    }
    if (!writes) CHECK(loads <= 2 * kVectors - 2);
  }
}

}  // namespace hone::jit
