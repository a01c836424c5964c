// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "include/hone/dtype.h"
#include "jit/native/affine.h"
#include "jit/native/lir.h"

namespace hone::jit {

/// What a loop number stands for while its body is selected.
struct Binding {
  bool bound = false;
  int lane = 0;  ///< how often the lane is added: 1 or -1 for the loop being emitted in lanes
  Affine base;

  /// The value in one of the lanes.
  Affine at(int i) const { return base + Affine::of(lane * i); }
};

/// The lanes that values have at the moment. Outside vector loops: one lane.
struct Lanes {
  int loop = -1;      ///< number of the vector loop
  int count = 1;      ///< lanes of a value
  int active = 1;     ///< lanes that exist; -1: known at run time
  Reg active_reg;     ///< general register with the number, when it is known at run time
  bool scan = false;  ///< each lane goes on from what the one before stores
  Reg condition;      ///< AVX-512: inside a branch that only some lanes take, their mask
  bool partial() const { return active != count || condition.valid(); }
};

/// A value in registers: `lanes.count` elements of `type`. Bools are masks: on AVX-512 in a mask
/// register, else all-ones lanes of `element` bytes in a vector register. Elements of a buffer of
/// bools, as memory and register tiles hold them, are values of kU8: see Masks::loaded and stored.
struct Value {
  Reg reg;
  DType type = DType::kF32;
  int element = 4;
};

/// The bits of a constant: of `f` for floats, of `i` for integers.
uint64_t bits_of(DType type, double f, int64_t i);

}  // namespace hone::jit
