// SPDX-License-Identifier: Apache-2.0
// Reductions over the lanes of a vector loop: partial results lane by lane while it runs, combined
// once after it.
#include <algorithm>
#include <limits>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;
using ir::Reduce;

/// What changes nothing when combined.
uint64_t Selector::identity_bits(Reduce reduce, DType type) const {
  const int bits = 8 * size_of(type);
  const int64_t most =
      type == DType::kU8 ? 255 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  const int64_t least = type == DType::kU8 ? 0 : -most - 1;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduce) {
    case Reduce::kProd:
      return bits_of(type, 1, 1);
    case Reduce::kMax:
      return bits_of(type, -kInfinity, least);
    case Reduce::kMin:
      return bits_of(type, kInfinity, most);
    default:
      return 0;
  }
}

/// The upper half of the lanes, moved to where the lower ones are.
Reg Selector::upper_half(const Value& v) {
  const auto x = [&](X86 op, int w, int number) {
    return code.define(RegClass::kVec, w, op, {vreg(v.reg, w), imm(number)});
  };
  constexpr int kHighPair = 0xee, kSecond = 0x55;
  switch (lanes_.count * size_of(v.type) / 2) {
    case 32:
      return code.define(RegClass::kVec, 32, X86::vextractf64x4, {vreg(v.reg, 64), imm(1)});
    case 16:
      return code.define(RegClass::kVec, 16, X86::vextractf128, {vreg(v.reg, 32), imm(1)});
    case 8:
      return x(X86::vpshufd, 16, kHighPair);
    case 4:
      return x(X86::vpshufd, 16, kSecond);
    case 2:
      return x(X86::vpsrld, 16, 16);
    default:
      return x(X86::vpsrlw, 16, 8);
  }
}

/// All lanes combined, as a value of one lane.
Value Selector::across(Reduce reduce, Value v) {
  const Lanes outer = lanes_;
  const bool extreme = (reduce == Reduce::kMax || reduce == Reduce::kMin) && is_float(v.type);
  if (v.type == DType::kBool) {
    v = bits_across(reduce, v);
  } else if (extreme && lanes_.count > 1) {
    v = extremum_across(reduce == Reduce::kMax, v);
  } else {
    while (lanes_.count > 1 && !failed()) {
      const Reg high = halve(v);
      v = combine(reduce, v, {high, v.type, v.element});
    }
  }
  lanes_ = outer;
  return v;
}

/// The upper half of the lanes, as the lower ones, of which there are half as many from here on.
Reg Selector::halve(const Value& v) {
  const Reg high = upper_half(v);
  lanes_.count /= 2;
  lanes_.active = lanes_.count;
  return high;
}

/// Whether there is a NaN is asked once, beside the comparisons rather than between them.
Value Selector::extremum_across(bool max, Value v) {
  const bool single = v.type == DType::kF32;
  const Value nan = bits_across(Reduce::kAny, unordered_lanes(v));
  const X86 pick =
      max ? (single ? X86::vmaxps : X86::vmaxpd) : (single ? X86::vminps : X86::vminpd);
  while (lanes_.count > 1 && !failed()) {
    const Reg high = halve(v);
    v = op3(pick, v, {high, v.type, v.element});
  }
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  return blend(nan, constant_bits(v.type, bits_of(v.type, quiet, 0)), v);
}

Value Selector::bits_across(Reduce reduce, const Value& v) {
  Reg bits;
  int64_t all;
  if (wide()) {
    all = lanes_.count == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << lanes_.count) - 1);
    bits = code.define(RegClass::kGpr, 8, X86::kmovq, {kreg(v.reg)});
  } else {
    const Value m = as_element(v, mask_element());
    const int w = mask_width(m);
    all = static_cast<int64_t>((uint64_t{1} << (lanes_.count * m.element)) - 1);
    bits = code.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(m.reg, w)});
  }
  const Reg every = constant_gpr(all);
  const Reg used = code.update(RegClass::kGpr, 8, bits, X86::and_, {greg(every)});
  const bool any = reduce == Reduce::kAny;
  const Reg bit = code.sequence(RegClass::kGpr, 8, any ? Sequence::kNonZero : Sequence::kCondition,
                                {greg(used), greg(every)}, [&](CodeList& list, Reg r) {
                                  code.append(list, X86::mov, {greg(r), imm(0)});
                                  if (any) {
                                    code.append(list, X86::test, {greg(used), greg(used)});
                                  } else {
                                    code.append(list, X86::cmp, {greg(used), greg(every)});
                                  }
                                  code.append(list, any ? X86::setne : X86::sete, {greg(r, 1)});
                                });
  return uniform_mask(bit);
}

/// AVX2: bytes of a mask's lane that fill a vector, at most 8.
int Selector::mask_element() const { return std::min(8, target_.vector_bytes() / lanes_.count); }

/// Emits, before the vector loop, `reg` = the start of a reduction.
void Selector::start_sum(Reg reg, Reduce reduce, DType type) {
  CodeList& before = code.scope(sums_depth_).pre;
  const int w = width(type);
  if (type == DType::kBool) {
    const bool on = reduce == Reduce::kAll;
    if (wide()) {
      code.append(before, X86::kmovq, {kreg(reg), greg(constant_gpr(on ? -1 : 0))});
    } else {
      const int all = target_.vector_bytes();
      code.append(before, on ? X86::vpcmpeqd : X86::vxorps,
                  {vreg(reg, all), vreg(reg, all), vreg(reg, all)});
    }
    return;
  }
  const uint64_t bits = identity_bits(reduce, type);
  if (bits == 0) {
    code.append(before, X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
    return;
  }
  Mem m;
  m.pool = code.pool(&bits, size_of(type));
  code.append(before, broadcast_of(size_of(type), w), {vreg(reg, w), mem(m)});
}

/// A reduction whose destination is the same in all lanes.
void Selector::store_across(const ir::Stmt& s, const Affine& offset) {
  const DType type = nest_.buffers[s.id].type;
  if (type == DType::kF16 || type == DType::kBF16) {
    return refuse("a reduction into a half precision type");
  }
  for (int i = 0; i < offset.count; ++i) {
    if (term_level(offset.terms[i]) >= sums_depth_) {
      return refuse("a reduction over lanes into a place that changes within the vector loop");
    }
  }
  // Outside loops several running values keep steps independent.
  constexpr int kIndependent = 4;
  const bool straight = code.depth() == sums_depth_ && type != DType::kBool;
  LaneSum* sum = nullptr;
  int known = 0;
  for (LaneSum& other : sums_) {
    if (other.stmt != &s || other.lanes != lanes_.count || !(other.offset == offset)) continue;
    if (other.straight != straight) continue;
    ++known;
    if (sum == nullptr || other.steps < sum->steps) sum = &other;
  }
  if (straight && known < kIndependent) return first_step(s, offset);
  if (sum == nullptr) {
    const RegClass cls = type == DType::kBool && wide() ? RegClass::kMask : RegClass::kVec;
    const Reg reg = code.make(cls, sums_depth_ - 1);
    const int element = wide() || type != DType::kBool ? size_of(type) : mask_element();
    start_sum(reg, s.reduce, type);
    sums_.push_back({&s, offset, lanes_.count, {reg, type, element}, false, 0});
    sum = &sums_.back();
    ++code.pinned_vectors;
    if (conditions_ > 0 && nest_.buffers[s.id].home != ir::Home::kRegisters) {
      sum->taken = code.make(RegClass::kGpr, sums_depth_ - 1);
      code.append(code.scope(sums_depth_).pre, X86::mov, {greg(sum->taken), imm(0)});
    }
  }
  ++sum->steps;
  if (sum->taken.valid()) code.append(code.top().body, X86::mov, {greg(sum->taken), imm(1)});
  next_step(s, sum->total);
}

/// The first step of a running value is the value itself.
void Selector::first_step(const ir::Stmt& s, const Affine& offset) {
  const DType type = nest_.buffers[s.id].type;
  Value v = dot_.row ? dot_added(constant_bits(type, 0), s) : value(s.value);
  if (!failed() && lanes_.partial()) {
    v = blend({active_mask(), DType::kBool, 0}, v,
              constant_bits(type, identity_bits(s.reduce, type)));
  }
  if (failed()) return;
  const Reg reg = code.make(RegClass::kVec);
  sums_.push_back({&s, offset, lanes_.count, {reg, type, size_of(type)}, true, 1});
  ++code.pinned_vectors;
  assign(reg, v);
}

/// total = combine(total, the statement's value).
void Selector::next_step(const ir::Stmt& s, const Value& total) {
  const DType type = total.type;
  code.rewritten(total.reg);
  const bool masked = lanes_.partial();
  const Reg mask = masked ? active_mask() : Reg{};
  if (dot_.row != nullptr) {
    dot_add_to(total.reg, s, mask, false);
    code.rewritten(total.reg);
    return;
  }
  if (s.reduce == Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    if (failed()) return;
    multiply_add_to(total.reg, a, b, false, mask);
    code.rewritten(total.reg);
    return;
  }
  Value v = value(s.value);
  if (failed()) return;
  if (masked && type == DType::kBool) {
    const Value active{mask, DType::kBool, 0};
    v = s.reduce == Reduce::kAny ? mask_logic(Op::kAnd, v, active)
                                 : mask_logic(Op::kOr, v, mask_not(active));
  } else if (masked) {
    v = blend({mask, DType::kBool, 0}, v, constant_bits(type, identity_bits(s.reduce, type)));
  }
  Value combined = combine(s.reduce, total, v);
  if (failed()) return;
  if (type == DType::kBool) {
    combined = as_element(combined, total.element);
    code.copy(total.reg, combined.reg, wide() ? RegClass::kMask : RegClass::kVec);
    code.rewritten(total.reg);
    return;
  }
  assign(total.reg, combined);
}

/// After the vector loop: the running values into their places.
void Selector::finish_sums() {
  const Lanes outer = lanes_;
  for (size_t i = 0; i < sums_.size() && !failed(); ++i) {
    const LaneSum sum = sums_[i];
    lanes_ = {};
    lanes_.count = lanes_.active = sum.lanes;
    std::vector<Value> parts;
    for (size_t k = i; k < sums_.size(); ++k) {
      const LaneSum& other = sums_[k];
      if (other.stmt != sum.stmt || other.lanes != sum.lanes || !(other.offset == sum.offset)) {
        continue;
      }
      code.rewritten(other.total.reg);
      parts.push_back(other.total);
      --code.pinned_vectors;
      if (k != i) sums_.erase(sums_.begin() + static_cast<long>(k--));
    }
    // In pairs: the shortest chain.
    for (size_t distance = 1; distance < parts.size(); distance *= 2) {
      for (size_t k = 0; k + distance < parts.size(); k += 2 * distance) {
        parts[k] = combine(sum.stmt->reduce, parts[k], parts[k + distance]);
      }
    }
    const Value v = across(sum.stmt->reduce, parts[0]);
    lanes_ = {};
    if (!failed()) finish_sum(sum, v);
  }
  sums_.clear();
  lanes_ = outer;
}

/// A result into its place, where a step has run; else the place may lie outside its tensor.
void Selector::finish_sum(const LaneSum& sum, const Value& v) {
  if (!sum.taken.valid()) return add_to_place(*sum.stmt, sum.offset, v);
  const int none = code.lir.label();
  open(Scope::kBranch, written_by(*sum.stmt), false);
  add_to_place(*sum.stmt, sum.offset, v);
  const Scope taken = close();
  code.splice(code.top().body, taken.pre);
  code.emit(X86::cmp, {greg(sum.taken), imm(0)});
  code.emit(Pseudo::jump_eq, {imm(none)});
  code.splice(code.top().body, taken.body);
  code.emit(Pseudo::label, {imm(none)});
}

/// Combines the result of a vector loop with what is at its place.
void Selector::add_to_place(const ir::Stmt& s, const Affine& offset, const Value& v) {
  if (nest_.buffers[s.id].home == ir::Home::kRegisters) {
    const Value old = loaded(load_tile(s.id, offset), s.id);
    const Value result = combine(s.reduce, old, v);
    if (!failed()) set_tile_element(s.id, offset.constant, result);
    return;
  }
  const Value old = loaded(load_memory(s.id, offset, Reg{}), s.id);
  store_memory(s.id, offset, combine(s.reduce, old, v));
}

}  // namespace hone::jit
