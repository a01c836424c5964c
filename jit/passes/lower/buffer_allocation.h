// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

class Accesses;
class BindingTime;
class WarpTiles;
class Windows;

/// Memory for buffers: parameters, outputs of stages at the root, and the windows of temporaries
/// while the loop that keeps them is open.
class BufferAllocation final : public LoweringPart {
 public:
  /// What is allocated at a moment.
  struct Live {
    size_t buffers = 0;
    int64_t worker_bytes = 0;
  };

  BufferAllocation(LoweringContext& context, Accesses& accesses, Windows& windows,
                   BindingTime& binding, const WarpTiles& tiles)
      : LoweringPart(context),
        accesses_(accesses),
        windows_(windows),
        binding_(binding),
        tiles_(tiles) {}

  void add_parameters();
  /// Memory for the output of a stage at the root, unless it is a parameter.
  void allocate_root(int stage);
  /// Memory for a window of the output of a stage inside loops, a span per dim.
  void allocate(int stage, const std::vector<Span>& window);

  Live live() const { return {context_.storage.size(), worker_top_}; }
  /// Ends the lives of the buffers allocated since then.
  void release(const Live& since);

 private:
  Storage dense(const ir::Buffer& b, std::vector<ir::Poly> shape);
  std::optional<int64_t> most_of(const Span& window, const ir::Expr& shape);
  static size_t vector_dim(const ir::Stage& s, size_t dims);
  static int64_t elements_of(const Storage& s);
  static int64_t swizzled_row(const ir::Buffer& b, const Storage& s);

  Accesses& accesses_;
  Windows& windows_;
  BindingTime& binding_;
  const WarpTiles& tiles_;
  int64_t worker_top_ = 0;  ///< bytes of a worker's scratch memory in use
};

}  // namespace hone::jit
