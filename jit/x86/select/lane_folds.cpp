// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/lane_folds.h"

#include <limits>

namespace hone::jit {

using ir::Op;
using ir::Reduce;

Value LaneFolds::across(Reduce reduce, Value v) {
  const Lanes outer = lanes_;
  const bool extreme = (reduce == Reduce::kMax || reduce == Reduce::kMin) && is_float(v.type);
  if (v.type == DType::kBool) {
    v = bits_across(reduce, v);
  } else if (extreme && lanes_.count > 1) {
    v = extremum_across(reduce == Reduce::kMax, v);
  } else {
    v = down_to(1, reduce, v);
  }
  lanes_ = outer;
  return v;
}

Value LaneFolds::down_to(int lanes, Reduce reduce, Value v) {
  while (lanes_.count > lanes) {
    const Reg high = halve(v);
    v = arithmetic_.combine(reduce, v, {high, v.type, v.element});
  }
  return v;
}

Reg LaneFolds::halve(const Value& v) {
  const Reg high = vectors_.upper_half(v).reg;
  lanes_.count /= 2;
  lanes_.active = lanes_.count;
  return high;
}

Value LaneFolds::extremum_across(bool max, Value v) {
  const bool single = v.type == DType::kF32;
  const Value nan = bits_across(Reduce::kAny, masks_.unordered(v));
  const X86 pick =
      max ? (single ? X86::vmaxps : X86::vmaxpd) : (single ? X86::vminps : X86::vminpd);
  while (lanes_.count > 1) {
    const Reg high = halve(v);
    v = vectors_.op3(pick, v, {high, v.type, v.element});
  }
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  return masks_.blend(nan, vectors_.constant_bits(v.type, bits_of(v.type, quiet, 0)), v);
}

Value LaneFolds::bits_across(Reduce reduce, const Value& v) {
  Reg bits;
  int64_t all;
  if (wide()) {
    all = lanes_.count == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << lanes_.count) - 1);
    bits = code_.define(RegClass::kGpr, 8, X86::kmovq, {kreg(v.reg)});
  } else {
    const Value m = masks_.as_element(v, masks_.widest_element());
    const int w = masks_.width_of(m);
    all = static_cast<int64_t>((uint64_t{1} << (lanes_.count * m.element)) - 1);
    bits = code_.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(m.reg, w)});
  }
  const Reg every = constant_gpr(all);
  const Reg used = code_.update(RegClass::kGpr, 8, bits, X86::and_, {greg(every)});
  const bool any = reduce == Reduce::kAny;
  const Reg bit = code_.sequence(RegClass::kGpr, 8, any ? Sequence::kNonZero : Sequence::kCondition,
                                 {greg(used), greg(every)}, [&](CodeList& list, Reg r) {
                                   code_.append(list, X86::mov, {greg(r), imm(0)});
                                   if (any) {
                                     code_.append(list, X86::test, {greg(used), greg(used)});
                                   } else {
                                     code_.append(list, X86::cmp, {greg(used), greg(every)});
                                   }
                                   code_.append(list, any ? X86::setne : X86::sete, {greg(r, 1)});
                                 });
  return masks_.uniform(bit);
}

}  // namespace hone::jit
