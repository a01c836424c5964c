// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/passes/lower/context.h"

namespace hone::jit {

/// A part of lowering: one subject with the state that is its own, over the shared context.
class LoweringPart {
 public:
  LoweringPart(const LoweringPart&) = delete;
  LoweringPart& operator=(const LoweringPart&) = delete;

 protected:
  explicit LoweringPart(LoweringContext& context)
      : context_(context),
        program_(context.program),
        target_(context.target),
        nest_(context.nest),
        facts_(context.facts) {}
  ~LoweringPart() = default;

  /// A new loop of the nest over begin..end-1; its number.
  int new_loop(const std::string& name, ir::Poly begin, ir::Poly end);
  /// Where the innermost live buffer of that name is; rejects where none is.
  const Storage& storage_of(const std::string& buffer) const;

  LoweringContext& context_;
  const ir::Program& program_;
  const ir::Target& target_;
  ir::Nest& nest_;
  ir::Facts& facts_;
};

}  // namespace hone::jit
