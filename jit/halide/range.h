// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "jit/ir/program.h"

namespace hone::jit::halide {

/// Least and greatest value.
struct Range {
  int64_t lo = 0;
  int64_t hi = 0;
};

/// What is known of the values of integer expressions of a program.
class Ranges {
 public:
  explicit Ranges(const ir::Program& program);

  /// Ranges of a stage's variables from here on.
  void enter(const ir::Stage& stage);
  /// What `e` may be; nothing where that is not known, or beyond 2^40.
  std::optional<Range> of(const ir::Expr& e) const;
  /// True where an index stays in a dimension of that size.
  bool inside(const ir::Expr& index, const ir::Expr& size) const;

 private:
  const ir::Program& program_;
  std::map<std::string, Range> dims_;
  std::map<std::string, Range> vars_;
  std::map<std::string, ir::Expr> ends_;   ///< of variables that start at 0
  std::map<std::string, Range> elements_;  ///< of tensors, as checks say
};

}  // namespace hone::jit::halide
