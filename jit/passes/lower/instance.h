// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "jit/ir/poly.h"
#include "jit/passes/lower/stage_loops.h"

namespace hone::jit {

/// lo .. lo+extent-1.
struct Span {
  ir::Poly lo;
  ir::Poly extent;
  bool guessed = false;  ///< all that there could be: it may be less
};

/// A part of a loop's range in which the inner loop of the split has one extent.
struct Piece {
  ir::Poly begin, end;
  std::optional<ir::Poly> holds = {};  ///< runs only where this is >= 0; null: always
  std::optional<ir::Poly> base = {};   ///< start of the split parent; null: factor * loop
  std::optional<ir::Poly> inner =
      {};  ///< extent of the inner loop; null: what is left, at most factor
  /// Blocks that begin where lines do: the element of the split parent at which block 0 would.
  std::optional<ir::Poly> line = {};
};

/// A stage while it is being emitted at one place: what is known of its variables and loops.
struct Instance {
  /// Of no stage: only dims and scalars have values.
  Instance() = default;
  /// No loop is open yet. `held` has a span per var, then per factored loop.
  Instance(const StageLoops& of, std::vector<Span> held)
      : loops(&of),
        window(std::move(held)),
        extent(of.nodes.size()),
        value(of.nodes.size()),
        base(of.nodes.size()),
        trips(of.parent.size()) {}

  const StageLoops* loops = nullptr;
  std::vector<Span> window;                     ///< per var, then per factored loop
  std::vector<std::optional<ir::Poly>> extent;  ///< per node
  std::vector<std::optional<ir::Poly>> value;   ///< per node: set once its loop is open
  std::vector<std::optional<ir::Poly>> base;    ///< per split node: its start, once outer is open
  std::vector<int64_t>
      trips;                 ///< per relation that fuses: iterations of its inner loop, once known
  bool initialised = false;  ///< the reduction's identity has been stored
  bool keeps_earlier = false;  ///< of a carried dim, the youngest element becomes the one before
  bool ahead = false;  ///< placed at an iteration that may not be: indices are clamped, not proved

  const ir::Stage& stage() const { return *loops->stage; }
};

}  // namespace hone::jit
