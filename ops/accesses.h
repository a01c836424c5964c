// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "ops/conversions.h"
#include "ops/lowering_context.h"
#include "ops/recurrences.h"

namespace hone::ops {

class Values;

/// Lowers reads of tensor elements.
class Accesses {
 public:
  Accesses(LoweringContext& c, Values& values)
      : c_(c), values_(values), types_(c), recurrences_(c) {}
  /// The element that `t` reads, which is left to the proofs.
  Value lower_access(const Term& t);

 private:
  const Tensor* readable_tensor(const Term& t);
  void note_new_value(const Term& t);
  bool check_own_read(const Term& t, const std::vector<ir::Expr>& indices);
  Value in_domain(const Term& t, const Tensor& tensor, const std::vector<ir::Expr>& indices,
                  const ir::Expr& load, const ir::Expr& otherwise);

  LoweringContext& c_;
  Values& values_;
  Conversions types_;
  Recurrences recurrences_;
  std::unordered_set<std::string> noted_;  ///< statements and inouts that a note is about
};

}  // namespace hone::ops
