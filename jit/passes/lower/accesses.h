// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class LoopValues;
class Overhangs;

/// Expressions over a stage's variables become expressions over loops, and accesses become flat
/// offsets. Each access is proved inside its tensor or window, or the schedule is rejected:
///   A[m,k]    =>    A[1800*m.o + 300*m.i + k]
class Accesses final : public LoweringPart {
 public:
  Accesses(LoweringContext& context, LoopValues& values, const Overhangs& overhangs)
      : LoweringPart(context), values_(values), overhangs_(overhangs) {}

  /// The value of a variable of the stage, whose loops must be open.
  ir::Poly variable(Instance& in, const std::string& name);
  ir::Poly index(Instance& in, const ir::Expr& e);
  ir::Expr translate(Instance& in, const ir::Expr& e);
  /// The range of a reduction variable, which data may bound.
  Span reduction_span(Instance& in, size_t rvar);
  /// An index as it will be at an iteration that may not exist. Variables whose loops are closed
  /// stand at their first value. Indices of loads inside are clamped, so that they read something
  /// valid; loads from a tensor that may be empty give 0.
  ir::Expr ahead(Instance& in, const ir::Expr& e);

  /// The element of the buffer, in elements from its start.
  int64_t count_back(const Instance& in, const Storage& s, const std::string& name,
                     std::vector<ir::Poly>& indices) const;
  ir::Expr offset(const Storage& storage, const std::vector<ir::Poly>& indices);
  /// The safety argument: rejects an access that may leave its storage, whatever the loops do.
  void prove_inside(const Storage& s, const std::vector<ir::Poly>& indices,
                    const std::string& name);
  /// From now on adds the tests of reads that are not proved to `tests`; null: to nothing.
  void gather_tests(std::vector<ir::Expr>* tests) { tested_ = tests; }

 private:
  ir::Expr translate_load(Instance& in, const ir::Expr& e);
  bool may_wrap(const ir::Expr& e) const;
  ir::Expr compare(Instance& in, const ir::Expr& e);
  ir::Expr remainder(const ir::Expr& of, const ir::Expr& by) const;
  bool proves_inside(const Storage& s, const std::vector<ir::Poly>& indices,
                     const ir::Buffer& whole);
  int unproved_dim(const Storage& s, const std::vector<ir::Poly>& indices, size_t first);
  std::vector<ir::Poly> clamped(const Storage& s, const std::vector<ir::Expr>& indices);

  LoopValues& values_;
  const Overhangs& overhangs_;
  std::vector<ir::Expr>* tested_ = nullptr;  ///< gathers the tests of reads that are not proved
};

}  // namespace hone::jit
