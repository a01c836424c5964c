// SPDX-License-Identifier: Apache-2.0
#include "tests/evil/evil_code.h"

#include <sys/syscall.h>

#include <functional>

#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>

#include "jit/ir/nest.h"

namespace {

using Xbyak::CodeGenerator;
using Xbyak::Label;
using Emit = std::function<void(CodeGenerator&)>;

constexpr int kWorkspaceSlot = 8 * hone::ir::ArgsLayout::kWorkspace;
constexpr int kStatusSlot = 8 * hone::ir::ArgsLayout::kStatus;
constexpr int kInputSlot = 8 * hone::ir::ArgsLayout::kFirstTensor;
constexpr int kOutputSlot = kInputSlot + 8;
constexpr int kOne = 0x3f800000;
constexpr int kNan = 0x7fc00000;

std::vector<uint8_t> assemble(const Emit& emit) {
  std::vector<uint8_t> buffer(4096);
  CodeGenerator c(buffer.size(), buffer.data());
  emit(c);
  buffer.resize(c.getSize());
  return buffer;
}

/// The right kernel, but for `change`, which sees element eax's value in xmm0 and may spoil it.
void add_one(
    CodeGenerator& c, const Emit& change = [](CodeGenerator&) {}) {
  using namespace Xbyak::util;
  Label head;
  c.mov(r8, c.ptr[rdi + kInputSlot]);
  c.mov(r9, c.ptr[rdi + kOutputSlot]);
  c.mov(ecx, kOne);
  c.movd(xmm1, ecx);
  c.xor_(eax, eax);
  c.L(head);
  c.movss(xmm0, c.dword[r8 + rax * 4]);
  c.addss(xmm0, xmm1);
  change(c);
  c.movss(c.dword[r9 + rax * 4], xmm0);
  c.inc(eax);
  c.cmp(eax, kElements);
  c.jl(head);
}

/// The right kernel with something before it.
std::vector<uint8_t> preceded(const Emit& before) {
  return assemble([&](CodeGenerator& c) {
    before(c);
    add_one(c);
    c.ret();
  });
}

std::vector<uint8_t> spoiled(const Emit& change) {
  return assemble([&](CodeGenerator& c) {
    add_one(c, change);
    c.ret();
  });
}

/// Reads or writes one byte at `offset` from the block in `slot`.
Emit touch(int slot, int offset, bool write) {
  return [=](CodeGenerator& c) {
    using namespace Xbyak::util;
    c.mov(r8, c.ptr[rdi + slot]);
    if (write) {
      c.mov(c.byte[r8 + offset], 0x11);
    } else {
      c.movzx(eax, c.byte[r8 + offset]);
    }
  };
}

void bounds(std::vector<Evil>& all) {
  constexpr int kBytes = 4 * kElements;
  constexpr int kWorkspaceBytes = (kBytes + 63) / 64 * 64;
  all.push_back({"reads a byte before an input", "crashed", "SIGSEGV",
                 preceded(touch(kInputSlot, -1, false))});
  all.push_back({"reads a byte after an input", "crashed", "SIGSEGV",
                 preceded(touch(kInputSlot, kBytes, false))});
  all.push_back({"writes to an input", "crashed", "SIGSEGV", preceded(touch(kInputSlot, 0, true))});
  all.push_back({"writes a byte before an output", "overwrites", "Y",
                 preceded(touch(kOutputSlot, -1, true))});
  all.push_back({"writes a byte after an output", "crashed", "SIGSEGV",
                 preceded(touch(kOutputSlot, kBytes, true))});
  all.push_back({"writes a byte before the workspace", "overwrites", "workspace",
                 preceded(touch(kWorkspaceSlot, -1, true))});
  all.push_back({"writes a byte after the workspace", "crashed", "SIGSEGV",
                 preceded(touch(kWorkspaceSlot, kWorkspaceBytes, true))});
  all.push_back({"writes to scratch that it did not ask for", "crashed", "SIGSEGV",
                 preceded([](CodeGenerator& c) { c.mov(c.byte[Xbyak::util::rcx], 0x11); })});
}

void wild(std::vector<Evil>& all) {
  using namespace Xbyak::util;
  const auto add = [&](const char* name, const char* caught, const char* note, const Emit& e) {
    all.push_back({name, caught, note, assemble(e)});
  };
  add("reads from nowhere", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    c.mov(rax, 0xdeadbeef000);
    c.mov(rax, c.ptr[rax]);
    c.ret();
  });
  add("writes to nowhere", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    c.mov(rax, 0xdeadbeef000);
    c.mov(c.ptr[rax], rax);
    c.ret();
  });
  add("never ends", "hung", "", [](CodeGenerator& c) {
    Label head;
    c.L(head);
    c.jmp(head);
  });
  add("smashes the caller's frame", "clobbers", "stack", [](CodeGenerator& c) {
    add_one(c);
    c.mov(c.qword[rsp + 16], 0x41414141);
    c.ret();
  });
  add("runs out of stack", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    Label head;
    c.L(head);
    c.push(rax);
    c.jmp(head);
  });
  add("is no instruction", "crashed", "SIGILL", [](CodeGenerator& c) { c.ud2(); });
  add("stops in a breakpoint", "crashed", "SIGTRAP", [](CodeGenerator& c) { c.int3(); });
  add("jumps out", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    c.mov(rax, 0x123456789000);
    c.jmp(rax);
  });
  add("writes to its own code", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    Label here;
    c.lea(rax, c.ptr[rip + here]);
    c.mov(c.byte[rax], 0xc3);
    c.L(here);
    c.ret();
  });
  add("divides by zero", "crashed", "SIGFPE", [](CodeGenerator& c) {
    c.xor_(ecx, ecx);
    c.mov(eax, 1);
    c.cdq();
    c.idiv(ecx);
    c.ret();
  });
  add("leaves the process", "exited", "7", [](CodeGenerator& c) {
    c.mov(eax, SYS_exit_group);
    c.mov(edi, 7);
    c.syscall();
  });
  add("allocates a terabyte and uses it", "crashed", "SIGSEGV", [](CodeGenerator& c) {
    c.mov(eax, SYS_mmap);
    c.xor_(edi, edi);
    c.mov(rsi, int64_t{1} << 40);
    c.mov(edx, 3);
    c.mov(r10d, 0x4022);  // MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    c.mov(r8, int64_t{-1});
    c.xor_(r9d, r9d);
    c.syscall();
    c.mov(c.byte[rax], 1);
    c.ret();
  });
  all.push_back({"sleeps", "hung", "", sleeping_code()});
}

void clobbers(std::vector<Evil>& all) {
  using namespace Xbyak::util;
  const Xbyak::Reg64 saved[] = {rbx, rbp, r12, r13, r14, r15};
  for (const Xbyak::Reg64& r : saved) {
    all.push_back({std::string("clobbers ") + r.toString(), "clobbers", r.toString(),
                   preceded([&](CodeGenerator& c) { c.mov(r, 0x77); })});
  }
  all.push_back({"changes the rounding mode", "clobbers", "mxcsr", assemble([](CodeGenerator& c) {
                   add_one(c);
                   c.stmxcsr(c.dword[rsp - 8]);
                   c.xor_(c.dword[rsp - 8], 0x2000);
                   c.ldmxcsr(c.dword[rsp - 8]);
                   c.ret();
                 })});
  all.push_back({"leaves the direction flag set", "clobbers", "direction",
                 preceded([](CodeGenerator& c) { c.std(); })});
}

void wrongs(std::vector<Evil>& all) {
  using namespace Xbyak::util;
  const auto where = [](int mask, int value, int bits) {
    return [=](CodeGenerator& c) {
      Label fine;
      c.mov(ecx, eax);
      c.and_(ecx, mask);
      c.cmp(ecx, value);
      c.jne(fine);
      c.mov(ecx, bits);
      c.movd(xmm0, ecx);
      c.L(fine);
    };
  };
  const auto from = [](int first, int bits) {
    return [=](CodeGenerator& c) {
      Label fine;
      c.cmp(eax, first);
      c.jl(fine);
      c.mov(ecx, bits);
      c.movd(xmm0, ecx);
      c.L(fine);
    };
  };
  constexpr int kTail = kElements / 16 * 16;
  constexpr int kWrong = 0x42f6e979;  // 123.456
  all.push_back({"is wrong everywhere", "wrong", "Y", spoiled(from(0, kWrong))});
  all.push_back({"is wrong in the tail only", "wrong", "Y", spoiled(from(kTail, kWrong))});
  all.push_back({"is wrong where i%64 is 63 only", "wrong", "Y", spoiled(where(63, 63, kWrong))});
  all.push_back(
      {"is wrong in the last element only", "wrong", "Y", spoiled(from(kElements - 1, kWrong))});
  all.push_back({"is NaN in the tail only", "wrong", "Y", spoiled(from(kTail, kNan))});
  all.push_back({"adds with one bit of error", "wrong", "Y", spoiled([](CodeGenerator& c) {
                   c.movd(ecx, xmm0);
                   c.xor_(ecx, 1 << 12);
                   c.movd(xmm0, ecx);
                 })});
  all.push_back({"calls good data bad", "wrong", "status word", preceded([](CodeGenerator& c) {
                   c.mov(r8, c.ptr[rdi + kStatusSlot]);
                   c.mov(c.qword[r8], 5);
                 })});
  all.push_back({"writes nothing", "wrong", "Y", assemble([](CodeGenerator& c) { c.ret(); })});
  all.push_back({"leaves out the last element", "wrong", "Y", assemble([](CodeGenerator& c) {
                   c.mov(r11, c.ptr[rdi + kOutputSlot]);
                   c.mov(r10d, c.dword[r11 + 4 * (kElements - 1)]);
                   add_one(c);
                   c.mov(c.dword[r11 + 4 * (kElements - 1)], r10d);
                   c.ret();
                 })});
  all.push_back({"differs from run to run", "nondeterministic", "", spoiled([](CodeGenerator& c) {
                   // A bit of the clock in the last place stays within the tolerance of one run.
                   c.mov(r10d, eax);
                   c.rdtsc();
                   c.shr(eax, 5);
                   c.and_(eax, 1);
                   c.movd(ecx, xmm0);
                   c.and_(ecx, -2);
                   c.or_(ecx, eax);
                   c.movd(xmm0, ecx);
                   c.mov(eax, r10d);
                 })});
}

}  // namespace

std::vector<uint8_t> good_code() {
  return preceded([](CodeGenerator&) {});
}

std::vector<uint8_t> sleeping_code() {
  using namespace Xbyak::util;
  return assemble([](CodeGenerator& c) {
    c.sub(rsp, 24);
    c.mov(c.qword[rsp], 3600);
    c.mov(c.qword[rsp + 8], 0);
    c.mov(eax, SYS_nanosleep);
    c.mov(rdi, rsp);
    c.xor_(esi, esi);
    c.syscall();
    c.add(rsp, 24);
    c.ret();
  });
}

std::vector<uint8_t> large_code(int wrong) {
  using namespace Xbyak::util;
  return assemble([&](CodeGenerator& c) {
    Label head, fine;
    c.mov(r8, c.ptr[rdi + kInputSlot]);
    c.mov(r9, c.ptr[rdi + kInputSlot + 16]);
    c.xor_(eax, eax);
    c.L(head);
    c.mov(ecx, c.dword[r8 + rax * 4]);
    c.cmp(eax, wrong);
    c.jne(fine);
    c.inc(ecx);
    c.L(fine);
    c.mov(c.dword[r9 + rax * 4], ecx);
    c.inc(eax);
    c.cmp(eax, kLargeElements);
    c.jl(head);
    c.ret();
  });
}

std::vector<Evil> evil_candidates() {
  std::vector<Evil> all;
  bounds(all);
  wild(all);
  clobbers(all);
  wrongs(all);
  return all;
}
