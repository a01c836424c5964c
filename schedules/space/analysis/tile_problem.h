// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/dots.h"
#include "schedules/space/analysis/tile_size.h"

namespace hone::schedules {

/// A reduction to be tiled, and the stage whose loops make the tiles.
struct TiledReduction {
  std::string producer;  ///< the reduction
  std::string root;      ///< itself, or the consumer that computes it in registers
  std::map<std::string, std::string> follows;  ///< variables of the producer -> of the root
  std::vector<std::string> summed = {};  ///< loops of the root that add results of the producer up

  bool fused() const { return producer != root; }
  const std::string& root_var(const std::string& var) const { return follows.at(var); }
};

/// Sizes and work of a tile of a reduction along `axis` and `rows` ("": none).
/// `dots`: the instruction that does the products, if any.
TileProblem problem_for(const Plan& plan, const TiledReduction& reduction, const VectorAxis& axis,
                        const std::string& rows, const Dots& dots);

/// The variable of a small reduction along which rows of the tile read each other's elements; ""
/// where there is none.
std::string sliding(const Plan& plan, const TiledReduction& reduction, const std::string& columns,
                    const std::string& rows);

/// Iterations of the loops over results around a tile of `columns` and `rows`.
double around(const ir::Stage& producer, const StageFacts& facts, const std::string& columns,
              const std::string& rows);

/// True of elements at this distance, in bytes, that share one set of the nearest cache.
bool collides(const Plan& plan, int64_t bytes);

}  // namespace hone::schedules
