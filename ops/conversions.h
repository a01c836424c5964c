// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ops/lowering_context.h"

namespace hone::ops {

/// Brings values to the types that the language's rules ask for.
class Conversions {
 public:
  explicit Conversions(LoweringContext& c) : c_(c) {}

  /// The value of a load, widened to a type of arithmetic.
  Value read(ir::Expr load, Span span);
  /// Makes a bool the i32 0 or 1.
  void widen_bool(Value& v);
  /// Brings two operands to one type. False where an error was found, now or before.
  bool unify(Value& a, Value& b);
  /// A constant or dim as an expression of `type`.
  ir::Expr adapt(const Value& v, DType type);
  /// `v` as it is stored to an element of `type`.
  ir::Expr store(const Value& v, DType type, Span span);
  /// `v` as `cast<type>` makes it.
  ir::Expr convert(const Value& v, DType type);

 private:
  std::string cast_inside(const Value& v, DType type) const;

  LoweringContext& c_;
};

}  // namespace hone::ops
