// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;

/// The launch that checks data before anything is written, and what proofs may use of it after.
class DataChecks final : public LoweringPart {
 public:
  DataChecks(LoweringContext& context, Accesses& accesses)
      : LoweringPart(context), accesses_(accesses) {}

  /// Adds one launch that walks every check; it must see no bad position before anything is
  /// written. On a GPU, blocks of threads run along the outermost variable of each check.
  void add();

 private:
  ir::StmtRef walk_check(const ir::Check& c, const ir::Launch& launch, ir::Poly& blocks);
  void define_checked(const ir::Check& c);
  ir::Expr end_of(const ir::Check& c, const ir::Expr& end) const;
  bool looks_at_all(const ir::Check& c, const ir::Expr& load) const;
  bool looks_at_run(const ir::Check& c, const ir::Expr& load, ir::Facts::Elements& known);

  Accesses& accesses_;
};

}  // namespace hone::jit
