// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/lowering_context.h"

namespace hone::ops {

/// Statements that read their own tensors, or those of later ones, at earlier positions.
class Recurrences {
 public:
  explicit Recurrences(LoweringContext& c) : c_(c) {}

  /// Does a statement read the tensor that it defines, and is it no update of an `inout`?
  bool reads_itself(const Statement& s) const;
  /// The statements that it and others go on with together; none where it reads no others that
  /// read it.
  std::vector<size_t> group_of(const Statement& s) const;
  /// Are several stages needed for each step of the recurrence that a statement is part of?
  bool in_steps(const Statement& s) const;
  /// Lets the statement read its tensor of type `type`, whose indices `draft` has.
  void open(const Statement& s, const Draft& draft, std::optional<DType> type);
  /// Is there perhaps an order for a read of the statement's own tensor at `indices`? If not, an
  /// error.
  bool check_read(const Term& t, const std::vector<ir::Expr>& indices);
  /// Gives the finished stage an order in which each of its own reads comes after the write.
  void put_in_order(Draft& draft);
  /// Does so with the stages of a finished program that read one another.
  void form_groups();

 private:
  std::string who_reads(const Statement& s) const;
  Span span_of(const std::string& stage, const ir::Expr& load) const;
  Span span_of(const Draft& draft, const ir::Expr& load) const;

  LoweringContext& c_;
};

}  // namespace hone::ops
