// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "jit/halide/buffers.h"
#include "jit/halide/range.h"
#include "jit/ir/program.h"

namespace hone::jit::halide {

/// A stage's expressions as Halide's.
class Values {
 public:
  Values(const ir::Program& program, Buffers& buffers, const Ranges& ranges, Floats floats)
      : program_(program), buffers_(buffers), ranges_(ranges), floats_(floats) {}

  /// What a variable of the stage is from here on: a 32-bit integer.
  void bind(const std::string& var, Halide::Expr value) { vars_[var] = std::move(value); }
  bool bound(const std::string& var) const { return vars_.count(var) != 0; }

  /// Of the expression's own type.
  Halide::Expr value(const ir::Expr& e);
  /// As a 32-bit integer, which is what Halide reasons about.
  Halide::Expr index(const ir::Expr& e);

 private:
  Halide::Expr operation(const ir::Expr& e);
  Halide::Expr load(const ir::Expr& e);

  const ir::Program& program_;
  Buffers& buffers_;
  const Ranges& ranges_;
  const Floats floats_;
  std::map<std::string, Halide::Expr> vars_;
};

}  // namespace hone::jit::halide
