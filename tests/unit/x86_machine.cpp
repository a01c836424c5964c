// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/x86_machine.h"

#include <cstring>
#include <map>
#include <stdexcept>

#include "jit/x86/encode/forms.h"

namespace hone::tests {

using jit::greg;
using jit::imm;
using jit::Inst;
using jit::kreg;
using jit::Lir;
using jit::Mem;
using jit::mem;
using jit::Opcode;
using jit::Operand;
using jit::Pseudo;
using jit::Reg;
using jit::vreg;
using jit::X86;

ir::Target host_x86() {
  ir::Target t;
  if (__builtin_cpu_supports("avx2")) t.isa |= static_cast<uint32_t>(ir::Isa::kAvx2);
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq")) {
    t.isa |= static_cast<uint32_t>(ir::Isa::kAvx512);
  }
  return t;
}

RandomLir::RandomLir(unsigned seed, int vector_bytes) : random_(seed), bytes_(vector_bytes) {}

int RandomLir::below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

Reg RandomLir::pick(const std::vector<Reg>& from) {
  return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
}

/// Somewhere in the second half of the memory, addressed from args.
Mem RandomLir::place(int bytes) {
  Mem m;
  m.base = lir_.entry[0];
  m.disp = 2048 + below(2048 / bytes) * bytes;
  return m;
}

void RandomLir::add(Opcode op, std::array<Operand, 4> operands, Reg mask, bool zeroing) {
  lir_.code.push_back({op, zeroing, mask, operands});
}

Operand RandomLir::v(Reg r) const { return vreg(r, bytes_); }

Lir RandomLir::make() {
  lir_ = {};
  for (Reg& r : lir_.entry) r = lir_.gpr();
  for (int i = 3 + below(18); i > 0; --i) gprs_.push_back(lir_.gpr());
  for (int i = 3 + below(38); i > 0; --i) vecs_.push_back(lir_.vec());
  for (int i = bytes_ == 64 ? 2 + below(9) : 0; i > 0; --i) masks_.push_back(lir_.mask());
  define_all();
  statements(4 + below(30), 0);
  store_all();
  add(Pseudo::ret, {});
  return std::move(lir_);
}

void RandomLir::define_all() {
  for (int i = 0; i < 256; ++i) lir_.pool.push_back(static_cast<uint8_t>(below(256)));
  for (Reg r : gprs_) add(X86::mov, {greg(r), mem(place(8))});
  for (Reg r : vecs_) add(X86::vmovups, {v(r), mem(place(64))});
  for (Reg k : masks_) add(X86::kmovq, {kreg(k), mem(place(8))});
  for (int i = below(6); i > 0; --i) {
    const Reg r = lir_.vec();
    Mem m;
    m.pool = below(2) ? 0 : 64;
    lir_.regs[r.id].remat = m.pool;
    add(below(2) ? X86::vmovups : X86::vpbroadcastd, {v(r), mem(m)});
    constants_.push_back(r);
  }
}

/// Every variable becomes visible, in the first half of the memory.
void RandomLir::store_all() {
  Mem m;
  m.base = lir_.entry[0];
  for (Reg r : vecs_) {
    add(X86::vmovups, {mem(m), v(r)});
    m.disp += 32;  // the upper half is overwritten by the next
  }
  m.disp = 1536;
  for (Reg r : gprs_) {
    add(X86::mov, {mem(m), greg(r)});
    m.disp += 8;
  }
  for (Reg k : masks_) {
    add(X86::kmovq, {mem(m), kreg(k)});
    m.disp += 8;
  }
}

void RandomLir::statements(int count, int depth) {
  for (int i = 0; i < count; ++i) statement(depth);
}

void RandomLir::statement(int depth) {
  switch (below(12)) {
    case 0:
      if (depth < 3) return loop(depth);
      [[fallthrough]];
    case 1:
      if (depth < 4) return branch(depth);
      [[fallthrough]];
    case 2:
      if (!masks_.empty()) return mask();
      [[fallthrough]];
    case 3:
    case 4:
    case 5:
      return general();
    default:
      return vector();
  }
}

void RandomLir::general() {
  const Reg d = pick(gprs_);
  const Reg s = pick(gprs_);
  const Operand source = below(3) ? greg(s) : imm(below(1000) - 500);
  switch (below(10)) {
    case 0:
      return add(X86::mov, {greg(d), greg(s)});
    case 1:
      return add(X86::add, {greg(d), source});
    case 2:
      return add(X86::sub, {greg(d), source});
    case 3:
      return add(X86::imul, {greg(d), greg(s)});
    case 4:
      return add(X86::xor_, {greg(d), source});
    case 5:
      return add(X86::mov, {mem(place(8)), greg(s)});
    case 6:
      return add(X86::mov, {greg(d), mem(place(8))});
    case 7:
      return add(below(2) ? Pseudo::floor_div : Pseudo::floor_mod, {greg(d), greg(s), source});
    case 8: {
      Mem m;
      m.base = s;
      m.index = pick(gprs_);
      m.scale = static_cast<uint8_t>(1 << below(4));
      m.disp = below(100);
      return add(X86::lea, {greg(d), mem(m)});
    }
    default:
      add(X86::cmp, {greg(s), source});
      return add(X86::cmovl, {greg(d), greg(pick(gprs_))});
  }
}

void RandomLir::vector() {
  const Reg d = pick(vecs_);
  const Reg a = pick(vecs_);
  const Reg b = !constants_.empty() && below(3) == 0 ? pick(constants_) : pick(vecs_);
  constexpr X86 ops[] = {X86::vpaddd, X86::vpsubd, X86::vpmulld};
  const X86 op = ops[below(3)];
  switch (below(8)) {
    case 0:
      return add(X86::vmovups, {v(d), v(a)});
    case 1:
      return add(X86::vmovups, {v(d), mem(place(64))});
    case 2:
      return add(X86::vmovups, {mem(place(64)), v(a)});
    case 3:
      return add(op, {v(d), v(a), mem(place(64))});
    case 4: {
      // A value of its own, used at once, as unrolled code has many.
      const Reg t = lir_.vec();
      add(op, {v(t), v(a), v(b)});
      return add(X86::vpaddd, {v(d), v(t), v(d)});
    }
    case 5:
      if (bytes_ == 64 && !masks_.empty()) {
        return add(op, {v(d), v(a), v(b)}, pick(masks_), below(2) == 0);
      }
      return add(op, {v(d), v(a), v(b)});
    case 6:
      // A form that has no EVEX encoding is confined to the lower registers.
      return add(X86::vpmovmskb, {greg(pick(gprs_), 4), vreg(a, 32)});
    default:
      return add(op, {v(d), v(a), v(b)});
  }
}

void RandomLir::mask() {
  const Reg d = pick(masks_);
  switch (below(4)) {
    case 0:
      return add(X86::kmovq, {kreg(d), kreg(pick(masks_))});
    case 1:
      return add(X86::kandq, {kreg(d), kreg(pick(masks_)), kreg(pick(masks_))});
    case 2:
      return add(X86::vpcmpd, {kreg(d), v(pick(vecs_)), v(pick(vecs_)), imm(below(3))});
    default:
      return add(X86::kmovq, {kreg(d), greg(pick(gprs_))});
  }
}

void RandomLir::loop(int depth) {
  const Reg counter = lir_.gpr();
  const int head = lir_.label();
  const int exit = lir_.label();
  const bool guarded = below(2);
  add(X86::mov, {greg(counter), imm(guarded ? below(3) : 1 + below(3))});
  if (guarded) {
    add(X86::cmp, {greg(counter), imm(0)});
    add(Pseudo::jump_le, {imm(exit)});
  }
  add(Pseudo::loop_begin, {imm(head)});
  statements(1 + below(6), depth + 1);
  if (below(4) == 0) {
    add(X86::cmp, {greg(pick(gprs_)), imm(below(100))});
    add(Pseudo::jump_eq, {imm(exit)});
    statements(1 + below(3), depth + 1);
  }
  add(X86::sub, {greg(counter), imm(1)});
  add(Pseudo::jump_ne, {imm(head)});
  add(Pseudo::loop_end, {imm(head)});
  add(Pseudo::label, {imm(exit)});
}

void RandomLir::branch(int depth) {
  const int otherwise = lir_.label();
  const int done = lir_.label();
  add(X86::cmp, {greg(pick(gprs_)), greg(pick(gprs_))});
  add(below(2) ? Pseudo::jump_lt : Pseudo::jump_ge, {imm(otherwise)});
  statements(1 + below(4), depth + 1);
  add(Pseudo::jump, {imm(done)});
  add(Pseudo::label, {imm(otherwise)});
  statements(1 + below(4), depth + 1);
  add(Pseudo::label, {imm(done)});
}

namespace {

using Lanes = std::array<uint32_t, 16>;

/// The state of virtual registers, memory and what the last comparison saw.
class Machine {
 public:
  Machine(const Lir& lir, std::vector<uint8_t>& memory, int bytes)
      : lir_(lir), memory_(memory), bytes_(static_cast<size_t>(bytes)) {
    g_.assign(lir.regs.size(), 0);
    k_.assign(lir.regs.size(), 0);
    v_.assign(lir.regs.size(), Lanes{});
    for (size_t i = 0; i < lir.code.size(); ++i) {
      const Inst& inst = lir.code[i];
      if (inst.op == Pseudo::label || inst.op == Pseudo::loop_begin) at_[inst.operands[0].imm] = i;
    }
  }

  void run() {
    for (size_t pc = 0; lir_.code[pc].op != Pseudo::ret; ++pc) {
      const Inst& inst = lir_.code[pc];
      if (jumps(inst)) {
        pc = at_.at(inst.operands[0].imm);
      } else {
        step(inst);
      }
    }
  }

 private:
  bool jumps(const Inst& inst) const {
    switch (pseudo_of(inst.op)) {
      case Pseudo::jump:
        return true;
      case Pseudo::jump_lt:
        return left_ < right_;
      case Pseudo::jump_le:
        return left_ <= right_;
      case Pseudo::jump_ge:
        return left_ >= right_;
      case Pseudo::jump_eq:
        return left_ == right_;
      case Pseudo::jump_ne:
        return left_ != right_;
      default:
        return false;
    }
  }

  uint8_t* address(const Operand& o) {
    if (o.mem.pool >= 0) return const_cast<uint8_t*>(lir_.pool.data()) + o.mem.pool;
    return memory_.data() + o.mem.disp;
  }
  int64_t& g(const Operand& o) { return g_[o.reg.id]; }
  Lanes& v(const Operand& o) { return v_[o.reg.id]; }
  uint64_t& k(const Operand& o) { return k_[o.reg.id]; }

  int64_t general(const Operand& o) {
    if (o.kind == Operand::kImm) return o.imm;
    if (o.kind == Operand::kReg) return g(o);
    int64_t value;
    std::memcpy(&value, address(o), 8);
    return value;
  }

  Lanes vector(const Operand& o) {
    if (o.kind == Operand::kReg) return v(o);
    Lanes value{};
    std::memcpy(value.data(), address(o), bytes_);
    return value;
  }

  void compare(int64_t a, int64_t b) {
    left_ = a;
    right_ = b;
  }

  static int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
    const int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
  }

  static int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

  void divide(const Inst& inst) {
    const auto& o = inst.operands;
    const int64_t a = g(o[1]), b = general(o[2]);
    const auto quotient = static_cast<uint64_t>(floor_div(a, b));
    const auto rest = static_cast<uint64_t>(a) - static_cast<uint64_t>(b) * quotient;
    g(o[0]) = inst.op == Pseudo::floor_div ? wrap(quotient) : b == 0 ? 0 : wrap(rest);
  }

  void step(const Inst& inst) {
    if (inst.op == Pseudo::floor_div || inst.op == Pseudo::floor_mod) return divide(inst);
    const auto& o = inst.operands;
    const auto u = [&](int i) { return static_cast<uint64_t>(general(o[i])); };
    switch (x86_of(inst.op)) {
      case X86::mov: {
        const int64_t value = general(o[1]);
        if (o[0].kind == Operand::kReg)
          g(o[0]) = value;
        else
          std::memcpy(address(o[0]), &value, 8);
        break;
      }
      case X86::add:
        g(o[0]) = wrap(u(0) + u(1));
        compare(g(o[0]), 0);
        break;
      case X86::sub:
        g(o[0]) = wrap(u(0) - u(1));
        compare(g(o[0]), 0);
        break;
      case X86::imul:
        g(o[0]) = wrap(u(0) * u(1));
        break;
      case X86::xor_:
        g(o[0]) = wrap(u(0) ^ u(1));
        break;
      case X86::cmp:
        compare(g(o[0]), general(o[1]));
        break;
      case X86::cmovl:
        if (left_ < right_) g(o[0]) = g(o[1]);
        break;
      case X86::lea: {
        const Mem& m = o[1].mem;
        g(o[0]) =
            wrap(static_cast<uint64_t>(g_[m.base.id]) +
                 static_cast<uint64_t>(g_[m.index.id]) * m.scale + static_cast<uint64_t>(m.disp));
        break;
      }
      case X86::kmovq:
      case X86::kandq:
        masks(inst);
        break;
      default:
        vectors(inst);
    }
  }

  void masks(const Inst& inst) {
    const auto& o = inst.operands;
    if (inst.op == X86::kandq) {
      k(o[0]) = k(o[1]) & k(o[2]);
    } else if (o[0].kind == Operand::kMem) {
      std::memcpy(address(o[0]), &k(o[1]), 8);
    } else if (o[1].kind == Operand::kMem) {
      std::memcpy(&k(o[0]), address(o[1]), 8);
    } else {
      k(o[0]) = o[1].width == 0 ? k(o[1]) : static_cast<uint64_t>(g(o[1]));
    }
  }

  void vectors(const Inst& inst) {
    const auto& o = inst.operands;
    if (inst.op == X86::vmovups && o[0].kind == Operand::kMem) {
      std::memcpy(address(o[0]), v(o[1]).data(), bytes_);
    } else if (inst.op == X86::vmovups) {
      v(o[0]) = vector(o[1]);
    } else if (inst.op == X86::vpbroadcastd) {
      uint32_t element;
      std::memcpy(&element, address(o[1]), 4);
      v(o[0]).fill(element);
    } else if (inst.op == X86::vpmovmskb) {
      uint32_t bits = 0;
      const uint8_t* p = reinterpret_cast<const uint8_t*>(v(o[1]).data());
      for (int i = 0; i < 32; ++i) bits |= uint32_t{p[i]} >> 7 << i;
      g(o[0]) = bits;
    } else if (inst.op == X86::vpcmpd) {
      uint64_t bits = 0;
      for (size_t i = 0; i < bytes_ / 4; ++i) {
        const auto a = static_cast<int32_t>(v(o[1])[i]), b = static_cast<int32_t>(v(o[2])[i]);
        const bool holds = o[3].imm == 0 ? a == b : o[3].imm == 1 ? a < b : a <= b;
        bits |= uint64_t{holds} << i;
      }
      k(o[0]) = bits;
    } else if (!jit::is_pseudo(inst.op)) {
      arithmetic(inst);
    }
  }

  void arithmetic(const Inst& inst) {
    const auto& o = inst.operands;
    const Lanes a = vector(o[1]);
    const Lanes b = vector(o[2]);
    Lanes& d = v(o[0]);
    for (size_t i = 0; i < 16; ++i) {
      const uint32_t value = inst.op == X86::vpaddd   ? a[i] + b[i]
                             : inst.op == X86::vpsubd ? a[i] - b[i]
                                                      : a[i] * b[i];
      const bool on = !inst.mask.valid() || (k_[inst.mask.id] >> i & 1);
      if (on || inst.zeroing) d[i] = on ? value : 0;
    }
  }

  const Lir& lir_;
  std::vector<uint8_t>& memory_;
  const size_t bytes_;
  std::vector<int64_t> g_;
  std::vector<uint64_t> k_;
  std::vector<Lanes> v_;
  std::map<int64_t, size_t> at_;
  int64_t left_ = 0, right_ = 0;
};

}  // namespace

void interpret(const Lir& lir, std::vector<uint8_t>& memory, int vector_bytes) {
  Machine(lir, memory, vector_bytes).run();
}

}  // namespace hone::tests
