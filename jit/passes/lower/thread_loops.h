// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

/// A loop whose iterations are the threads of a block.
struct ThreadLoop {
  int id = -1;
  ir::Mark mark = ir::Mark::kThreadX;
  int64_t most = 1;  ///< its extent is at most this
};

/// The open loops that are bound to a GPU's threads, and what such loops may write.
class ThreadLoops final : public LoweringPart {
 public:
  explicit ThreadLoops(LoweringContext& context) : LoweringPart(context) {}

  /// Opens loop number `id` of the nest, which runs over `piece`; close() closes the innermost.
  void open(const Instance& in, const ir::Loop& loop, int id, const Piece& piece);
  void close() { threads_.pop_back(); }
  /// Outermost first.
  const std::vector<ThreadLoop>& open_loops() const { return threads_; }

  /// Rejects loops over threads that write what each thread keeps to itself. Only the parts of a
  /// reduction may be so: they are combined when its threads are done.
  void check(const Instance& in) const;
  /// lo .. lo+extent-1 for every thread at once; rejects where no window holds them all.
  Span over_all(Span span, const std::string& buffer) const;

 private:
  std::vector<ThreadLoop> threads_;  ///< outermost first
};

/// Rejects what the target lacks: only a GPU has blocks, threads and the memory they share, and
/// tiles that run whole.
void check_marks(const ir::Program& program, const ir::Target& target);
/// True where the blocks of some launch run in clusters.
bool has_clusters(const ir::Program& program);

}  // namespace hone::jit
