// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/dots.h"
#include "schedules/space/analysis/tile_problem.h"
#include "schedules/space/analysis/tile_size.h"

namespace hone::schedules {

/// The two axes of a register tile.
struct TileAxes {
  VectorAxis axis;
  std::string rows;   ///< the other axis, of the producer; "": none
  std::string slide;  ///< variable reduced whose steps read what other rows read; "": none
  /// The store runs along the rows: results are transposed in registers on their way out.
  bool transposed = false;
  /// The last tile of a row reaches back into the one before, where masks would not do.
  bool reaches_back = false;
  TileSize size;
  double cycles = 0;  ///< of one step of the reduction over the whole domain, stores included
};

/// How the results leave, by the variables of the producer.
Access leaving_store(const Plan& plan, const TiledReduction& reduction);

/// The tile along `axis` whose other axis makes the whole cheapest. `dots`: the instruction that
/// does the products, if any.
TileAxes tile_along(const Plan& plan, const TiledReduction& reduction, const VectorAxis& axis,
                    const Dots& dots);

/// Tiles along axes that every tensor is read along as vectors or not at all, where need be from a
/// packed copy. The one along the axis that rules without a tile take comes first; none where that
/// axis is reduced. Others follow where results leave as vectors too.
std::vector<TileAxes> tiles_for(const Plan& plan, const TiledReduction& reduction);

}  // namespace hone::schedules
