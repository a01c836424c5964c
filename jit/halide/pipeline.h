// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/halide/buffers.h"
#include "jit/halide/schedule.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::jit::halide {

/// A program as Halide's pipeline with its schedule.
class Pipeline {
 public:
  /// Throws ir::Reject, or Halide's errors. `marks`: see Marks.
  Pipeline(const ir::Program& program, const ir::Target& target, Marks marks);

  /// Parameters of the program whose tensors come first among the arguments, and last.
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }
  Halide::Callable compile() const;

 private:
  Halide::Target target_;
  int threads_;
  std::vector<Halide::Argument> arguments_;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  Halide::Pipeline pipeline_;
};

}  // namespace hone::jit::halide
