// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// All lanes of a vector combined into one.
class LaneFolds final : public SelectionPart {
 public:
  LaneFolds(Context& context, Vectors& vectors, Masks& masks, LaneArithmetic& arithmetic)
      : SelectionPart(context), vectors_(vectors), masks_(masks), arithmetic_(arithmetic) {}

  /// All lanes combined, as a value of one lane.
  Value across(ir::Reduce reduce, Value v);
  /// The lanes from number `lanes` on combined with those before; not of bools.
  Value down_to(int lanes, ir::Reduce reduce, Value v);

 private:
  /// Folds the upper half of the lanes onto the lower; half as many lanes remain.
  Reg halve(const Value& v);
  /// Whether there is a NaN is asked once, beside the comparisons rather than between them.
  Value extremum_across(bool max, Value v);
  Value bits_across(ir::Reduce reduce, const Value& v);

  Vectors& vectors_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
};

}  // namespace hone::jit
