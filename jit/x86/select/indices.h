// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "jit/x86/select/general_ops.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// A loop that runs, by the depth of its scope: how its variable advances.
struct LoopState {
  Affine begin;
  int64_t step = 1;
  Reg variable;         ///< made when something needs the value itself
  bool ranged = false;  ///< min <= variable <= max is known
  int64_t min = 0;
  int64_t max = 0;
};

/// An index as what is the same in all lanes, and the rest; null: nothing.
struct LaneSum {
  ir::Expr same, apart;
};

/// Index arithmetic as sums of products, for as long as possible, and the registers that come to
/// hold it.
class Indices final : public SelectionPart, public ScopeListener {
 public:
  Indices(Context& context, GeneralOps& general) : SelectionPart(context), general_(general) {
    context.listeners.push_back(this);
  }

  /// An integer as a sum of products; what is none of loops and dims is a register in it.
  Affine affine(const ir::Expr& e);
  /// The index as a sum with the lane as a factor; false where lanes do not follow such a rule.
  bool lane_index(const ir::Expr& e, Affine& out);
  /// The integer, of 64 or 32 bits, as a sum that is known without code. False where it is none,
  /// and where 32 bits may not hold a part of it.
  bool known_sum(const ir::Expr& e, Affine& out);
  /// The range of `a` over all iterations, when it is known.
  bool range_of(const Affine& a, int64_t& min, int64_t& max) const;
  /// True when general registers alone can compute the integer or bool.
  bool steers(const ir::Expr& e) const;
  bool depends_on_lane(const ir::Expr& e) const;
  LaneSum split(const ir::Expr& index) const;
  /// A general register that holds the sum.
  Reg gpr(const Affine& a);
  Operand gpr_or_imm(const Affine& a);
  Reg product(const Term& t);
  int term_level(const Term& t) const;
  /// A general register with the lesser, or the greater, of a value and a limit.
  Reg at_most(const Affine& a, int64_t limit);
  /// A general register limited to [0, lanes].
  Reg limited_to_lanes(const Affine& a);
  /// `a`, or the nearer of two numbers where it does not lie between them.
  Affine limited(const Affine& a, int64_t least, int64_t most);
  /// The loop whose scope is at `depth`.
  LoopState& loop(int depth) { return loops_[depth]; }
  const LoopState& loop(int depth) const { return loops_[depth]; }
  void opened(Scope::Kind kind, uint64_t written) override;
  void closed(int depth, uint64_t written) override;

 private:
  Affine sum_of(const ir::Expr& e);
  /// a + b, the value of `e`; with more terms than fit, both as registers.
  Affine added(const ir::Expr& e, const Affine& a, const Affine& b);
  /// x as c * quotient + rest.
  struct Division {
    Affine quotient, rest;
    bool known = false;  ///< the rest lies in [0, c)
  };
  Division divided(const Affine& x, int64_t c) const;
  /// x / c and x % c.
  Affine affine_of_division(const ir::Expr& e);
  /// x >> n.
  Affine affine_of_shift(const ir::Expr& e);
  /// x & c, x | c and x ^ c, where the bits of x that c may change are known.
  Affine affine_of_bits(const ir::Expr& e);
  Affine opaque(const ir::Expr& e);
  Affine opaque(const ir::Expr& e, const std::function<Reg()>& compute);
  Reg factor_reg(int32_t factor);
  Reg loop_variable(int depth);
  Reg dim(int id);
  int factor_level(int32_t factor) const;
  Reg at_least(const Affine& a, int64_t limit);

  GeneralOps& general_;
  std::vector<LoopState> loops_;  ///< by depth of the scope
  bool trying_ = false;           ///< see lane_index
  bool tangled_ = false;
  bool strict_ = false;  ///< see known_sum
};

}  // namespace hone::jit
