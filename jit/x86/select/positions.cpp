// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/positions.h"

#include <algorithm>
#include <bit>

namespace hone::jit {

using ir::Op;

namespace {

/// Fixed by: positions are of 64 bits.
constexpr int kPositionBytes = 8;

}  // namespace

bool Positions::known_apart(const ir::Expr& index) {
  const ir::Expr own = indices_.split(index).apart;
  Affine first;
  for (int i = 0; own && i < lanes_.active; ++i) {
    Affine at;
    bool known = false;
    at_lane(i, [&] { known = indices_.known_sum(own, at); });
    if (i == 0) first = at;
    if (!known || !(at - first).is_constant()) return false;
  }
  return true;
}

bool Positions::can_compute(const ir::Expr& index, const ir::Expr* condition) const {
  if (lanes_.count == 1 || lanes_.active < 0 || lanes_.condition.valid()) return false;
  // The registers of a tile have the lanes of the vector loop.
  const auto reads_tile = [&](const ir::Expr& e) {
    return ir::any_node(e, [&](const ir::Expr& x) {
      return x->op == Op::kLoad && nest_.buffers[x->id].home == ir::Home::kRegisters;
    });
  };
  return !reads_tile(index) && !(condition != nullptr && reads_tile(*condition));
}

bool Positions::is_dear(const ir::Expr& index) const {
  return ir::any_node(index, [&](const ir::Expr& x) {
    switch (x->op) {
      case Op::kInt:
      case Op::kVar:
      case Op::kDim:
      case Op::kScalar:
      case Op::kNeg:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
        return false;
      case Op::kCast:
        return is_float(x->args[0]->type) && indices_.depends_on_lane(x);
      case Op::kLoad:
        return x->guarded && indices_.depends_on_lane(x);
      default:
        return indices_.depends_on_lane(x);
    }
  });
}

Value Positions::load(int buffer, const ir::Expr& index, const ir::Expr* condition) {
  if (lanes_.count * kPositionBytes <= target_.vector_bytes()) {
    return load_part(buffer, index, condition);
  }
  const Lanes all = lanes_;
  const Binding outer = bindings_[all.loop];
  const int half = all.count / 2;
  const auto part = [&](int begin) {
    lanes_.count = half;
    lanes_.active = std::min(half, all.active - begin);
    bindings_[all.loop] = {true, outer.lane, outer.at(begin)};
    return load(buffer, index, condition);
  };
  const Value low = part(0);
  const Value high = all.active > half ? part(half) : low;
  lanes_ = all;
  bindings_[all.loop] = outer;
  return all.active > half ? vectors_.joined(low, high) : low;
}

Value Positions::load_part(int buffer, const ir::Expr& index, const ir::Expr* condition) {
  const LaneSum sum = indices_.split(index);
  const Mem start = addresses_.address(buffer, sum.same ? indices_.affine(sum.same) : Affine());
  const Value positions = value(sum.apart ? sum.apart : ir::make_int(0));
  const Value holds = condition != nullptr ? value(*condition) : Value{};
  const Value* const mask = condition != nullptr ? &holds : nullptr;
  const bool by_instruction = wide() && size_of(element_type(buffer)) >= 4;
  return by_instruction ? gathered(buffer, start, positions, mask)
                        : assembled(buffer, start, positions, mask);
}

Value Positions::gathered(int buffer, const Mem& start, const Value& positions,
                          const Value* condition) {
  const DType type = element_type(buffer);
  const int size = size_of(type), w = width(type);
  Mem m = start;
  if (m.index.valid()) {
    m = {};
    m.base = code_.define(RegClass::kGpr, 8, X86::lea, {mem(start)});
  }
  m.index = positions.reg;
  m.scale = static_cast<uint8_t>(size);
  Value mask{masks_.lane_bits(lanes_.active), DType::kBool, 0};
  if (condition != nullptr) mask = masks_.logic(Op::kAnd, mask, *condition);
  // The instruction ends with an empty mask.
  const Reg left = code_.make(RegClass::kMask), reg = code_.make(RegClass::kVec);
  code_.copy(left, mask.reg, RegClass::kMask);
  code_.emit(X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
  code_.emit(size == 4 ? X86::vgatherqps : X86::vgatherqpd,
             {vreg(reg, w), mem(m, width(DType::kI64))}, left);
  return {reg, type, size};
}

Value Positions::assembled(int buffer, const Mem& start, const Value& positions,
                           const Value* condition) {
  const int size = size_of(element_type(buffer));
  const Value first =
      vectors_.splat(code_.define(RegClass::kGpr, 8, X86::lea, {mem(start)}), DType::kI64);
  const Value bytes =
      arithmetic_.shifted_by(Op::kShl, positions, std::countr_zero(static_cast<unsigned>(size)));
  Value at = arithmetic_.apply(Op::kAdd, bytes, first);
  if (condition != nullptr) {
    at = masks_.blend(*condition, at, vectors_.splat(context_.args, DType::kI64));
  }
  return gathers_.assembled(buffer, [&](int i) {
    Mem m;
    m.base = vectors_.lane_to_gpr(at, i);
    return m;
  });
}

}  // namespace hone::jit
