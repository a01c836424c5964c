// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jit/halide/types.h"
#include "jit/ir/program.h"

namespace hone::jit::halide {

/// A name that Halide takes: letters, digits and underscores.
std::string plain_name(std::string_view name);

/// A program's buffers, dims and scalars as Halide's.
class Buffers {
 public:
  explicit Buffers(const ir::Program& program);

  /// `name` as a 32-bit integer.
  Halide::Expr dim(const std::string& name) const;
  Halide::Expr scalar(const std::string& name, DType type) const;
  /// A size in constants and dims.
  Halide::Expr size(const ir::Expr& e) const;
  /// The last index of a dimension of that size, which may be 0: then 0 all the same.
  Halide::Expr last(const ir::Expr& size) const;
  /// The element as stored, at indices that lie inside.
  Halide::Expr load(const std::string& buffer, const std::vector<Halide::Expr>& indices);
  /// The Func that stands for a buffer that a stage writes; made when first asked for.
  Halide::Func& func(const std::string& buffer);
  bool written(const std::string& buffer) const { return funcs_.count(buffer) != 0; }
  /// What `prefetch` names: the parameter, or null.
  Halide::ImageParam* image(const std::string& buffer);

  /// Arguments of the pipeline before its outputs: read tensors, dims, scalars.
  std::vector<Halide::Argument> arguments() const;
  /// Per tensor argument, the number of the parameter among the program's.
  const std::vector<int>& inputs() const { return input_params_; }
  /// What the pipeline computes, and the parameters' numbers.
  std::vector<Halide::Func> outputs();
  std::vector<int> output_params() const;
  /// Tells Halide's schedulers the sizes: those that the dims are to be good at.
  void estimate();

 private:
  /// At least how many elements a tensor that is read seems to have: see Arguments.
  Halide::Expr some(const ir::Expr& size) const;
  void bound(const ir::Buffer& b, bool read,
             const std::function<Halide::Internal::Dimension(int)>& dim_of);

  const ir::Program& program_;
  std::map<std::string, Halide::Param<int32_t>> dims_;
  std::map<std::string, Halide::Param<int64_t>> scalars_;  ///< bits
  std::map<std::string, Halide::ImageParam> images_;
  std::map<std::string, Halide::Func> funcs_;
  std::vector<int> input_params_;
};

}  // namespace hone::jit::halide
