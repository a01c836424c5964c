// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/facts.h"
#include "ops/conversions.h"
#include "ops/lowering_context.h"
#include "ops/proofs.h"
#include "ops/ranges.h"

namespace hone::ops {

class Values;

/// Lowers reductions. Each that is part of a larger value becomes a stage of its own.
class Reductions {
 public:
  Reductions(LoweringContext& c, Values& values)
      : c_(c), values_(values), types_(c), ranges_(c, values), proofs_(c) {}

  /// Starts the names `Y.1`, `Y.2`, ... of a statement's reductions anew.
  void restart_names() {
    nested_ = 0;
    known_.clear();
  }
  /// The value of a reduction inside a larger value.
  Value lower_reduction(const Term& t);
  /// Makes `draft` the argmax or argmin `t`; the maximum or minimum becomes a stage before it.
  void arg_reduce(const Term& t, Draft& draft);
  /// Makes `draft` the reduction `t` of `body`; returns the type of the result.
  DType reduce(const Term& t, Draft& draft, Value body);
  /// The narrow type in which the extreme `draft` of `body` may be accumulated, if there is one.
  std::optional<DType> narrow_extreme(const Draft& draft, const Value& body) const;
  /// Has `draft` accumulate in `type`, which `narrow_extreme` named.
  static void accumulate_in(DType type, Draft& draft);
  /// Makes `draft`, a reduction that is part of a larger value, a stage; returns what reads it.
  Value nested(Draft draft, DType type, std::optional<DType> stored);

 private:
  Value lower_new(const Term& t);
  Value lower_arg_reduction(const Term& t);
  std::string place_of(const Term& t) const;
  ir::Facts facts_of_dims() const;
  bool surely_has_terms(const Draft& draft) const;
  bool few_positions(const std::vector<Index>& rvars) const;
  void close_scope(Draft& draft, size_t outer);
  Value close_nested(Draft draft, DType type, std::optional<DType> stored);
  std::string fresh_name();

  LoweringContext& c_;
  Values& values_;
  Conversions types_;
  Ranges ranges_;
  Proofs proofs_;
  std::map<std::string, Value> known_;  ///< what the open stage reads, by place
  int nested_ = 0;                      ///< reductions named so far in this statement
};

}  // namespace hone::ops
