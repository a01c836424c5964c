// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/values.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "jit/ir/half.h"
#include "jit/ir/integers.h"
#include "jit/x86/select/by_size.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

Value Values::value(const ir::Expr& e) {
  if (e->type == DType::kI64 && !indices_.depends_on_lane(e) && indices_.steers(e))
    return from_integer(e);
  if (Value lanes; from_lanes(e, lanes)) return lanes;
  if (Value found; from_low_bits(e, found)) return found;
  switch (e->op) {
    case Op::kInt:
    case Op::kFloat:
      return constant(e->type, *e);
    case Op::kVar:
    case Op::kDim:
      return from_integer(e);
    case Op::kScalar:
      return scalar_argument(e);
    case Op::kLoad:
      return loads_.load(e);
    case Op::kCast:
      return convert(e);
    case Op::kSelect:
      return conditions_.choice(e);
    case Op::kNeg:
      return unary(e);
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return conditions_.compare(e);
    case Op::kNot:
    case Op::kAnd:
    case Op::kOr:
      return conditions_.logic(e);
    case Op::kCall:
      return calls_.call(e);
    default:
      return binary(e);
  }
}

namespace {

/// True where all that `e` depends on is the low bits of one i32, which becomes `of`.
bool reads_low_bits(const ir::Expr& e, int64_t most, ir::Expr& of) {
  if (is_low_bits(e, most)) {
    const bool same = !of || equal(of, e->args[0]);
    of = e->args[0];
    return same;
  }
  if (e->op == Op::kInt || e->op == Op::kFloat) return true;
  if (e->args.empty() || e->op == Op::kLoad || e->op == Op::kCall) return false;
  for (const ir::Expr& a : e->args) {
    if (!reads_low_bits(a, most, of)) return false;
  }
  return true;
}

/// How many low bits the greatest remainder in `e` takes.
int low_bits_in(const ir::Expr& e, int64_t most) {
  if (is_low_bits(e, most)) return std::countr_zero(static_cast<uint64_t>(e->args[1]->i));
  int bits = 0;
  for (const ir::Expr& a : e->args) bits = std::max(bits, low_bits_in(a, most));
  return bits;
}

/// True of a number that `type` has: converting to it and back changes nothing.
bool has_number(DType type, double v) {
  switch (type) {
    case DType::kF64:
      return true;
    case DType::kF32:
      return static_cast<float>(v) == v;
    case DType::kF16:
      return ir::f16_value(ir::f16_from(v)) == v;
    case DType::kBF16:
      return ir::bf16_value(ir::bf16_from(v)) == v;
    case DType::kF8E4M3:
      return ir::f8e4m3_value(ir::f8e4m3_from(v)) == v;
    case DType::kF8E5M2:
      return ir::f8e5m2_value(ir::f8e5m2_from(v)) == v;
    default:
      return false;
  }
}

/// `e` where the low bits are those of `value`.
ir::Expr with_low_bits(const ir::Expr& e, int64_t most, int64_t value) {
  if (is_low_bits(e, most)) return ir::make_int(value % e->args[1]->i, e->type);
  if (e->args.empty()) return e;
  std::vector<ir::Expr> args;
  for (const ir::Expr& a : e->args) args.push_back(with_low_bits(a, most, value));
  if (e->op == Op::kCast && is_float(e->type)) {
    const ir::Node& from = *args[0];
    const double number = from.op == Op::kFloat ? from.f : static_cast<double>(from.i);
    const bool constant = from.op == Op::kFloat || (from.op == Op::kInt && is_int(from.type));
    if (constant && has_number(e->type, number)) return ir::make_float(number, e->type);
  }
  return ir::with_args(e, std::move(args));
}

/// A conversion of 16 or 32 bits to fewer and back to as many: the lanes stay where they are.
bool returns_to_lanes(const ir::Expr& e) {
  const ir::Expr& cut = e->args[0];
  if (cut->op != Op::kCast || !is_int(cut->type) || !is_int(cut->args[0]->type)) return false;
  const int before = size_of(cut->args[0]->type), kept = size_of(cut->type);
  return (before == 2 || before == 4) && kept < before && size_of(e->type) >= before;
}

}  // namespace

Value Values::constant(DType type, const ir::Node& node) {
  if (type == DType::kBool) return masks_.uniform(node.i != 0);
  const double f = node.op == Op::kFloat ? node.f : static_cast<double>(node.i);
  return vectors_.constant_bits(type, bits_of(type, f, node.i));
}

Value Values::scalar_argument(const ir::Expr& e) {
  const Mem m = argument(context_.layout.scalar_slots[e->id]);
  if (e->type == DType::kBool) {
    return masks_.of_bytes({memory_.broadcast_load(m, DType::kU8, -1, {}), DType::kU8, 1});
  }
  return {memory_.broadcast_load(m, e->type, -1, {}), e->type, size_of(e->type)};
}

Value Values::from_integer(const ir::Expr& e) { return from_sum(indices_.affine(e), DType::kI64); }

Value Values::from_sum(const Affine& a, DType type) {
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine stride = a.coefficient_of(lane), first = a.without(lane);
  if (stride.is_constant() && stride.constant == 0) {
    return vectors_.splat(indices_.gpr(first), type);
  }
  if (width(type) > target_.vector_bytes()) {
    refuse("64-bit integers that differ between lanes do not fit the vector loop");
  }
  std::vector<int64_t> steps;
  const int64_t step = stride.is_constant() ? stride.constant : 1;
  for (int i = 0; i < lanes_.count; ++i) steps.push_back(step * i);
  if (stride.is_constant()) return plus(first, steps, type);
  const Value moved = arithmetic_.apply(Op::kMul, plus({}, steps, type),
                                        vectors_.splat(indices_.gpr(stride), type));
  return arithmetic_.apply(Op::kAdd, vectors_.splat(indices_.gpr(first), type), moved);
}

Value Values::plus(const Affine& first, std::vector<int64_t> steps, DType type) {
  const int size = size_of(type), w = width(type);
  std::vector<uint8_t> bytes(static_cast<size_t>(w), 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    const uint64_t step = static_cast<uint64_t>(steps[i]) + static_cast<uint64_t>(first.constant);
    std::memcpy(&bytes[i * static_cast<size_t>(size)], &step, static_cast<size_t>(size));
  }
  const Value constants{code_.load_pool(w, X86::vmovups, code_.pool(bytes.data(), w)), type, size};
  if (first.is_constant()) return constants;
  // Vectors that differ by a constant share the rest.
  const Affine rest = first - Affine::of(first.constant);
  return arithmetic_.apply(Op::kAdd, vectors_.splat(indices_.gpr(rest), type), constants);
}

bool Values::from_lanes(const ir::Expr& e, Value& out) {
  if (!is_int(e->type) || e->op == Op::kLoad || !indices_.depends_on_lane(e)) return false;
  if (width(e->type) > target_.vector_bytes() || !indices_.steers(e)) return false;
  // A conversion to fewer bits keeps the low ones, as do sums.
  const bool cut = e->op == Op::kCast && is_int(e->args[0]->type) &&
                   size_of(e->type) <= size_of(e->args[0]->type);
  const ir::Expr& sum = cut ? e->args[0] : e;
  if (from_table(sum, e->type, out)) return true;
  Affine a;
  if (sum->type != DType::kI64 || !indices_.lane_index(sum, a)) return false;
  const int32_t lane = Factor::make(Factor::kLane, 0);
  const Affine curve = a.coefficient_of(lane).coefficient_of(lane);
  if (!curve.is_constant() || curve.constant != 0) return false;
  out = from_sum(a, e->type);
  return true;
}

bool Values::from_table(const ir::Expr& sum, DType type, Value& out) {
  Affine first;
  std::vector<int64_t> steps;
  bool differs = false;
  for (int i = 0; i < lanes_.count; ++i) {
    Affine at;
    bool known = false;
    at_lane(i, [&] { known = indices_.known_sum(sum, at); });
    if (!known) return false;
    if (i == 0) first = at;
    const Affine more = at - first;
    if (more.overflow || !more.is_constant()) return false;
    differs |= more.constant != 0;
    steps.push_back(more.constant);
  }
  out = differs ? plus(first, std::move(steps), type) : vectors_.splat(indices_.gpr(first), type);
  return true;
}

Value Values::unary(const ir::Expr& e) {
  const Value a = value(e->args[0]);
  if (!is_float(e->type)) return arithmetic_.apply(Op::kSub, vectors_.constant_bits(e->type, 0), a);
  // Negation changes the sign and nothing else, of NaN as well.
  const Value sign = vectors_.constant_bits(e->type, uint64_t{1} << (8 * size_of(e->type) - 1));
  return vectors_.op3(X86::vxorps, a, sign);
}

Value Values::binary(const ir::Expr& e) {
  const bool add = e->op == Op::kAdd, sub = e->op == Op::kSub;
  // a * b + c in one rounding, as the numerics class of emitted code says.
  if ((add || sub) && is_product(e->args[0])) {
    const Value a = value(e->args[0]->args[0]), b = value(e->args[0]->args[1]);
    return arithmetic_.fused(add ? Fused::kAdd : Fused::kSub, a, b, value(e->args[1]));
  }
  if ((add || sub) && is_product(e->args[1])) {
    const Value a = value(e->args[1]->args[0]), b = value(e->args[1]->args[1]);
    return arithmetic_.fused(add ? Fused::kAdd : Fused::kNegatedAdd, a, b, value(e->args[0]));
  }
  if (Value low; loads_.load_remainder(e, low)) return low;
  if ((e->op == Op::kDiv || e->op == Op::kMod) && is_int(e->type)) return division(e);
  if (Value shifted; shifted_by_constant(e, shifted)) return shifted;
  const Value a = value(e->args[0]);
  const Value b = value(e->args[1]);
  if (is_product_of_words(e)) return vectors_.op3(X86::vpmuludq, a, b);
  if (is_float(e->type) && (e->op == Op::kMin || e->op == Op::kMax)) {
    return arithmetic_.extreme(e->op, a, b, never_nan(e->args[0]), never_nan(e->args[1]));
  }
  return arithmetic_.apply(e->op, a, b);
}

bool Values::shifted_by_constant(const ir::Expr& e, Value& out) {
  const bool shifts = e->op == Op::kShl || e->op == Op::kShr;
  if (!is_int(e->type) || size_of(e->type) < 2) return false;
  if (e->op == Op::kMul) {
    for (size_t i = 0; i < 2; ++i) {
      const auto power = ir::exponent_of(e->args[i]);
      if (!power) continue;
      out = arithmetic_.shifted_by(Op::kShl, value(e->args[1 - i]), *power);
      return true;
    }
  }
  Affine count;
  if (!shifts || !indices_.known_sum(e->args[1], count) || !count.is_constant()) return false;
  if (count.constant < 0 || count.constant >= 8 * size_of(e->type)) return false;
  out = arithmetic_.shifted_by(e->op, value(e->args[0]), static_cast<int>(count.constant));
  return true;
}

bool Values::from_low_bits(const ir::Expr& e, Value& out) {
  if ((e->type != DType::kF32 && e->type != DType::kI32) || e->op == Op::kMod) return false;
  const int lanes = width(DType::kI32) / 4, places = wide() && lanes == 16 ? 16 : 8;
  if (lanes < 8) return false;
  ir::Expr bits;
  if (!reads_low_bits(e, places, bits) || !indices_.depends_on_lane(bits)) return false;
  std::vector<uint32_t> table;
  for (int64_t i = 0; i < places; ++i) {
    const ir::Expr of = with_low_bits(e, places, i);
    if (of->op != Op::kInt && of->op != Op::kFloat) return false;
    table.push_back(static_cast<uint32_t>(bits_of(e->type, of->f, of->i)));
  }
  const int w = 4 * lanes;
  Value places_of;
  if (!loads_.load_low_bits(bits, low_bits_in(e, places), places_of)) places_of = value(bits);
  // The instruction looks at no bits above those that tell a place.
  const Reg values = code_.load_pool(w, X86::vmovups, code_.pool(table.data(), w));
  out = {code_.define(RegClass::kVec, w, X86::vpermps, {vreg(places_of.reg, w), vreg(values, w)}),
         e->type, 4};
  return true;
}

Value Values::division(const ir::Expr& e) {
  const Value a = value(e->args[0]);
  const int64_t most_a = magnitude_of(e->args[0]), most_b = magnitude_of(e->args[1]);
  int64_t divisor = 0;
  if (ir::is_const(e->args[1], &divisor) && divisor > 0) {
    return divisions_.divide_by(e->op, a, most_a, divisor);
  }
  return divisions_.divide(e->op, a, most_a, value(e->args[1]), most_b);
}

Value Values::convert(const ir::Expr& e) {
  const ir::Expr& from = e->args[0];
  const DType to = e->type;
  if (from->type == to) return value(from);
  if (from->type == DType::kI64 && !indices_.depends_on_lane(from) && indices_.steers(from)) {
    // The same in all lanes: converted once, as a scalar.
    if (to == DType::kBool)
      return conditions_.compare(ir::make_binary(Op::kNe, from, ir::make_int(0)));
    const Reg r = indices_.gpr(indices_.affine(from));
    if (is_int(to)) return vectors_.splat(r, to);
    const bool exact = to == DType::kF64;
    const Reg zero = vectors_.constant_bits(DType::kI32, 0).reg;
    Operand source = greg(r);
    const Reg x = code_.define(RegClass::kVec, 16, exact ? X86::vcvtsi2sd : X86::vcvtsi2ss,
                               {vreg(zero, 16), source});
    const DType made = exact ? DType::kF64 : DType::kF32;
    Value v{x, made, size_of(made)};
    if (lanes_.count > 1) {
      const int w = width(made);
      // vmovddup repeats within 16 bytes what vbroadcastsd would.
      v.reg = code_.define(RegClass::kVec, w, broadcast_of(size_of(made), w), {vreg(x, 16)});
    }
    return converter_.converted(v, to);
  }
  // The low bits of a sum, or of bits joined, are those of the low bits, which fit lanes that the
  // sum does not.
  const bool sum = from->op == Op::kNeg || from->op == Op::kAdd || from->op == Op::kSub ||
                   from->op == Op::kMul || from->op == Op::kBitAnd || from->op == Op::kBitOr ||
                   from->op == Op::kBitXor;
  if (sum && is_int(to) && from->type == DType::kI64 && indices_.steers(from)) {
    std::vector<ir::Expr> low;
    for (const ir::Expr& a : from->args) low.push_back(ir::make_cast(to, a));
    return value(low.size() == 1 ? ir::make_unary(from->op, low[0])
                                 : ir::make_binary(from->op, low[0], low[1]));
  }
  if (returns_to_lanes(e)) {
    return converter_.converted(converter_.wrapped(value(from->args[0]), from->type), to);
  }
  return converter_.converted(value(from), to);
}

}  // namespace hone::jit
