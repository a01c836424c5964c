// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/integers.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Conditions in lanes, and what is known of them where code is emitted.
class Conditions final : public SelectionPart {
 public:
  Conditions(Context& context, Indices& indices, Integers& integers, Vectors& vectors, Masks& masks,
             LaneArithmetic& arithmetic)
      : SelectionPart(context),
        indices_(indices),
        integers_(integers),
        vectors_(vectors),
        masks_(masks),
        arithmetic_(arithmetic) {}

  /// True when the condition is the same whatever the loops do; `holds` tells which way.
  bool decided(const ir::Expr& e, bool& holds);
  Value compare(const ir::Expr& e);
  Value logic(const ir::Expr& e);
  Value choice(const ir::Expr& e);
  /// Runs `body`, whose code lies behind a branch on the condition.
  template <class Body>
  void assuming(const ir::Expr& condition, bool holds, const Body& body) {
    assumed_.push_back({&condition, holds});
    body();
    assumed_.pop_back();
  }
  size_t assumptions() const { return assumed_.size(); }

 private:
  /// A condition whose outcome is known where code is emitted: behind a branch on it.
  struct Assumption {
    const ir::Expr* condition;
    bool holds;
  };

  bool decided_comparison(const ir::Expr& e, bool& holds);
  /// What the operands of a comparison of integers say of it, if anything.
  bool decided_by(const ir::Expr& e, const Affine& a, const Affine& b, bool& holds) const;
  /// True where `a`, the value of `e`, is so small that differences of such do not wrap around.
  bool near(const ir::Expr& e, const Affine& a) const;
  /// Makes it near, if it is the same in all lanes: a comparison with a near one stays as it is.
  bool bring_near(const ir::Expr& e, Affine& a);
  /// The lanes in which a comparison of integers holds, where each lane is decided.
  bool decided_lanes(const ir::Expr& e, uint64_t& bits);
  /// A comparison of index integers; null when it is not of a form that lane numbers decide.
  bool compare_lanes(const ir::Expr& e, Value& out);
  /// Lanes with `d` < 0, where d = slope * lane + something the same in all lanes, slope 1 or -1.
  Value negative_lanes(const Affine& d, int slope);

  Indices& indices_;
  Integers& integers_;
  Vectors& vectors_;
  Masks& masks_;
  LaneArithmetic& arithmetic_;
  std::vector<Assumption> assumed_;
};

}  // namespace hone::jit
