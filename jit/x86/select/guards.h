// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/native/affine.h"
#include "jit/native/lir.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Names of loads on conditions of indices. Loads of one address under one name read the same, so
/// that code has one branch for all of them.
class Guards final : public SelectionPart {
 public:
  Guards(Context& context, Indices& indices) : SelectionPart(context), indices_(indices) {}

  /// The name of a guarded load for the lanes at hand, whose places move by `stride` from lane to
  /// lane. None where lanes differ in the condition, or it is not of sums of indices alone.
  std::optional<Opcode> name_of(const ir::Expr& load, const Affine& stride);

 private:
  struct Comparison {
    ir::Op op = ir::Op::kLt;
    Affine left, right;
    bool operator==(const Comparison&) const = default;
  };
  struct Guarded {
    std::vector<Comparison> holds;
    ir::Expr otherwise;
    Affine stride;
    int count = 0, active = 0;
    bool operator==(const Guarded& other) const;
  };
  bool append(const ir::Expr& condition, std::vector<Comparison>& out);

  Indices& indices_;
  std::vector<Guarded> named_;
};

}  // namespace hone::jit
