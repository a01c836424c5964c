// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/encode/encode.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "jit/x86/encode/emit.h"
#include "jit/x86/encode/forms.h"

namespace hone::jit {
namespace {

using namespace Xbyak::util;  // NOLINT: register names

/// Fixed by: a cache line, and the System V ABI.
constexpr size_t kAlign = 64;
constexpr int kCalleeSaved[] = {3, 5, 12, 13, 14, 15};  // rbx rbp r12..r15

/// Memory that instructions are written to before they are copied out; reused by a thread's calls.
uint8_t* workspace(size_t bytes) {
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{kAlign}); }
  };
  thread_local std::unique_ptr<uint8_t[], Free> memory;
  thread_local size_t size = 0;
  if (size < bytes) {
    size = std::max<size_t>(bytes, 256 << 10);
    memory.reset(new (std::align_val_t{kAlign}) uint8_t[size]);
  }
  return memory.get();
}

/// What the prologue needs to know about the code.
struct Facts {
  std::array<bool, 16> gprs{};  ///< general registers that appear
  bool wide_vectors = false;    ///< upper halves may be dirty at the end
  bool dot = false;
  size_t bytes = 4096;  ///< upper bound of the code's size
};

Facts facts_of(const Lir& lir) {
  Facts facts;
  facts.bytes += lir.pool.size();
  auto see = [&](Reg r) {
    if (r.valid()) facts.gprs[r.id & 15] = true;
  };
  for (const Inst& inst : lir.code) {
    facts.bytes += is_pseudo(inst.op) ? 192 : 16;
    for (const Operand& o : inst.operands) {
      if (o.kind == Operand::kReg) {
        if (class_of(o) == RegClass::kGpr) see(o.reg);
        facts.wide_vectors |= o.width >= 32;
      } else if (o.kind == Operand::kMem) {
        see(o.mem.base);
        // A gather's index is a vector register: counting it as a general one only saves too much.
        see(o.mem.index);
      }
    }
  }
  return facts;
}

class Encoder {
 public:
  Encoder(const Allocation& allocation, const ir::Target& target, uint8_t* buffer,
          const Facts& facts)
      : lir_(allocation.code),
        frame_(allocation.frame_bytes),
        target_(target),
        facts_(facts),
        g_(facts.bytes, buffer),
        labels_(lir_.labels),
        placed_(lir_.labels, false) {
    context_.pool = &pool_;
    context_.evex_dot = target.has(ir::Isa::kVnni);
  }

  size_t run(bool debug) {
    prologue();
    if (debug) poison();
    for (size_t i = 0; i < lir_.code.size(); ++i) {
      const Inst& inst = lir_.code[i];
      if (is_pseudo(inst.op)) {
        pseudo(i);
      } else if (const Form* form = form_of(inst)) {
        emit(g_, inst, *form, context_);
      } else {
        throw std::logic_error("no form of " + std::string(name_of(inst.op)) +
                               " has these operands");
      }
    }
    constants();
    return g_.getSize();
  }

 private:
  void prologue() {
    for (int r : kCalleeSaved) {
      if (facts_.gprs[r]) g_.push(Xbyak::Reg64(r));
    }
    if (frame_ == 0) return;
    // The frame is aligned for vector slots; the caller's stack pointer is kept at its top.
    g_.mov(rax, rsp);
    g_.sub(rsp, frame_ + 8);
    g_.and_(rsp, -static_cast<int>(kAlign));
    g_.mov(ptr[rsp + frame_], rax);
  }

  void epilogue() {
    if (facts_.wide_vectors) g_.vzeroupper();
    if (frame_ != 0) g_.mov(rsp, ptr[rsp + frame_]);
    for (int i = std::size(kCalleeSaved) - 1; i >= 0; --i) {
      if (facts_.gprs[kCalleeSaved[i]]) g_.pop(Xbyak::Reg64(kCalleeSaved[i]));
    }
    g_.ret();
  }

  /// All bits set: a NaN as f32 and f64, a mask of all lanes.
  void poison() {
    const bool avx512 = target_.has(ir::Isa::kAvx512);
    for (int i = 0; i < target_.vector_registers(); ++i) {
      if (avx512) {
        g_.vpternlogd(Xbyak::Zmm(i), Xbyak::Zmm(i), Xbyak::Zmm(i), 0xff);
      } else if (target_.vector_bytes() > 0) {
        g_.vpcmpeqd(Xbyak::Ymm(i), Xbyak::Ymm(i), Xbyak::Ymm(i));
      }
    }
    for (int i = 1; avx512 && i < 8; ++i) {
      g_.kxnorq(Xbyak::Opmask(i), Xbyak::Opmask(i), Xbyak::Opmask(i));
    }
  }

  bool innermost(size_t i) const {
    for (++i; i < lir_.code.size(); ++i) {
      if (lir_.code[i].op == Pseudo::loop_begin) return false;
      if (lir_.code[i].op == Pseudo::loop_end) return true;
    }
    return true;
  }

  /// Backward jumps are as short as they can be; how far forward ones go is not known yet.
  Xbyak::CodeGenerator::LabelType reach(int64_t label) const {
    return placed_[static_cast<size_t>(label)] ? g_.T_AUTO : g_.T_NEAR;
  }

  void pseudo(size_t i) {
    const Inst& inst = lir_.code[i];
    const auto& o = inst.operands;
    switch (pseudo_of(inst.op)) {
      case Pseudo::loop_begin:
        if (innermost(i)) g_.align(32);
        [[fallthrough]];
      case Pseudo::label:
        g_.L(labels_[o[0].imm]);
        placed_[static_cast<size_t>(o[0].imm)] = true;
        break;
      case Pseudo::loop_end:
        break;
      case Pseudo::jump:
        g_.jmp(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_lt:
        g_.jl(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_le:
        g_.jle(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_gt:
        g_.jg(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_ge:
        g_.jge(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_eq:
        g_.je(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_ne:
        g_.jne(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_below:
        g_.jb(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::jump_above_equal:
        g_.jae(labels_[o[0].imm], reach(o[0].imm));
        break;
      case Pseudo::floor_div:
      case Pseudo::floor_mod:
        divide(inst);
        break;
      case Pseudo::reload:
      case Pseudo::spill:
        move_slot(inst);
        break;
      case Pseudo::ret:
        epilogue();
        break;
      default:
        break;
    }
  }

  /// A register to or from its place in the frame.
  void move_slot(const Inst& inst) {
    const bool load = inst.op == Pseudo::reload;
    const Operand& reg = inst.operands[load ? 0 : 1];
    X86 op = X86::mov;
    if (class_of(reg) == RegClass::kVec) op = X86::vmovups;
    if (class_of(reg) == RegClass::kMask) op = X86::kmovq;
    Inst move{op, false, {}, inst.operands};
    emit(g_, move, *form_of(move), context_);
  }

  void push(const Operand& o) {
    if (o.kind == Operand::kReg) {
      g_.push(Xbyak::Reg64(o.reg.id));
    } else {
      g_.mov(rax, static_cast<uint64_t>(o.imm));
      g_.push(rax);
    }
  }

  /// Floor division or its remainder by idiv. Everything but the destination is kept, through the
  /// stack, so that allocation need not know of rax and rdx.
  void divide(const Inst& inst) {
    const bool mod = inst.op == Pseudo::floor_mod;
    Xbyak::Label zero, minus_one, done;
    for (const auto& r : {rax, rcx, rdx}) g_.push(r);
    push(inst.operands[2]);
    if (inst.operands[1].kind == Operand::kReg) {
      // An immediate divisor went through rax, which is on the stack below it.
      if (inst.operands[1].reg.id == 0) g_.mov(rax, ptr[rsp + 24]);
      g_.push(Xbyak::Reg64(inst.operands[1].reg.id));
    } else {
      push(inst.operands[1]);
    }
    g_.pop(rax);
    g_.pop(rcx);
    g_.test(rcx, rcx);
    g_.jz(zero);
    g_.cmp(rcx, -1);
    g_.je(minus_one);
    g_.cqo();
    g_.idiv(rcx);
    g_.test(rdx, rdx);
    g_.jz(done);
    if (mod) {
      g_.mov(rax, rdx);
      g_.xor_(rax, rcx);
      g_.jns(done);
      g_.add(rdx, rcx);
    } else {
      g_.xor_(rcx, rdx);
      g_.jns(done);
      g_.dec(rax);
    }
    g_.jmp(done);
    g_.L(minus_one);  // idiv would trap on MIN / -1
    g_.neg(rax);
    g_.xor_(edx, edx);
    g_.jmp(done);
    g_.L(zero);
    g_.xor_(eax, eax);
    g_.xor_(edx, edx);
    g_.L(done);
    // The result passes below the stack pointer, in the red zone.
    g_.mov(ptr[rsp - 8], mod ? rdx : rax);
    for (const auto& r : {rdx, rcx, rax}) g_.pop(r);
    g_.mov(Xbyak::Reg64(inst.operands[0].reg.id), ptr[rsp - 32]);
  }

  void constants() {
    if (lir_.pool.empty()) {
      g_.L(pool_);
      return;
    }
    while (g_.getSize() % kAlign != 0) g_.db(0xcc);
    g_.L(pool_);
    for (uint8_t byte : lir_.pool) g_.db(byte);
  }

  const Lir& lir_;
  const int frame_;
  const ir::Target& target_;
  const Facts& facts_;
  Xbyak::CodeGenerator g_;
  std::vector<Xbyak::Label> labels_;
  std::vector<bool> placed_;  ///< per label: its place is behind
  Xbyak::Label pool_;
  EmitContext context_;
};

}  // namespace

size_t encode(const Allocation& allocation, const ir::Target& target, std::vector<uint8_t>& out,
              bool debug) {
  const Facts facts = facts_of(allocation.code);
  uint8_t* buffer = workspace(facts.bytes);
  Encoder encoder(allocation, target, buffer, facts);
  const size_t size = encoder.run(debug);
  out.resize((out.size() + kAlign - 1) / kAlign * kAlign, 0xcc);
  const size_t entry = out.size();
  out.insert(out.end(), buffer, buffer + size);
  return entry;
}

}  // namespace hone::jit
