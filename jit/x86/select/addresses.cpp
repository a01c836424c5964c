// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/addresses.h"

#include <algorithm>

#include "jit/ir/integers.h"

namespace hone::jit {

namespace {

/// Multiples of a stride below this are reached from one pointer by `index * scale`. An index
/// register for each odd part is enough: 1, 3, 5, 7 give 0..8.
/// Fixed by: the scales of x86.
constexpr int64_t kStrideBlock = 9;
/// Displacements reach this far; what lies beyond gets a pointer of its own.
/// Fixed by: displacements of 32 bits.
constexpr int64_t kReach = int64_t{1} << 30;

bool only_dims(const Term& t) {
  for (int32_t f : t.factors) {
    if (f != 0 && Factor::kind(f) != Factor::kDim) return false;
  }
  return true;
}

}  // namespace

void Addresses::closed(int depth, uint64_t /*written*/) {
  std::erase_if(pointers_, [&](const Pointer& p) { return p.depth >= depth; });
}

Mem Addresses::address(int buffer, const Affine& offset) {
  Mem m;
  if (offset.overflow) {
    refuse("the offset in " + nest_.buffers[buffer].name + " has more terms than can be handled");
    m.base = context_.args;
    return m;
  }
  const ir::NestBuffer& b = nest_.buffers[buffer];
  const int64_t size = size_of(b.type);
  Affine terms;
  Term stride{};
  int strides = 0;
  for (int i = 0; i < offset.count; ++i) {
    if (only_dims(offset.terms[i])) {
      stride = offset.terms[i];
      ++strides;
    } else {
      terms.add(offset.terms[i]);
    }
  }
  if (strides == 1) {
    const int64_t block = ir::floor_div_of(stride.coefficient, kStrideBlock) * kStrideBlock;
    int64_t within = stride.coefficient - block;
    Term part = stride;
    part.coefficient = block;
    terms.add(part);
    while (within != 0 && within % 2 == 0) {
      m.scale *= 2;
      within /= 2;
    }
    part.coefficient = within * size;
    if (within != 0) m.index = indices_.product(part);
  } else if (strides > 1) {
    terms = offset;
  }
  // Of a tensor that no memory holds, the product may wrap.
  auto bytes =
      static_cast<int64_t>(static_cast<uint64_t>(offset.constant) * static_cast<uint64_t>(size));
  if (b.home == ir::Home::kWorker || b.home == ir::Home::kWorkspace) bytes += b.offset;
  const int64_t far = bytes >= -kReach && bytes < kReach ? 0 : bytes;
  terms.constant = 0;
  m.base = pointer(buffer, terms);
  if (far != 0) {
    m.base = code_.update(RegClass::kGpr, 8, m.base, X86::add, {imm(far)});
  }
  m.disp = static_cast<int32_t>(bytes - far);
  return m;
}

Reg Addresses::base(int buffer) {
  const ir::NestBuffer& b = nest_.buffers[buffer];
  switch (b.home) {
    case ir::Home::kWorker:
      return context_.scratch;
    case ir::Home::kWorkspace:
      return code_.define(RegClass::kGpr, 8, X86::mov, {mem(argument(ir::ArgsLayout::kWorkspace))});
    case ir::Home::kRegisters:
      refuse("register tile " + b.name + " has no address");
    default:
      return code_.define(RegClass::kGpr, 8, X86::mov, {mem(argument(b.slot))});
  }
}

Reg Addresses::pointer(int buffer, const Affine& terms) {
  if (terms.count == 0) return base(buffer);
  int depth = 0;
  for (int i = 0; i < terms.count; ++i)
    depth = std::max(depth, indices_.term_level(terms.terms[i]));
  const int32_t loop = Factor::make(Factor::kLoop, depth);
  bool inductive = depth > 0 && code_.scope(depth).kind == Scope::kLoop;
  for (int i = 0; i < terms.count && inductive; ++i) {
    if (indices_.term_level(terms.terms[i]) != depth) continue;
    inductive =
        terms.terms[i].has(loop) && indices_.term_level(terms.terms[i].without(loop)) < depth;
  }
  if (inductive && !start_of(terms, depth).overflow) {
    return induction_pointer(buffer, terms, depth);
  }
  // A term that changes otherwise: added to the pointer of the rest.
  Affine rest;
  Term last{};
  for (int i = 0; i < terms.count; ++i) {
    if (last.coefficient == 0 && indices_.term_level(terms.terms[i]) == depth) {
      last = terms.terms[i];
    } else {
      rest.add(terms.terms[i]);
    }
  }
  last.coefficient =
      static_cast<int64_t>(static_cast<uint64_t>(last.coefficient) *
                           static_cast<uint64_t>(size_of(nest_.buffers[buffer].type)));
  Mem m;
  const int64_t c = last.coefficient;
  if (c == 2 || c == 4 || c == 8) {
    m.scale = static_cast<uint8_t>(c);
    last.coefficient = 1;
  }
  m.index = indices_.product(last);
  m.base = pointer(buffer, rest);
  return code_.define(RegClass::kGpr, 8, X86::lea, {mem(m)});
}

Affine Addresses::start_of(const Affine& terms, int depth) const {
  const int32_t loop = Factor::make(Factor::kLoop, depth);
  return terms.without(loop) + terms.coefficient_of(loop) * indices_.loop(depth).begin;
}

Reg Addresses::induction_pointer(int buffer, const Affine& terms, int depth) {
  for (const Pointer& p : pointers_) {
    if (p.buffer == buffer && p.depth == depth && p.terms == terms) return p.reg;
  }
  const int32_t loop = Factor::make(Factor::kLoop, depth);
  const LoopState state = indices_.loop(depth);
  const Affine coefficient = terms.coefficient_of(loop);
  Affine start = start_of(terms, depth);
  const int64_t size = size_of(nest_.buffers[buffer].type);
  // Of a tensor that no memory holds, the product may wrap.
  const auto constant =
      static_cast<int64_t>(static_cast<uint64_t>(start.constant) * static_cast<uint64_t>(size));
  start.constant = 0;
  Reg first = pointer(buffer, start);
  const Reg reg = code_.make(RegClass::kGpr, depth);
  Scope& scope = code_.scope(depth);
  if (constant != static_cast<int32_t>(constant)) {
    first = code_.update(RegClass::kGpr, 8, first, X86::add, {imm(constant)});
  }
  if (constant != 0 && constant == static_cast<int32_t>(constant)) {
    Mem m;
    m.base = first;
    m.disp = static_cast<int32_t>(constant);
    code_.append(scope.pre, X86::lea, {greg(reg), mem(m)});
  } else {
    code_.append(scope.pre, X86::mov, {greg(reg), greg(first)});
  }
  const Operand step = indices_.gpr_or_imm(scaled(coefficient, size * state.step));
  code_.append(code_.scope(depth).latch, X86::add, {greg(reg), step});
  pointers_.push_back({buffer, depth, terms, reg});
  return reg;
}

}  // namespace hone::jit
