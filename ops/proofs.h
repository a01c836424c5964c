// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/checks.h"
#include "ops/lowering_context.h"

namespace hone::ops {

/// Proves that stages read inside their tensors, and inside the domains of what they read.
class Proofs {
 public:
  explicit Proofs(LoweringContext& c) : c_(c), checks_(c) {}

  /// Settles what a finished draft may read, and completes its stage.
  void settle(Draft& draft);
  /// Drops the domains that some reader needs gone, then hands the stages over.
  void finish_drafts();

 private:
  void settle_needs(Draft& draft);
  void assemble(Draft& draft) const;
  void prove_accesses(Draft& draft, bool with_domain);
  bool prove_indices(Draft& draft, const Access& access, const Prover& sure, const Prover& when,
                     bool with_domain);
  void prove_access(Draft& draft, const Access& access, size_t dim, const Prover& sure,
                    const Prover& when, bool with_domain);
  void drop_idle_guards(Draft& draft) const;
  Prover prover_for(const Draft& draft, bool with_domain,
                    const std::vector<ir::Expr>& when = {}) const;

  LoweringContext& c_;
  Checks checks_;
};

}  // namespace hone::ops
