// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::ir {

/// Whether a distance is surely 0: of one iteration.
inline bool is_same(const std::optional<int64_t>& distance) { return distance && *distance == 0; }

/// Follows a read through the loops of a stage, from the outermost to the innermost. At the loop
/// that carries it, an earlier iteration wrote the element.
class CarryingLoop {
 public:
  /// `distance`: per var of the stage, in iterations of its loop, how far from the iteration that
  /// reads the one that writes is. `depth`: the loops that are around both, of the outermost.
  CarryingLoop(const Stage& stage, const std::vector<std::optional<int64_t>>& distance,
               size_t depth)
      : stage_(stage), distance_(distance), depth_(depth) {}

  /// Why the element may be read before it is written; empty: it is not, or all is of one
  /// iteration.
  std::string broken();
  /// The loop that is the reason.
  const std::string& loop() const { return loop_->name; }
  /// Is some loop the reason?
  bool at_loop() const { return loop_ != stage_.loops.data() + depth_; }
  /// Where the loop stands that carries the read; nothing where none does: of each loop it is the
  /// same iteration.
  std::optional<size_t> carrier() const { return carrier_; }

 private:
  std::optional<int64_t> step_of(const std::string& var) const;
  const Relation* maker_of(const std::string& loop) const;
  std::vector<std::string> roots_of(const std::string& loop) const;
  bool append_parts(const std::string& loop, std::vector<std::string>& out) const;
  std::string along(const std::string& var);
  std::string fused();

  const Stage& stage_;
  const std::vector<std::optional<int64_t>>& distance_;
  const size_t depth_;
  const Loop* loop_ = nullptr;
  bool written_before_ = false;  ///< by an earlier iteration of the loops so far
  std::optional<size_t> carrier_;
};

}  // namespace hone::ir
