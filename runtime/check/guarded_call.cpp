// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/guarded_call.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

extern "C" {

/// What the assembly below reads and writes; offsets are in it.
struct HoneGuardedFrame {
  const void* function;  // 0
  const int64_t* args;   // 8
  int64_t begin;         // 16
  int64_t end;           // 24
  void* scratch;         // 32
  void* stack_top;       // 40: 16-byte aligned
  void* saved_stack;     // 48
};
static_assert(offsetof(HoneGuardedFrame, stack_top) == 40);

/// The frame in use. Not on the guarded stack, which the callee may destroy. Marked used for
/// link-time optimisation, which does not look into assembly.
__attribute__((visibility("hidden"), used)) HoneGuardedFrame* hone_guarded_frame = nullptr;

/// Returns a bit for everything that changed: rbx rbp r12 r13 r14 r15 mxcsr direction stack.
__attribute__((visibility("hidden"), used)) uint64_t hone_guarded_call(HoneGuardedFrame* frame);
}

// Callee-saved registers hold recognisable values during the call.
asm(R"(
.text
.p2align 4
.hidden hone_guarded_call
.globl hone_guarded_call
.type hone_guarded_call, @function
hone_guarded_call:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  movq %rdi, hone_guarded_frame(%rip)
  movq %rsp, 48(%rdi)
  movq %rdi, %rax
  movq 40(%rax), %rsp
  movq 8(%rax), %rdi
  movq 16(%rax), %rsi
  movq 24(%rax), %rdx
  movq 32(%rax), %rcx
  movl $0x51b, %ebx
  movl $0x52b, %ebp
  movl $0x53b, %r12d
  movl $0x54b, %r13d
  movl $0x55b, %r14d
  movl $0x56b, %r15d
  callq *(%rax)
  movq %rsp, %r8
  movq hone_guarded_frame(%rip), %rdx
  movq 48(%rdx), %rsp
  xorl %eax, %eax
  pushfq
  popq %r9
  cld
  cmpq $0x51b, %rbx
  je 1f
  orl $1, %eax
1:cmpq $0x52b, %rbp
  je 1f
  orl $2, %eax
1:cmpq $0x53b, %r12
  je 1f
  orl $4, %eax
1:cmpq $0x54b, %r13
  je 1f
  orl $8, %eax
1:cmpq $0x55b, %r14
  je 1f
  orl $16, %eax
1:cmpq $0x56b, %r15
  je 1f
  orl $32, %eax
1:subq $8, %rsp
  stmxcsr (%rsp)
  movl (%rsp), %ecx
  addq $8, %rsp
  movl (%rsp), %r10d
  andl $0xffc0, %ecx
  andl $0xffc0, %r10d
  cmpl %ecx, %r10d
  je 1f
  orl $64, %eax
1:testl $0x400, %r9d
  je 1f
  orl $128, %eax
1:cmpq %r8, 40(%rdx)
  je 1f
  orl $256, %eax
1:ldmxcsr (%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  retq
.size hone_guarded_call, .-hone_guarded_call
)");

namespace hone::runtime {
namespace {

/// Chosen: more stack than a kernel may take; a byte that no data have by habit (not measured).
constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kRedZone = 4096;  // above the stack's top: nobody may write there
constexpr uint8_t kGuardedCallPattern = 0xA3;
constexpr const char* kNames[] = {"rbx", "rbp",   "r12",       "r13",  "r14",
                                  "r15", "mxcsr", "direction", "stack"};

}  // namespace

Result<GuardedCall> GuardedCall::create() {
  auto stack = GuardedMemory::allocate(kStackBytes, Guard::kBefore);
  if (!stack) return stack.failure();
  return GuardedCall(std::move(*stack));
}

std::string GuardedCall::run(Function fn, const int64_t* args, int64_t begin, int64_t end,
                             void* scratch) {
  uint8_t* top = stack_.data() + kStackBytes - kRedZone;
  std::memset(top, kGuardedCallPattern, kRedZone);
  HoneGuardedFrame frame{
      reinterpret_cast<const void*>(fn), args, begin, end, scratch, top, nullptr};
  const uint64_t broken = hone_guarded_call(&frame);
  std::string names;
  for (size_t bit = 0; bit < std::size(kNames); ++bit) {
    if (broken & (uint64_t{1} << bit))
      names += (names.empty() ? "" : " ") + std::string(kNames[bit]);
  }
  const bool smashed =
      std::any_of(top, top + kRedZone, [](uint8_t b) { return b != kGuardedCallPattern; });
  if (smashed && !(broken & 256)) names += names.empty() ? "stack" : " stack";
  return names;
}

}  // namespace hone::runtime
