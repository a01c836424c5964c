// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Halide.h>

#include <cstdint>
#include <vector>

#include "jit/interp/reference.h"
#include "jit/ir/nest.h"
#include "jit/ir/program.h"

namespace hone::jit::halide {

/// The arguments of one call of a pipeline, made of the slots that all back ends share. Tensors are
/// where they are: nothing is copied. One without elements that is read seems to have some, since
/// Halide reads what conditions then do not choose.
class Arguments {
 public:
  Arguments(const ir::Program& program, const ir::ArgsLayout& layout,
            const std::vector<TensorView>& views, const std::vector<int>& inputs,
            const std::vector<int>& outputs, const int64_t* slots);

  /// Calls, with what Halide says instead of a result; empty: all is well.
  std::string call(const Halide::Callable& callable);

 private:
  void add_tensor(const TensorView& view, int64_t address, bool read);

  std::vector<halide_buffer_t> buffers_;
  std::vector<halide_dimension_t> dimensions_;
  std::vector<int32_t> dims_;
  std::vector<std::vector<uint64_t>> instead_;  ///< of tensors without elements
  std::vector<const void*> all_;
};

}  // namespace hone::jit::halide
