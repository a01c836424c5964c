// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/encode/emit.h"

#include <new>
#include <utility>

namespace hone::jit {
namespace {

using enum Shape;
using Gen = Xbyak::CodeGenerator;

/// An operand of one instruction as one of Xbyak's types; `any` points to the one in use. Built in
/// place: default construction of them all would be a quarter of the encoder's time.
struct Slot {
  union {
    Xbyak::Zmm vec;
    Xbyak::Reg64 gpr;
    Xbyak::Opmask mask;
    Xbyak::Address mem;
  };
  const Xbyak::Operand* any = nullptr;
  int64_t imm = 0;
  Slot() : vec(0) {}
};

struct Bound {
  std::array<Slot, 4> slots;
  Xbyak::PreferredEncoding dot;
};

/// A vector register of any width under the static type that fits every Xbyak parameter.
Xbyak::Zmm vector(int index, int width) {
  Xbyak::Zmm r(index);
  if (width < 64) r.setKind(width == 16 ? Xbyak::Operand::XMM : Xbyak::Operand::YMM);
  return r;
}

Xbyak::Reg64 general(int index, int width, Shape shape) {
  if (shape == R8) width = 1;
  if (shape == R16) width = 2;
  Xbyak::Reg64 r(index);
  if (width == 1) {
    static_cast<Xbyak::Reg&>(r) = Xbyak::Reg8(index, index >= 4 && index < 8);
  } else if (width == 2) {
    static_cast<Xbyak::Reg&>(r) = Xbyak::Reg16(index);
  } else if (width == 4) {
    static_cast<Xbyak::Reg&>(r) = Xbyak::Reg32(index);
  }
  return r;
}

constexpr bool is_vector(Shape s) {
  return s == V || s == W || s == X || s == Y || s == Z || s == H || s == Q || s == E;
}
constexpr bool is_memory(Shape s) { return s == M || s == MS || s == SV || s == SH; }
constexpr bool is_small(Shape s) { return s == N || s == G; }

/// The argument of static type that the overload for shape `S` takes.
template <Shape S>
decltype(auto) argument(const Slot& slot) {
  if constexpr (S == I8) {
    return static_cast<uint8_t>(slot.imm);
  } else if constexpr (S == I32) {
    return static_cast<int>(slot.imm);
  } else if constexpr (S == I64) {
    return static_cast<uint64_t>(slot.imm);
  } else if constexpr (is_vector(S)) {
    return (slot.vec);
  } else if constexpr (is_memory(S)) {
    return (slot.mem);
  } else if constexpr (S == K) {
    return (slot.mask);
  } else if constexpr (S == R64) {
    return (slot.gpr);
  } else if constexpr (S == R32) {
    return Xbyak::Reg32(slot.gpr.getIdx());
  } else if constexpr (S == R16) {
    return Xbyak::Reg16(slot.gpr.getIdx());
  } else if constexpr (S == R8) {
    return Xbyak::Reg8(slot.gpr.getIdx(), slot.gpr.isExt8bit());
  } else if constexpr (S == R) {
    return static_cast<const Xbyak::Reg32e&>(slot.gpr);
  } else if constexpr (is_small(S)) {
    return static_cast<const Xbyak::Reg&>(slot.gpr);
  } else {
    return (*slot.any);
  }
}

template <Shape... S>
struct Shapes {
  template <class Call, size_t... I>
  static void apply(const Call& call, const Bound& bound, std::index_sequence<I...>) {
    call(argument<S>(bound.slots[I])...);
  }
  template <class Call>
  static void apply(const Call& call, const Bound& bound) {
    apply(call, bound, std::make_index_sequence<sizeof...(S)>());
  }
};

using Emitter = void (*)(Gen&, const Bound&);

/// One function per row of ops.def, in its order.
constexpr Emitter kEmitters[] = {
#define HONE_X86(name, access, encoding, ...)                    \
  [](Gen& g, const Bound& bound) {                               \
    Shapes<__VA_ARGS__>::apply(                                  \
        [&](const auto&... a) {                                  \
          if constexpr (Encoding::encoding == Encoding::kVnni) { \
            g.name(a..., bound.dot);                             \
          } else {                                               \
            g.name(a...);                                        \
          }                                                      \
        },                                                       \
        bound);                                                  \
  },
#define HONE_X86_ALSO HONE_X86
#include "jit/x86/encode/ops.def"
#undef HONE_X86
};

void bind(Slot& slot, const Operand& o, Shape shape, const EmitContext& context) {
  switch (o.kind) {
    case Operand::kNone:
      break;
    case Operand::kImm:
      slot.imm = o.imm;
      break;
    case Operand::kMem:
      slot.any = new (&slot.mem) Xbyak::Address(address_of(o, context, shape));
      break;
    case Operand::kReg:
      switch (class_of(o)) {
        case RegClass::kVec:
          slot.any = new (&slot.vec) Xbyak::Zmm(vector(o.reg.id, o.width));
          break;
        case RegClass::kMask:
          slot.any = new (&slot.mask) Xbyak::Opmask(o.reg.id);
          break;
        case RegClass::kGpr:
          slot.any = new (&slot.gpr) Xbyak::Reg64(general(o.reg.id, o.width, shape));
          break;
      }
      break;
  }
}

}  // namespace

Xbyak::Address address_of(const Operand& operand, const EmitContext& context, Shape shape) {
  const Mem& m = operand.mem;
  const bool gather = shape == SV || shape == SH;
  uint32_t bits = gather ? 0 : operand.width * 8u;
  if (shape == R32M) bits = 32;
  if (shape == R64M) bits = 64;
  const Xbyak::AddressFrame frame(bits, m.broadcast);
  if (m.slot >= 0) return frame[Xbyak::util::rsp + m.slot];
  if (m.pool >= 0) return frame[Xbyak::util::rip + *context.pool + (m.pool + m.disp)];
  Xbyak::RegExp e;
  if (m.base.valid()) e = Xbyak::RegExp(Xbyak::Reg64(m.base.id));
  if (gather) {
    e = e + Xbyak::RegExp(vector(m.index.id, operand.width), m.scale);
  } else if (m.index.valid()) {
    e = e + Xbyak::RegExp(Xbyak::Reg64(m.index.id), m.scale);
  }
  return frame[e + m.disp];
}

void emit(Gen& generator, const Inst& inst, const Form& form, const EmitContext& context) {
  Bound bound;
  bound.dot = context.evex_dot ? Xbyak::EvexEncoding : Xbyak::VexEncoding;
  for (int i = 0; i < 4 && inst.operands[i].kind != Operand::kNone; ++i) {
    bind(bound.slots[i], inst.operands[i], form.shapes[i], context);
  }
  if (inst.mask.valid()) {
    Slot& first = bound.slots[0];
    switch (inst.operands[0].kind == Operand::kMem ? RegClass::kGpr : class_of(inst.operands[0])) {
      case RegClass::kVec:
        first.vec.setOpmaskIdx(inst.mask.id);
        break;
      case RegClass::kMask:
        first.mask.setOpmaskIdx(inst.mask.id);
        break;
      case RegClass::kGpr:
        first.mem.setOpmaskIdx(inst.mask.id);
        break;
    }
    if (inst.zeroing) first.vec.setZero();
  }
  kEmitters[&form - forms().data()](generator, bound);
}

}  // namespace hone::jit
