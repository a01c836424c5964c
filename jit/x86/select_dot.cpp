// SPDX-License-Identifier: Apache-2.0
// Tensor loops: all iterations as one dot product in each lane. A group of a factor is loaded as if
// it were one element, the same in all lanes or one after the other.
#include <algorithm>
#include <string_view>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

/// How an ir::Instruction is emitted.
struct DotForm {
  std::string_view name;
  X86 op;
  bool adds;  ///< to its destination; else an addition follows
  /// Which operand is moved by 128 to fit the instruction: 1 or 2; 0: none.
  int biased;
};

namespace {

constexpr DotForm kDotForms[] = {
    {"vnni.u8i8", X86::vpdpbusd, true, 0},  {"vnni.i8i8", X86::vpdpbusd, true, 1},
    {"vnni.u8u8", X86::vpdpbusd, true, 2},  {"vnni.i16i16", X86::vpdpwssd, true, 0},
    {"bf16.dot", X86::vdpbf16ps, true, 0},  {"madd.i16i16", X86::vpmaddwd, false, 0},
    {"madd.u8i8", X86::vpmaddwd, false, 0}, {"madd.i8i8", X86::vpmaddwd, false, 0},
    {"madd.u8u8", X86::vpmaddwd, false, 0},
};

const DotForm* form_named(std::string_view name) {
  for (const DotForm& form : kDotForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

/// The load that a factor converts.
const ir::Expr& load_of(const ir::Expr& factor) {
  const ir::Expr* at = &factor;
  while ((*at)->op == Op::kCast) at = &(*at)->args[0];
  return *at;
}

const ir::Stmt* only_store(const ir::Stmt& s) {
  const ir::Stmt* at = &s;
  while (at->kind == ir::Stmt::kBlock && at->body.size() == 1) at = at->body[0].get();
  return at->kind == ir::Stmt::kStore ? at : nullptr;
}

/// True when a bound of a loop in `s`, or of `s`, depends on one of the loops `open` around it.
bool bounds_depend_on(const ir::Stmt& s, std::vector<int>& open) {
  const auto depends = [&](const ir::Expr& bound) {
    bool found = false;
    ir::visit(bound, [&](const ir::Expr& e) {
      found |= e->op == Op::kVar && std::find(open.begin(), open.end(), e->id) != open.end();
    });
    return found;
  };
  const bool loop = s.kind == ir::Stmt::kFor;
  if (loop && (depends(s.begin) || depends(s.end))) return true;
  if (loop) open.push_back(s.id);
  const bool found = std::any_of(s.body.begin(), s.body.end(), [&](const ir::StmtRef& child) {
    return bounds_depend_on(*child, open);
  });
  if (loop) open.pop_back();
  return found;
}

}  // namespace

void Selector::dot(const ir::Stmt& s, const Affine& begin, const Affine& extent) {
  const ir::Instruction& row = *s.instruction;
  const std::string name = row.name;
  const DotForm* form = form_named(row.name);
  if (form == nullptr) return refuse(name + " is no instruction of this machine kind");
  if (!available(row, target_)) return refuse(name + " needs " + needs(row));
  const ir::Stmt* store = s.body.size() == 1 ? only_store(*s.body[0]) : nullptr;
  if (store == nullptr || !extent.is_constant()) {
    return refuse(name + " takes all iterations of " + nest_.loops[s.id] +
                  " or a fixed part of them, without a condition");
  }
  if (nest_.buffers[store->id].type != row.accumulate) {
    return refuse(name + " adds to " + std::string(name_of(row.accumulate)) + ", and " +
                  nest_.buffers[store->id].name + " is not; stage it in registers");
  }
  // Without masks for bytes the rest of a group is done element by element.
  if (extent.constant < row.group && !wide()) return unrolled(s, begin, extent.constant);
  dot_ = {&row, form, s.id, begin, static_cast<int>(extent.constant)};
  const Binding outer = bindings_[s.id];
  bindings_[s.id] = {true, false, begin};
  walk(*store);
  bindings_[s.id] = outer;
  dot_ = {};
}

/// True when the elements of a group lie one after the other from `offset`: every one is asked for,
/// since a layout may cut groups apart.
bool Selector::together(const ir::Expr& index, const Affine& offset) {
  bool found = true;
  for (int i = 1; i < dot_.extent && found && !failed(); ++i) {
    Affine next;
    bindings_[dot_.loop].base = dot_.begin + Affine::of(i);
    found = lane_index(index, next) && next == offset + Affine::of(i);
  }
  bindings_[dot_.loop].base = dot_.begin;
  return found;
}

/// The groups of one factor, a lane each. Elements past the end of a rest are 0.
Selector::DotFactor Selector::dot_factor(const ir::Expr& factor) {
  const ir::Expr& load = load_of(factor);
  const int32_t lane = Factor::make(Factor::kLane, 0);
  DotFactor out;
  out.type = load->type;
  Affine offset;
  bool fits = lane_index(load->args[0], offset) && together(load->args[0], offset);
  if (failed()) return out;
  const Affine stride = offset.coefficient_of(lane);
  const bool alone = lanes_.count == 1;
  out.uniform = alone || (stride.is_constant() && stride.constant == 0);
  fits = fits && nest_.buffers[load->id].home != ir::Home::kRegisters &&
         (out.uniform || (stride.is_constant() && stride.constant == dot_.row->group));
  if (!fits) {
    refuse_layout(load->id);
    return out;
  }
  const Mem m = address(load->id, offset.without(lane));
  if (failed()) return out;
  const bool rest = dot_.extent < dot_.row->group;
  out.reg = rest          ? group_rest(m, out, load->id)
            : out.uniform ? group_broadcast(m, out, load->id)
                          : contiguous_load(m, group_type(out.type), load->id, Reg{});
  const int w = width(dot_.row->accumulate);
  if (size_of(group_type(out.type)) == 2) {
    const X86 widen = out.type == DType::kU8 ? X86::vpmovzxbw : X86::vpmovsxbw;
    const int half = w == 16 ? 16 : w / 2;
    out.reg = code.define(RegClass::kVec, w, widen, {vreg(out.reg, half)});
  }
  return out;
}

/// An element as long as a group of `type`.
DType Selector::group_type(DType type) const {
  return size_of(type) * dot_.row->group == 4 ? DType::kI32 : DType::kI16;
}

void Selector::refuse_layout(int buffer) {
  const std::string group = std::to_string(dot_.row->group);
  const std::string lanes = lanes_.loop >= 0 ? nest_.loops[lanes_.loop] : "a vector loop";
  refuse(std::string(dot_.row->name) + ": " + nest_.buffers[buffer].name +
         " must lie in memory by " + "groups of " + group + " over " + nest_.loops[dot_.loop] +
         ", one after the other over " + lanes +
         " or the same all along it; stage it with layout=[n/16][k/" + group + "][n%16][k%" +
         group + "], n its dim over " + lanes + ", k its dim over " + nest_.loops[dot_.loop]);
}

/// One group in all lanes.
Reg Selector::group_broadcast(const Mem& m, const DotFactor& f, int buffer) {
  const Reg mask = lanes_.condition.valid() ? active_mask() : Reg{};
  return broadcast_load(m, group_type(f.type), buffer, mask);
}

/// AVX-512: groups of which only the first elements exist.
Reg Selector::group_rest(const Mem& m, const DotFactor& f, int buffer) {
  if (lanes_.condition.valid()) {
    refuse("part of " + std::string(dot_.row->name) +
           " inside a branch that differs between lanes");
    return {};
  }
  const int group = dot_.row->group;
  const X86 move = size_of(f.type) == 1 ? X86::vmovdqu8 : X86::vmovdqu16;
  uint64_t bits = (uint64_t{1} << dot_.extent) - 1;
  const DType element = group_type(f.type);
  if (f.uniform) {
    const Reg mask = code.define(RegClass::kMask, 8, X86::kmovq,
                                 {greg(constant_gpr(static_cast<int64_t>(bits)))});
    const Reg one = code.load(RegClass::kVec, 16, move, mem(m), buffer, mask);
    if (lanes_.count == 1) return one;
    const X86 spread = size_of(element) == 4 ? X86::vpbroadcastd : X86::vpbroadcastw;
    return code.define(RegClass::kVec, width(element), spread, {vreg(one, 16)});
  }
  for (int lanes = 1; lanes < lanes_.count; lanes *= 2) bits |= bits << (lanes * group);
  Reg pattern;
  if (lanes_.active < 0) {
    const Reg elements =
        code.update(RegClass::kGpr, 8, lanes_.active_reg, X86::shl, {imm(group == 4 ? 2 : 1)});
    pattern = code.define(RegClass::kGpr, 8, X86::bzhi,
                          {greg(constant_gpr(static_cast<int64_t>(bits))), greg(elements)});
  } else {
    if (lanes_.active * group < 64) bits &= (uint64_t{1} << (lanes_.active * group)) - 1;
    pattern = constant_gpr(static_cast<int64_t>(bits));
  }
  const Reg mask = code.define(RegClass::kMask, 8, X86::kmovq, {greg(pattern)});
  return code.load(RegClass::kVec, width(element), move, mem(m), buffer, mask);
}

/// 128 in every byte. Inside loops of a reduction one register keeps it: as an operand from memory
/// it would be loaded for every row.
Reg Selector::bytes_of_128() {
  constexpr uint32_t kBits = 0x80808080;
  if (excess_depth_ < 0) return constant_bits(DType::kI32, kBits).reg;
  if (bias_.valid()) return bias_;
  bias_ = code.make(RegClass::kVec, excess_depth_ - 1);
  Mem m;
  m.pool = code.pool(&kBits, sizeof kBits);
  const int w = target_.vector_bytes();
  code.append(code.scope(excess_depth_).pre, broadcast_of(4, w), {vreg(bias_, w), mem(m)});
  ++code.pinned_vectors;
  return bias_;
}

/// Every byte of `r` moved by 128: signed to unsigned and back.
Reg Selector::moved_by_128(Reg r) {
  const int w = width(dot_.row->accumulate);
  return code.define(RegClass::kVec, w, wide() ? X86::vpxord : X86::vpxor,
                     {vreg(bytes_of_128(), w), vreg(r, w)});
}

/// The operands of the instruction, in its order, for the product in `s`.
Selector::DotOperands Selector::dot_operands(const ir::Stmt& s) {
  DotOperands out;
  DotFactor a = dot_factor(s.value->args[0]);
  if (failed()) return out;
  DotFactor b = dot_factor(s.value->args[1]);
  if (failed()) return out;
  // Signs fix the places; where they do not, what is the same in all lanes is moved, or stands
  // where it can be an operand from memory.
  const int biased = dot_.form->biased;
  const bool mixed = a.type != b.type;
  const bool exchanged = mixed         ? a.type == DType::kI8
                         : biased == 1 ? b.uniform && !a.uniform
                                       : a.uniform && !b.uniform;
  if (exchanged) std::swap(a, b);
  out.first = a.reg;
  out.second = b.reg;
  if (biased == 0) return out;
  const Reg bias = bytes_of_128();
  if (biased == 1) {
    out.correction = {bias, b.reg};
    out.first = moved_by_128(a.reg);
  } else {
    out.correction = {a.reg, bias};
    out.second = moved_by_128(b.reg);
  }
  return out;
}

/// What the moved operand adds too much, of one group.
Reg Selector::dot_excess(const DotOperands& o) {
  const int w = width(dot_.row->accumulate);
  return code.update(RegClass::kVec, w, constant_bits(DType::kI32, 0).reg, dot_.form->op,
                     {vreg(o.correction[0], w), vreg(o.correction[1], w)});
}

/// True when all that `s` stores are running values in registers, of dot products that move an
/// operand.
bool Selector::only_moved_dots(const ir::Stmt& s) const {
  if (s.kind == ir::Stmt::kPrefetch) return true;
  if (s.kind != ir::Stmt::kFor && s.kind != ir::Stmt::kBlock) return false;
  if (s.mark == ir::Mark::kTensor) {
    const ir::Stmt* store = only_store(*s.body[0]);
    const DotForm* form = form_named(s.instruction->name);
    return store != nullptr && form != nullptr && form->biased != 0 &&
           nest_.buffers[store->id].home == ir::Home::kRegisters;
  }
  return std::all_of(s.body.begin(), s.body.end(),
                     [&](const ir::StmtRef& child) { return only_moved_dots(*child); });
}

/// True when the excess of the sums in the loop `s` may be kept until it ends. Sums that share one
/// must be equally long: no loop inside runs further for some of them than for others.
bool Selector::keeps_excess(const ir::Stmt& s) const {
  std::vector<int> open;
  return only_moved_dots(s) && !bounds_depend_on(s, open);
}

void Selector::grow_excess(Excess& excess, const Excess::Link& link) {
  const int w = width(dot_.row->accumulate);
  code.emit(dot_.form->op,
            {vreg(excess.total, w), vreg(link.operands[0], w), vreg(link.operands[1], w)});
  code.rewritten(excess.total);
  excess.chain.push_back(link);
}

/// Adds the excess of a product to a sum of its own; false where it must be taken off at once.
bool Selector::keep_excess(Reg dest, const DotOperands& o) {
  if (excess_depth_ < 0) return false;
  const Excess::Link link{o.correction, code.scope_number()};
  auto at = std::find_if(exceeding_.begin(), exceeding_.end(),
                         [&](const Exceeding& e) { return e.value == dest; });
  if (at == exceeding_.end()) {
    const auto shared = std::find_if(excesses_.begin(), excesses_.end(),
                                     [&](const Excess& e) { return e.chain[0] == link; });
    exceeding_.push_back({dest, static_cast<int>(shared - excesses_.begin()), 1});
    if (shared != excesses_.end()) return true;
    const Reg total = code.make(RegClass::kVec, excess_depth_ - 1);
    code.append(code.scope(excess_depth_).pre, X86::vxorps,
                {vreg(total, 16), vreg(total, 16), vreg(total, 16)});
    ++code.pinned_vectors;
    excesses_.push_back({{}, total});
    grow_excess(excesses_.back(), link);
    return true;
  }
  Excess& excess = excesses_[static_cast<size_t>(at->excess)];
  if (at->seen == excess.chain.size()) {
    grow_excess(excess, link);
  } else if (!(excess.chain[at->seen] == link)) {
    return false;
  }
  ++at->seen;
  return true;
}

/// After the loops of the reduction: running values become what they should be.
void Selector::take_off_excess() {
  const int w = target_.vector_bytes();
  for (const Exceeding& e : exceeding_) {
    const Operand value = vreg(e.value, w);
    const Reg total = excesses_[static_cast<size_t>(e.excess)].total;
    code.rewritten(total);
    code.emit(X86::vpsubd, {value, value, vreg(total, w)});
    code.rewritten(e.value);
  }
  code.pinned_vectors -= static_cast<int>(excesses_.size()) + (bias_.valid() ? 1 : 0);
  bias_ = {};
  exceeding_.clear();
  excesses_.clear();
  excess_depth_ = -1;
}

/// dest += the groups' products. `stays`: dest runs on until the loops of the reduction end.
void Selector::dot_add_to(Reg dest, const ir::Stmt& s, Reg mask, bool stays) {
  const DotOperands o = dot_operands(s);
  if (failed()) return;
  const int w = width(dot_.row->accumulate);
  const Operand first = vreg(o.first, w), second = vreg(o.second, w), to = vreg(dest, w);
  if (!dot_.form->adds) {
    const Reg products = code.define(RegClass::kVec, w, dot_.form->op, {first, second});
    code.emit(X86::vpaddd, {to, to, vreg(products, w)}, mask);
    return;
  }
  code.emit(dot_.form->op, {to, first, second}, mask);
  if (dot_.form->biased == 0 || (stays && keep_excess(dest, o))) return;
  code.emit(X86::vpsubd, {to, to, vreg(dot_excess(o), w)}, mask);
}

/// `old` plus the groups' products.
Value Selector::dot_added(const Value& old, const ir::Stmt& s) {
  const DotOperands o = dot_operands(s);
  if (failed()) return {};
  const int w = width(dot_.row->accumulate);
  const Operand first = vreg(o.first, w), second = vreg(o.second, w);
  Value out = old;
  if (dot_.form->adds) {
    out.reg = code.update(RegClass::kVec, w, old.reg, dot_.form->op, {first, second});
  } else {
    const Reg products = code.define(RegClass::kVec, w, dot_.form->op, {first, second});
    out.reg = code.define(RegClass::kVec, w, X86::vpaddd, {vreg(old.reg, w), vreg(products, w)});
  }
  if (dot_.form->biased == 0) return out;
  out.reg = code.define(RegClass::kVec, w, X86::vpsubd, {vreg(out.reg, w), vreg(dot_excess(o), w)});
  return out;
}

}  // namespace hone::jit
