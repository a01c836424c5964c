// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/machine.h"

namespace hone::schedules {

/// Rows of a tile at most; what its knob offers.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr int64_t kMostTileRows = 14;

/// Steps of a loop of the reduction that is unrolled whole where lanes know by that what they read.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr int64_t kFewPlaces = 8;

/// Points of a tile, times steps of its reduction, that are all unrolled.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr int64_t kMostUnrolled = 96;

/// What the choice of a register tile depends on.
struct TileProblem {
  int64_t rows = 1;     ///< extent of the tile's other axis; 1: there is none
  int64_t columns = 1;  ///< extent of the vector axis
  int lanes = 1;
  int64_t most_rows =
      kMostTileRows;  ///< rows further apart than a cache's sets fall on top of each other
  int64_t most_vectors = INT64_MAX;  ///< that what reads the tile holds in registers in turn
  int vector_loads = 1;              ///< tensors read as vectors, each once a column vector
  int odd_loads = 0;       ///< of these, those whose rows begin anywhere: vectors lie across lines
  int kept_loads = 0;      ///< vectors held for several steps, one a column vector
  int kept_by_rows = 0;    ///< the same of what each row reads for itself
  int row_loads = 1;       ///< tensors broadcast, each once a row
  int point_loads = 0;     ///< tensors read at every point of the tile
  int gathers = 0;         ///< tensors read lane by lane, where data choose
  int placed = 0;          ///< the same at indices that are known where each lane is a column
  int lane_quotients = 0;  ///< quotients and remainders that each lane has one of
  int64_t lanes_repeat = 1;  ///< columns after which these are as at the first; 0: never
  int row_quotients = 0;     ///< quotients and remainders that each row has one of
  int64_t rows_repeat = 1;   ///< rows after which these are as at the first; 0: never
  int quotients = 0;         ///< tensors read lane by lane, too, unless all columns are in the tile
  int shuffled = 0;          ///< the same, unless lanes have the same quotients always
  int column_sums = 0;       ///< further running values, each one of a column vector
  int prepared = 0;          ///< arithmetic on what is loaded, before a point takes it
  /// Extent of a reduction loop along which neighbouring rows overlap, as in a convolution. A row
  /// lies `slide_step` of its steps from the next. Elements that rows share stay in registers.
  int64_t slide = 1;
  int64_t slide_step = 1;
  bool lanes_known = false;  ///< as they are where each lane of a tile is one column always
  bool unrolls = false;      ///< loops over tiles of columns may be unrolled: then lanes are known
  int64_t steps_together = 1;  ///< that share vectors which are held: they are unrolled
  /// Steps are few copies, as of `slide`: none waits for the one before.
  bool overlap_steps = false;
  int64_t panel_bytes = 0;  ///< of what a column vector reads, which tiles below read again
  int64_t copies = 1;       ///< of the body: steps of the reduction that are unrolled
  int column_body = 0;      ///< arithmetic on a column vector that all rows share
  int body = 1;             ///< arithmetic of a point of the reduction
  int code = 1;             ///< instructions of such a point, choices that are made once included
  int epilogue = 1;         ///< arithmetic of a point after it
  bool overlaps = false;    ///< the last tile of a row may reach back into the one before
};

/// A register tile: `rows` times `vectors` accumulators, and what one pass over all tiles costs.
struct TileSize {
  int64_t rows = 1;
  int64_t vectors = 1;
  double cycles = 0;      ///< of one step of the reduction over the whole domain
  bool unrolled = false;  ///< all tiles of columns, so that lanes know their quotients
};

/// The cheapest tile: accumulators in registers, arithmetic and loads in balance, little waste in
/// the rest of either axis, code within limits.
TileSize choose_tile(const TileProblem& problem, const ir::Machine& machine);

/// Vectors of the columns that whole tiles of `vectors` leave over, and whether a tile that reaches
/// back takes their place. Lanes that cannot be masked go by powers of two.
struct ColumnRest {
  int64_t vectors = 0;
  bool overlaps = false;
};
ColumnRest column_rest(const TileProblem& problem, const ir::Machine& machine, int64_t vectors);

/// Cycles of one step of the reduction for a tile.
double tile_cycles(const TileProblem& problem, const ir::Machine& machine, int64_t rows,
                   int64_t vectors);

/// Vector registers that a tile needs.
int64_t tile_registers(const TileProblem& problem, int64_t rows, int64_t vectors);

}  // namespace hone::schedules
