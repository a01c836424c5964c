// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "ops/accesses.h"
#include "ops/conversions.h"
#include "ops/lowering_context.h"
#include "ops/reductions.h"

namespace hone::ops {

/// Lowers terms to typed expressions.
class Values {
 public:
  explicit Values(LoweringContext& c)
      : c_(c), types_(c), accesses_(c, *this), reductions_(c, *this) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  /// The value of a term; a placeholder where an error was found, now or before.
  Value lower_value(const Term& t);
  /// A part whose errors are told beside those of the other parts.
  Value lower_part(const Term& t);
  /// A side of a choice: discarded unless `condition` holds, on which its reads may count.
  Value lower_side(const Term& t, const ir::Expr& condition);
  /// An index, which must be an integer.
  ir::Expr lower_index(const Term& t);
  /// The part that lowers reductions.
  Reductions& reductions() { return reductions_; }

 private:
  Value lower_name(const Term& t);
  Value lower_scalar(const Argument& a, Span span);
  Value lower_infix(const Term& t);
  bool takes_bits(std::string_view sign, const Value& v);
  Value lower_bits(const Term& t, Value a, Value b);
  Value lower_prefix(const Term& t);
  Value lower_call(const Term& t);
  Value lower_function(const Term& t);
  Value lower_select(const Term& t);
  Value lower_philox(const Term& t);
  Value lower_cast(const Term& t);
  bool expect_count(const Term& t, size_t count);

  LoweringContext& c_;
  Conversions types_;
  Accesses accesses_;
  Reductions reductions_;
};

}  // namespace hone::ops
