// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/gathers.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Elements at positions that differ between lanes, where the positions are computed as vectors:
///   X[max(0, i - 1)], X[select(ids[i] < 0, ids[i] + R, ids[i])].
/// Vectors of 64-bit integers have fewer lanes than those of elements, so that it is done in parts.
class Positions final : public SelectionPart {
 public:
  Positions(Context& context, Indices& indices, Addresses& addresses, Vectors& vectors,
            Masks& masks, LaneArithmetic& arithmetic, Gathers& gathers)
      : SelectionPart(context),
        indices_(indices),
        addresses_(addresses),
        vectors_(vectors),
        masks_(masks),
        arithmetic_(arithmetic),
        gathers_(gathers) {}

  /// True where `index`, and `condition` if there is one, can be computed so.
  bool can_compute(const ir::Expr& index, const ir::Expr* condition) const;
  /// True where lanes do more for their positions than to load, add and multiply.
  bool is_dear(const ir::Expr& index) const;
  /// True where it is known how far each lane's position is from the first one's.
  bool known_apart(const ir::Expr& index);
  /// The elements; anything where the condition, if there is one, does not hold.
  Value load(int buffer, const ir::Expr& index, const ir::Expr* condition);

 private:
  /// As many lanes as a vector has positions.
  Value load_part(int buffer, const ir::Expr& index, const ir::Expr* condition);
  /// AVX-512: by one instruction, which loads nothing for lanes where the condition does not hold.
  Value gathered(int buffer, const Mem& start, const Value& positions, const Value* condition);
  /// One by one. Where the condition does not hold, a lane reads the call's arguments.
  Value assembled(int buffer, const Mem& start, const Value& positions, const Value* condition);

  Indices& indices_;
  Addresses& addresses_;
  Vectors& vectors_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
  Gathers& gathers_;
};

}  // namespace hone::jit
