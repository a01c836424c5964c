// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/draft.h"
#include "ops/lower.h"
#include "ops/statement_groups.h"

namespace hone::ops {

/// What the parts of one lowering share: the op, what is made of it so far, and the place in it.
class LoweringContext {
 public:
  LoweringContext(const Definition& definition, const Binding& values, Diagnostics& errors)
      : op(definition), binding(values), diagnostics(errors), groups(definition) {}
  LoweringContext(const LoweringContext&) = delete;
  LoweringContext& operator=(const LoweringContext&) = delete;

  /// Adds an error, unless what is lowered now has one already.
  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    if (!failed_) diagnostics.error(span, fmt::format(format, std::forward<Args>(args)...));
    failed_ = true;
  }
  /// True when what is lowered now is wrong; what stands beside it may be right.
  bool failed() const { return failed_; }
  void set_failed(bool failed) { failed_ = failed; }
  /// Does `lower` whatever went wrong before.
  template <class F>
  auto apart(const F& lower) {
    const bool before = std::exchange(failed_, false);
    auto value = lower();
    failed_ |= before;
    return value;
  }
  /// The source text of `span`, shortened where it is long.
  std::string snippet(Span span) const { return diagnostics.source().snippet(span); }

  /// The dtype called `name`, or bound to the parameter of that name.
  DType type_named(std::string_view name) const;
  /// The type in which a scalar argument is passed.
  DType scalar_type(const Argument& a) const;
  /// The dim or integer parameter called `name`; null where there is none.
  ir::Expr number_named(std::string_view name) const;
  /// The index in scope called `name`; null where there is none.
  const Index* index_named(std::string_view name) const;
  /// Does `name` name a parameter, an argument, a dim or a statement?
  bool names_something(std::string_view name) const;
  /// The buffer of a tensor that is declared.
  const ir::Buffer& buffer_of(const std::string& tensor) const;

  const Definition& op;
  const Binding& binding;
  Diagnostics& diagnostics;
  const StatementGroups groups;
  ir::Program program;                              ///< so far
  std::unordered_map<std::string, Tensor> tensors;  ///< by name
  std::deque<Draft> drafts;                         ///< finished stages, in order

  const Statement* statement = nullptr;  ///< the one being lowered
  std::vector<Index> scope;              ///< indices, the outermost first
  std::vector<Draft*> frames;            ///< open stages, the innermost last
  std::vector<ir::Expr> own;             ///< conditions of the statement's `where`
  std::vector<ir::Expr> chosen;  ///< conditions; where one fails, the lowered value is discarded
  bool in_index = false;         ///< integers read are i64

 private:
  bool failed_ = false;
};

}  // namespace hone::ops
