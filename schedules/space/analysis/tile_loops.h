// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/analysis/tile_axes.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// A reduction's register tile, and the loops that it makes.
struct Tile : TiledReduction, TileAxes {
  Dots dots;             ///< the instruction that does its products, if any
  bool columns = false;  ///< a few rows of a tensor are read to their ends before the next
  Number height, width;  ///< knobs
  std::vector<std::string> blocked;     ///< loops over blocks of the reduction
  bool two_levels = false;              ///< tiles are visited by blocks of columns and rows
  std::string column_block, row_block;  ///< loops over these blocks
  std::vector<std::string> outer;       ///< loops of the root around the tile, outermost first
  std::string column_outer;             ///< loop of the root over tiles of columns
  std::string row_inner, column_inner;  ///< loops of the root inside the tile

  void take(const TileAxes& axes) { static_cast<TileAxes&>(*this) = axes; }
};

/// Cuts the longest reduction loop outside the tiles, where the panel of a tile exceeds a cache.
/// Returns the loops over blocks.
std::vector<std::string> block_reduction(Plan& plan, Tile& tile);

/// Whether tiles are visited by blocks, so that a block of each factor stays in a near cache while
/// the reduction runs over it. It is worth the loops where no near cache holds either factor, and
/// the last one not both beside the rest.
bool pays_two_levels(Plan& plan, const Tile& tile);

/// Splits the root's loops into tiles and finds the order of the loops around them.
bool make_tiles(Plan& plan, Tile& tile);

/// Brings a loop that gives every thread work to the front of those around the tile.
void spread_outer(const Plan& plan, Tile& tile);

/// A thread's part of the tiles, around the blocks of a reduction that all tiles of it share.
/// `order`: the loops around the tile; the part goes in front of them.
bool share_tiles(Plan& plan, const Tile& tile, std::vector<std::string>& order);

}  // namespace hone::schedules
