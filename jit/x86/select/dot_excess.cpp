// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/dot_excess.h"

#include <algorithm>

#include "jit/ir/instructions.h"
#include "jit/x86/select/by_size.h"
#include "jit/x86/select/dot_forms.h"

namespace hone::jit {

using ir::Op;

namespace {

/// True when a bound of a loop in `s`, or of `s`, depends on one of the loops `open` around it.
bool bounds_depend_on(const ir::Stmt& s, std::vector<int>& open) {
  const auto depends = [&](const ir::Expr& bound) {
    bool found = false;
    ir::visit(bound, [&](const ir::Expr& e) {
      found |= e->op == Op::kVar && std::find(open.begin(), open.end(), e->id) != open.end();
    });
    return found;
  };
  const auto* loop = ir::as<ir::ForStmt>(s);
  if (loop && (depends(loop->begin) || depends(loop->end))) return true;
  if (loop) open.push_back(loop->loop);
  const bool found = std::any_of(s.body.begin(), s.body.end(), [&](const ir::StmtRef& child) {
    return bounds_depend_on(*child, open);
  });
  if (loop) open.pop_back();
  return found;
}

}  // namespace

bool DotExcess::only_moved_dots(const ir::Stmt& s) const {
  if (ir::is<ir::PrefetchStmt>(s)) return true;
  if (!ir::is<ir::ForStmt, ir::SequenceStmt>(s)) return false;
  const auto* loop = ir::as<ir::ForStmt>(s);
  if (loop && loop->mark == ir::Mark::kTensor) {
    const ir::StoreStmt* store = only_store(*s.body[0]);
    const DotForm* form = form_named(loop->instruction->name);
    return store != nullptr && form != nullptr && form->biased != 0 &&
           nest_.buffers[store->buffer].home == ir::Home::kRegisters;
  }
  return std::all_of(s.body.begin(), s.body.end(),
                     [&](const ir::StmtRef& child) { return only_moved_dots(*child); });
}

bool DotExcess::may_keep(const ir::Stmt& s) const {
  std::vector<int> open;
  return excess_depth_ < 0 && only_moved_dots(s) && !bounds_depend_on(s, open);
}

Reg DotExcess::bytes_of_128() {
  // Fixed by: the sign bits of four bytes.
  constexpr uint32_t kBits = 0x80808080;
  if (excess_depth_ < 0) return vectors_.constant_bits(DType::kI32, kBits).reg;
  if (bias_.valid()) return bias_;
  bias_ = code_.make(RegClass::kVec, excess_depth_ - 1);
  Mem m;
  m.pool = code_.pool(&kBits, sizeof kBits);
  const int w = target_.vector_bytes();
  code_.append(code_.scope(excess_depth_).pre, broadcast_of(4, w), {vreg(bias_, w), mem(m)});
  ++code_.pinned_vectors;
  return bias_;
}

void DotExcess::grow(Excess& excess, const Excess::Link& link, X86 op, int w) {
  code_.emit(op, {vreg(excess.total, w), vreg(link.operands[0], w), vreg(link.operands[1], w)});
  code_.rewritten(excess.total);
  excess.chain.push_back(link);
}

bool DotExcess::keep(Reg dest, const std::array<Reg, 2>& correction, X86 op, int w) {
  if (excess_depth_ < 0) return false;
  const Excess::Link link{correction, code_.scope_number()};
  auto at = std::find_if(exceeding_.begin(), exceeding_.end(),
                         [&](const Exceeding& e) { return e.value == dest; });
  if (at == exceeding_.end()) {
    const auto shared = std::find_if(excesses_.begin(), excesses_.end(),
                                     [&](const Excess& e) { return e.chain[0] == link; });
    exceeding_.push_back({dest, static_cast<int>(shared - excesses_.begin()), 1});
    if (shared != excesses_.end()) return true;
    const Reg total = code_.make(RegClass::kVec, excess_depth_ - 1);
    code_.append(code_.scope(excess_depth_).pre, X86::vxorps,
                 {vreg(total, 16), vreg(total, 16), vreg(total, 16)});
    ++code_.pinned_vectors;
    excesses_.push_back({{}, total});
    grow(excesses_.back(), link, op, w);
    return true;
  }
  Excess& excess = excesses_[static_cast<size_t>(at->excess)];
  if (at->seen == excess.chain.size()) {
    grow(excess, link, op, w);
  } else if (!(excess.chain[at->seen] == link)) {
    return false;
  }
  ++at->seen;
  return true;
}

void DotExcess::take_off() {
  const int w = target_.vector_bytes();
  for (const Exceeding& e : exceeding_) {
    const Operand value = vreg(e.value, w);
    const Reg total = excesses_[static_cast<size_t>(e.excess)].total;
    code_.rewritten(total);
    code_.emit(X86::vpsubd, {value, value, vreg(total, w)});
    code_.rewritten(e.value);
  }
  code_.pinned_vectors -= static_cast<int>(excesses_.size()) + (bias_.valid() ? 1 : 0);
  bias_ = {};
  exceeding_.clear();
  excesses_.clear();
  excess_depth_ = -1;
}

}  // namespace hone::jit
