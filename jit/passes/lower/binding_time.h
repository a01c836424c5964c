// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

/// Binding-time analysis: which stages depend on constants alone, so that they run once, when
/// constants are bound, and not in every call.
class BindingTime final : public LoweringPart {
 public:
  explicit BindingTime(LoweringContext& context)
      : LoweringPart(context), inner_bound_(context.program.stages.size()) {}

  /// True where a stage reads constants and nothing in it depends on the call.
  bool is_bound(const ir::Stage& stage);

 private:
  bool is_bound(const ir::Expr& e, bool addresses);
  bool holds_constants(const std::string& buffer);
  bool hosts_kept(const ir::Stage& stage) const;

  std::vector<std::optional<bool>> inner_bound_;  ///< per stage that is not at the root: is_bound
};

}  // namespace hone::jit
