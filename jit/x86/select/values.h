// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/calls.h"
#include "jit/x86/select/conditions.h"
#include "jit/x86/select/converter.h"
#include "jit/x86/select/divisions.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/loads.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/memory.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Expressions as vectors of lanes. What is the same in all lanes is computed on all of them.
class Values final : public SelectionPart {
 public:
  Values(Context& context, Indices& indices, Vectors& vectors, Masks& masks, Converter& converter,
         LaneArithmetic& arithmetic, Divisions& divisions, Conditions& conditions, Memory& memory,
         Loads& loads, Calls& calls)
      : SelectionPart(context),
        indices_(indices),
        vectors_(vectors),
        masks_(masks),
        converter_(converter),
        arithmetic_(arithmetic),
        divisions_(divisions),
        conditions_(conditions),
        memory_(memory),
        loads_(loads),
        calls_(calls) {}

  Value value(const ir::Expr& e);

 private:
  Value constant(DType type, const ir::Node& node);
  Value scalar_argument(const ir::Expr& e);
  /// An integer of the index kind in all lanes; with the lane's number where it depends on it.
  Value from_integer(const ir::Expr& e);
  /// A sum in which the lane may be a factor, in integers of a type.
  Value from_sum(const Affine& a, DType type);
  /// An integer of loops and dims that differs between lanes; false where it is no plain one.
  bool from_lanes(const ir::Expr& e, Value& out);
  /// One whose lanes differ from the first by constants: that one in all, and a table.
  bool from_table(const ir::Expr& sum, DType type, Value& out);
  /// The sum `first` in all lanes, and a constant for each.
  Value plus(const Affine& first, std::vector<int64_t> steps, DType type);
  Value unary(const ir::Expr& e);
  Value binary(const ir::Expr& e);
  /// Integers shifted, or multiplied by a power of two, by a count that is known and the same in
  /// all lanes. False of what is none of these.
  bool shifted_by_constant(const ir::Expr& e, Value& out);
  /// A function of few low bits of an integer, such as what an element of 4 bits stands for: from a
  /// table in a register. False of what is none, or costs no more by itself.
  bool from_low_bits(const ir::Expr& e, Value& out);
  /// Floor division of integers, or its remainder.
  Value division(const ir::Expr& e);
  Value convert(const ir::Expr& e);

  Indices& indices_;
  Vectors& vectors_;
  Masks& masks_;
  Converter& converter_;
  LaneArithmetic& arithmetic_;
  Divisions& divisions_;
  Conditions& conditions_;
  Memory& memory_;
  Loads& loads_;
  Calls& calls_;
};

}  // namespace hone::jit
