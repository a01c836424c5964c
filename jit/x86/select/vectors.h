// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/x86/select/general_ops.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Vectors of lanes: constants, single operations, lanes on their own.
class Vectors final : public SelectionPart {
 public:
  Vectors(Context& context, GeneralOps& general) : SelectionPart(context), general_(general) {}

  /// All lanes hold the low bytes of `bits`.
  Value constant_bits(DType type, uint64_t bits);
  /// The low bytes of a general register in all lanes.
  Value splat(Reg r, DType type);
  /// One instruction on one vector, and on two.
  Value op2(X86 op, const Value& v, DType to);
  Value op3(X86 op, const Value& a, const Value& b);
  /// The 16 bytes of a vector that hold lane `i`; `within` becomes its number there.
  Reg quarter_of(const Value& v, int i, int& within);
  /// A lane as a 64-bit integer, sign- or zero-extended as its type says.
  Reg lane_to_gpr(const Value& v, int lane);
  /// The low bytes of registers as lanes; `lane_of` makes one at a time, so that few live at once.
  Value gprs_to_lanes(DType type, const std::function<Reg(int)>& lane_of);
  /// The upper half of the lanes, moved to where the lower ones are.
  Value upper_half(const Value& v);
  /// All lanes from those of two halves.
  Value joined(const Value& low, const Value& high);
  /// Replaces lane `i` of the vector in `reg` by the element at `m`.
  void insert_element(Reg reg, int i, const Mem& m, DType type);
  /// Lane `lane` of `reg` = the first lane of `v`.
  void set_lane(Reg reg, int lane, const Value& v);
  void store_lane(const Mem& m, const Value& v, int i);
  /// Stores the first `bytes` of a vector register: 1, 2, 4, 8, 16, 32 or 64.
  void store_lanes(const Mem& m, Reg reg, int bytes);

 private:
  /// AVX2: lane `i` of `reg` from the same lane of `all`.
  void insert_broadcast(Reg reg, int i, Reg all, DType type);

  GeneralOps& general_;
};

}  // namespace hone::jit
