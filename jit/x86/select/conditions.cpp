// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/conditions.h"

#include "jit/ir/integers.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

bool Conditions::decided(const ir::Expr& e, bool& holds) {
  if (is_const(e)) {
    holds = e->i != 0;
    return true;
  }
  for (const Assumption& known : assumed_) {
    if (!ir::equal(*known.condition, e)) continue;
    holds = known.holds;
    return true;
  }
  bool a = false, b = false;
  switch (e->op) {
    case Op::kAnd:
    case Op::kOr: {
      const bool decisive = e->op == Op::kOr;
      const bool left = decided(e->args[0], a), right = decided(e->args[1], b);
      if ((left && a == decisive) || (right && b == decisive)) {
        holds = decisive;
        return true;
      }
      holds = !decisive;
      return left && right;
    }
    case Op::kNot:
      if (!decided(e->args[0], a)) return false;
      holds = !a;
      return true;
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return decided_comparison(e, holds);
    default:
      return false;
  }
}

bool Conditions::decided_comparison(const ir::Expr& e, bool& holds) {
  const DType type = e->args[0]->type;
  if ((type != DType::kI64 && type != DType::kI32) || ir::mentions_load(e)) return false;
  const auto sum = [&](const ir::Expr& x, Affine& out) {
    return type == DType::kI64 ? indices_.lane_index(x, out) : indices_.known_sum(x, out);
  };
  Affine a, b;
  if (!sum(e->args[0], a) || !sum(e->args[1], b)) return false;
  return decided_by(e, a, b, holds);
}

bool Conditions::near(const ir::Expr& e, const Affine& a) const {
  int64_t least, most;
  return ir::stays_near(e) ||
         (indices_.range_of(a, least, most) && least > -ir::kNear && most < ir::kNear);
}

bool Conditions::bring_near(const ir::Expr& e, Affine& a) {
  if (near(e, a)) return true;
  if (!(a.without(Factor::make(Factor::kLane, 0)) == a)) return false;
  a = indices_.limited(a, -ir::kNear, ir::kNear);
  return true;
}

bool Conditions::decided_by(const ir::Expr& e, const Affine& a, const Affine& b,
                            bool& holds) const {
  int64_t least, most;
  if (!near(e->args[0], a) || !near(e->args[1], b)) return false;
  if (!indices_.range_of(a - b, least, most)) return false;
  switch (e->op) {
    case Op::kLt:
      holds = most < 0;
      return most < 0 || least >= 0;
    case Op::kLe:
      holds = most <= 0;
      return most <= 0 || least > 0;
    default: {
      const bool never = most < 0 || least > 0, always = least == 0 && most == 0;
      holds = (e->op == Op::kEq) == always;
      return never || always;
    }
  }
}

bool Conditions::decided_lanes(const ir::Expr& e, uint64_t& bits) {
  bits = 0;
  for (int i = 0; i < lanes_.count; ++i) {
    Affine a, b;
    bool holds = false, decided = false;
    at_lane(i, [&] {
      decided = indices_.known_sum(e->args[0], a) && indices_.known_sum(e->args[1], b) &&
                decided_by(e, a, b, holds);
    });
    if (!decided) return false;
    if (holds) bits |= uint64_t{1} << i;
  }
  return true;
}

Value Conditions::compare(const ir::Expr& e) {
  const DType type = e->args[0]->type;
  if (type == DType::kI64) {
    if (!indices_.depends_on_lane(e) && indices_.steers(e))
      return masks_.uniform(integers_.compare(e));
    Value v;
    if (indices_.steers(e) && compare_lanes(e, v)) return v;
  }
  uint64_t bits = 0;
  if (is_int(type) && indices_.depends_on_lane(e) && decided_lanes(e, bits)) {
    return masks_.of_lanes(bits);
  }
  const Value a = value(e->args[0]), b = value(e->args[1]);
  return arithmetic_.compared(e->op, a, b);
}

bool Conditions::compare_lanes(const ir::Expr& e, Value& out) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  Affine a, b;
  if (!indices_.lane_index(e->args[0], a) || !indices_.lane_index(e->args[1], b)) return false;
  if (!bring_near(e->args[0], a) || !bring_near(e->args[1], b)) return false;
  const Affine d = a - b;
  const Affine slope = d.coefficient_of(lane);
  if (!slope.is_constant() || slope.constant < -1 || slope.constant > 1) return false;
  if (slope.constant == 0) {
    out = masks_.uniform(integers_.compare(e));
    return true;
  }
  const int s = static_cast<int>(slope.constant);
  const Affine below = d - Affine::of(1);  // d <= 0 is d - 1 < 0
  switch (e->op) {
    case Op::kLt:
      out = negative_lanes(d, s);
      break;
    case Op::kLe:
      out = negative_lanes(below, s);
      break;
    default: {
      const Value not_equal =
          masks_.logic(Op::kOr, negative_lanes(d, s), masks_.negated(negative_lanes(below, s)));
      out = e->op == Op::kNe ? not_equal : masks_.negated(not_equal);
    }
  }
  return true;
}

Value Conditions::negative_lanes(const Affine& d, int slope) {
  const Affine rest = d.without(Factor::make(Factor::kLane, 0));
  int64_t least, most;
  if (indices_.range_of(d, least, most)) {
    if (most < 0) return masks_.uniform(true);
    if (least >= 0) return masks_.uniform(false);
  }
  if (slope > 0) return masks_.prefix(indices_.limited_to_lanes(scaled(rest, -1)));
  return masks_.negated(masks_.prefix(indices_.limited_to_lanes(rest + Affine::of(1))));
}

Value Conditions::logic(const ir::Expr& e) {
  bool holds = false;
  if (e->type == DType::kBool && e->op != Op::kNot) {
    // The side that is the same in all lanes, whatever the loops do, says nothing or everything.
    const bool decisive = e->op == Op::kOr;
    for (size_t i = 0; i < 2; ++i) {
      if (!decided(e->args[i], holds)) continue;
      return holds == decisive ? masks_.uniform(holds) : value(e->args[1 - i]);
    }
  }
  const Value a = value(e->args[0]);
  if (e->type != DType::kBool) {
    // On integers: bit by bit.
    if (e->op == Op::kNot)
      return vectors_.op3(X86::vxorps, a, vectors_.constant_bits(a.type, ~uint64_t{0}));
    return vectors_.op3(e->op == Op::kAnd ? X86::vandps : X86::vorps, a, value(e->args[1]));
  }
  if (e->op == Op::kNot) return masks_.negated(a);
  return masks_.logic(e->op, a, value(e->args[1]));
}

Value Conditions::choice(const ir::Expr& e) {
  bool holds = false;
  if (decided(e->args[0], holds)) return value(e->args[holds ? 1 : 2]);
  const Value mask = value(e->args[0]);
  const Value then = value(e->args[1]);
  const Value otherwise = value(e->args[2]);
  return masks_.blend(mask, then, otherwise);
}

}  // namespace hone::jit
