// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/machine.h"
#include "jit/ir/nest.h"
#include "jit/ir/poly.h"

namespace hone::schedules {

/// A loop that is being walked.
struct OpenLoop {
  int id;
  ir::Mark mark;
  double begin;
  double trips;
  const ir::Instruction* instruction = nullptr;  ///< of a tensor loop
};

/// What an access touches in the unrolled and vector loops around it.
struct Touches {
  double points = 1;     ///< times that it is evaluated, in vectors
  double distinct = 1;   ///< vectors that it touches; lanes count where they lie far apart
  double scattered = 0;  ///< of these, lanes of strided vectors
  double unaligned = 0;  ///< of these, vectors that may lie across two lines
  double pages = 0;      ///< that the next iteration of the loop around finds elsewhere
  double lanes = 0;      ///< vector loops that it does not depend on: lanes that meet in one place
};

/// The loops around the part of a nest that is looked at, and what expressions come to there.
/// Loop variables stand in the middle of their ranges.
class LoopValues {
 public:
  LoopValues(const ir::Nest& nest, const ir::Machine& machine) : nest_(nest), machine_(machine) {}

  void open(const ir::ForStmt& s);
  /// The range of a launch.
  void open(const ir::Launch& launch);
  void close() { loops_.pop_back(); }
  const std::vector<OpenLoop>& loops() const { return loops_; }

  /// The value of an integer; what data decide counts as a moderate size.
  double number(const ir::Expr& e) const;
  /// The part of its evaluations in which a condition holds. Conditions on data always do.
  double share(const ir::Expr& condition) const;
  /// What an access to element `offset` of a buffer touches; `guarded`: each element is tested.
  Touches touches(const ir::Expr& offset, int buffer, bool guarded = false) const;
  /// The part of a guarded load's addresses that lie a page or more outside its tensor.
  double share_far(const ir::Expr& offset, const ir::NestBuffer& b) const;
  /// Whether vector loops decide an expression.
  bool differs_in_lanes(const ir::Expr& e) const;
  /// Whether a condition is one for all lanes, or is known of each where loops are unrolled.
  bool known_in_lanes(const ir::Expr& condition) const;
  /// Parts of a condition that are one for all lanes: code branches on them.
  int branches_of(const ir::Expr& condition) const;
  /// Whether the innermost serial loop moves the offset.
  bool moves_in_serial(const ir::Expr& offset) const;

 private:
  double share_of_comparison(const ir::Expr& e) const;
  double pages(const ir::Poly& p, const ir::NestBuffer& b) const;

  const ir::Nest& nest_;
  const ir::Machine& machine_;
  std::vector<OpenLoop> loops_;
};

}  // namespace hone::schedules
