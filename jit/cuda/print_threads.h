// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/print_tiles.h"
#include "jit/cuda/print_vector.h"

namespace hone::jit {

/// Loops over the threads of a block, and reductions across them.
class ThreadPrinter final : public KernelPart {
 public:
  ThreadPrinter(KernelContext& context, TilePrinter& tiles, VectorPrinter& vector_printer)
      : KernelPart(context), tiles_(tiles), vector_printer_(vector_printer) {}

  void emit_threads(const ir::ForStmt& s, ThreadScope& scope);

 private:
  void set_aside(int buffer, ir::Reduce reduce);
  void share_parts(ir::Reduce reduce, int axis, DType type);
  void put_together(int buffer, ir::Reduce reduce, int axis);
  void each_element(const ir::NestBuffer& b, const std::function<void(const std::string&)>& f);

  TilePrinter& tiles_;
  VectorPrinter& vector_printer_;
};

}  // namespace hone::jit
