// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/lane_sums.h"

#include <algorithm>
#include <limits>

#include "jit/x86/select/by_size.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;
using ir::Reduce;

namespace {

/// What changes nothing when combined.
uint64_t identity_bits(Reduce reduce, DType type) {
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

}  // namespace

void LaneSums::store(const ir::StoreStmt& s, const Affine& offset) {
  const DType type = nest_.buffers[s.buffer].type;
  if (is_narrow_float(type)) {
    refuse("a reduction into a narrow float type");
  }
  for (int i = 0; i < offset.count; ++i) {
    if (indices_.term_level(offset.terms[i]) >= sums_depth_) {
      refuse("a reduction over lanes into a place that changes within the vector loop");
    }
  }
  // Outside loops several running values keep steps independent.
  // Chosen: enough to hide the latency of an addition (not measured).
  constexpr int kIndependent = 4;
  const bool straight = code_.depth() == sums_depth_ && type != DType::kBool;
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
    const Reg reg = code_.make(cls, sums_depth_ - 1);
    const int element = wide() || type != DType::kBool ? size_of(type) : masks_.widest_element();
    start_sum(reg, s.reduce, type);
    sums_.push_back({&s, offset, lanes_.count, {reg, type, element}, false, 0});
    sum = &sums_.back();
    ++code_.pinned_vectors;
    if (branches_ > 0 && nest_.buffers[s.buffer].home != ir::Home::kRegisters) {
      sum->taken = code_.make(RegClass::kGpr, sums_depth_ - 1);
      code_.append(code_.scope(sums_depth_).pre, X86::mov, {greg(sum->taken), imm(0)});
    }
  }
  ++sum->steps;
  if (sum->taken.valid()) code_.append(code_.top().body, X86::mov, {greg(sum->taken), imm(1)});
  next_step(s, sum->total);
}

void LaneSums::start_sum(Reg reg, Reduce reduce, DType type) {
  CodeList& before = code_.scope(sums_depth_).pre;
  const int w = width(type);
  if (type == DType::kBool) {
    const bool on = reduce == Reduce::kAll;
    if (wide()) {
      code_.append(before, X86::kmovq, {kreg(reg), greg(constant_gpr(on ? -1 : 0))});
    } else {
      const int all = target_.vector_bytes();
      code_.append(before, on ? X86::vpcmpeqd : X86::vxorps,
                   {vreg(reg, all), vreg(reg, all), vreg(reg, all)});
    }
    return;
  }
  const uint64_t bits = identity_bits(reduce, type);
  if (bits == 0) {
    code_.append(before, X86::vxorps, {vreg(reg, 16), vreg(reg, 16), vreg(reg, 16)});
    return;
  }
  Mem m;
  m.pool = code_.pool(&bits, size_of(type));
  code_.append(before, broadcast_of(size_of(type), w), {vreg(reg, w), mem(m)});
}

void LaneSums::first_step(const ir::StoreStmt& s, const Affine& offset) {
  const DType type = nest_.buffers[s.buffer].type;
  Value v = dots_.active() ? dots_.added(vectors_.constant_bits(type, 0), s) : value(s.value);
  if (lanes_.partial()) {
    v = masks_.blend({masks_.active(), DType::kBool, 0}, v,
                     vectors_.constant_bits(type, identity_bits(s.reduce, type)));
  }
  const Reg reg = code_.make(RegClass::kVec);
  sums_.push_back({&s, offset, lanes_.count, {reg, type, size_of(type)}, true, 1});
  ++code_.pinned_vectors;
  tiles_.assign(reg, v);
}

void LaneSums::next_step(const ir::StoreStmt& s, const Value& total) {
  const DType type = total.type;
  code_.rewritten(total.reg);
  const bool masked = lanes_.partial();
  const Reg mask = masked ? masks_.active() : Reg{};
  if (dots_.active()) {
    dots_.add_to(total.reg, s, mask, false);
    code_.rewritten(total.reg);
    return;
  }
  if (s.reduce == Reduce::kSum && is_product(s.value)) {
    const Value a = value(s.value->args[0]), b = value(s.value->args[1]);
    arithmetic_.multiply_add_to(total.reg, a, b, false, mask);
    code_.rewritten(total.reg);
    return;
  }
  Value v = value(s.value);
  if (masked && type == DType::kBool) {
    const Value active{mask, DType::kBool, 0};
    v = s.reduce == Reduce::kAny ? masks_.logic(Op::kAnd, v, active)
                                 : masks_.logic(Op::kOr, v, masks_.negated(active));
  } else if (masked) {
    v = masks_.blend({mask, DType::kBool, 0}, v,
                     vectors_.constant_bits(type, identity_bits(s.reduce, type)));
  }
  Value combined = arithmetic_.combine(s.reduce, total, v);
  if (type == DType::kBool) {
    combined = masks_.as_element(combined, total.element);
    code_.copy(total.reg, combined.reg, wide() ? RegClass::kMask : RegClass::kVec);
    code_.rewritten(total.reg);
    return;
  }
  tiles_.assign(total.reg, combined);
}

void LaneSums::finish() {
  const Lanes outer = lanes_;
  for (const LaneSum& sum : sums_) {
    code_.rewritten(sum.total.reg);
    --code_.pinned_vectors;
  }
  // The last lanes of a loop fill smaller vectors: their values join when the others have come down
  // to as many lanes.
  std::stable_sort(sums_.begin(), sums_.end(),
                   [](const LaneSum& a, const LaneSum& b) { return a.lanes > b.lanes; });
  while (!sums_.empty()) {
    LaneSum sum = sums_.front();
    std::vector<LaneSum> rest;
    Value v;
    for (size_t i = 0; i < sums_.size();) {
      size_t end = i;
      std::vector<Value> parts;
      for (; end < sums_.size() && sums_[end].lanes == sums_[i].lanes; ++end) {
        const LaneSum& other = sums_[end];
        const bool joins = other.stmt == sum.stmt && other.offset == sum.offset &&
                           (other.lanes == sum.lanes || joins_narrower(sum, other));
        if (!joins) {
          rest.push_back(other);
          continue;
        }
        parts.push_back(other.total);
        if (!other.taken.valid()) sum.taken = {};  // a step that surely runs
      }
      if (!parts.empty()) v = joined(sum, v, sums_[i].lanes, std::move(parts));
      i = end;
    }
    v = folds_.across(sum.stmt->reduce, v);
    lanes_ = {};
    finish_sum(sum, v);
    sums_ = std::move(rest);
  }
  lanes_ = outer;
}

/// True where both surely have a value: those of bools are folded apart.
bool LaneSums::joins_narrower(const LaneSum& wide, const LaneSum& narrow) {
  return wide.total.type != DType::kBool && !wide.taken.valid() && !narrow.taken.valid();
}

/// The running values of `lanes` lanes, and `v` of more lanes if there is one, as one of so many.
Value LaneSums::joined(const LaneSum& sum, Value v, int lanes, std::vector<Value> parts) {
  const Reduce reduce = sum.stmt->reduce;
  const bool first = !v.reg.valid();
  if (!first) v = folds_.down_to(lanes, reduce, v);
  lanes_ = {};
  lanes_.count = lanes_.active = lanes;
  // In pairs: the shortest chain.
  for (size_t distance = 1; distance < parts.size(); distance *= 2) {
    for (size_t k = 0; k + distance < parts.size(); k += 2 * distance) {
      parts[k] = arithmetic_.combine(reduce, parts[k], parts[k + distance]);
    }
  }
  return first ? parts[0] : arithmetic_.combine(reduce, v, parts[0]);
}

void LaneSums::finish_sum(const LaneSum& sum, const Value& v) {
  if (!sum.taken.valid()) return add_to_place(*sum.stmt, sum.offset, v);
  const int none = code_.lir.label();
  open(Scope::kBranch, written_by(*sum.stmt), false);
  add_to_place(*sum.stmt, sum.offset, v);
  const Scope taken = close();
  code_.splice(code_.top().body, taken.pre);
  code_.emit(X86::cmp, {greg(sum.taken), imm(0)});
  code_.emit(Pseudo::jump_eq, {imm(none)});
  code_.splice(code_.top().body, taken.body);
  code_.emit(Pseudo::label, {imm(none)});
}

void LaneSums::add_to_place(const ir::StoreStmt& s, const Affine& offset, const Value& v) {
  if (nest_.buffers[s.buffer].home == ir::Home::kRegisters) {
    const Value old = masks_.loaded(tiles_.load(s.buffer, offset), s.buffer);
    const Value result = arithmetic_.combine(s.reduce, old, v);
    tiles_.set_element(s.buffer, offset.constant, result);
    return;
  }
  const Value old = masks_.loaded(memory_.load(s.buffer, offset, Reg{}), s.buffer);
  memory_.store(s.buffer, offset, arithmetic_.combine(s.reduce, old, v), true);
}

}  // namespace hone::jit
