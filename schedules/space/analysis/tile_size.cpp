// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_size.h"

#include <algorithm>
#include <bit>

#include "schedules/model/model.h"

namespace hone::schedules {
namespace {

/// Vectors of a tile's row at most, and of a tile that is one row and does little.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMaxVectors = 8, kMaxAlone = 16;
/// Instructions that a kernel's tiles may come to, rests included.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kTileSizeCode = 1400;
/// The same where all tiles of a row are unrolled, so that lanes know what they read.
/// Tuned on: Zen 5 (AVX2): 265 tiles are 25 times faster so.
constexpr int64_t kUnrolledCode = 16000;
/// Tiles of columns that may be unrolled, since steps of the reduction are unrolled inside as well.
/// Chosen: eight steps of a small tile are what selection takes (not measured).
constexpr int64_t kMostUnrolledTiles = 48;
/// Cycles that schedulers lose beyond the latency of a multiply-add.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kLostCycles = 1;
/// What an instruction of code, and a row or vector of the tile, add to the score; between equals
/// they decide.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kCodeWeight = 1e-5, kSizeWeight = 1e-3;
/// Cycles of a step that nothing overlaps: the loop's end, loads that queue.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kStep = 0.5;

/// Shuffles of a vector whose lanes know what they read.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kShuffles = 2;

/// Instructions that take the place of an element out of a lane, and put the element into one.
/// Tuned on: Zen 5 (AVX2): a vector of 8 took 12 cycles more than where lanes knew their places.
constexpr int64_t kTakenOut = 2;

/// Instructions that a quotient takes which a row does not know, with what depends on it.
/// Tuned on: an Intel server (AVX-512), transposed convolutions.
constexpr double kQuotientOfRow = 6;

/// Rows of a point load that `slide` steps of a tile's rows read.
int64_t rows_read(const TileProblem& p, int64_t rows) {
  return (rows - 1) * p.slide_step + p.slide;
}

/// Whether each lane of a tile is one column always: what columns alone decide is known then.
bool lanes_are_columns(const TileProblem& p, int64_t vectors) {
  return p.lanes_known || vectors * p.lanes >= p.columns;
}

/// Whether each lane of a tile has the same quotients always, up to what all of them have.
bool lanes_repeat(const TileProblem& p, int64_t vectors) {
  const bool whole = p.lanes_repeat > 0 && vectors * p.lanes % p.lanes_repeat == 0;
  return whole || lanes_are_columns(p, vectors);
}

/// Whether each row of a tile has the same quotients always, up to what all of them have.
bool rows_repeat(const TileProblem& p, int64_t rows) {
  return rows == p.rows || (p.rows_repeat > 0 && rows % p.rows_repeat == 0);
}

/// Loads of column vectors. What rows read at places of their own is read for each.
int64_t loads_of_vectors(const TileProblem& p, int64_t rows, int64_t vectors) {
  const int64_t lanes = lanes_are_columns(p, vectors) ? kShuffles : p.lanes;
  const int64_t again = lanes_repeat(p, vectors) ? kShuffles : p.lanes;
  const int64_t each = p.point_loads > 0 ? rows : 1;
  return vectors * (p.vector_loads + p.gathers * p.lanes +
                    each * (p.placed * p.lanes + p.quotients * lanes + p.shuffled * again));
}

int64_t code_size(const TileProblem& p, int64_t rows, int64_t vectors) {
  const int64_t points = rows * vectors;
  return points * (p.copies * (std::max(p.body, p.code) + p.point_loads) + p.epilogue + 2) +
         p.copies * (loads_of_vectors(p, rows, vectors) + rows * p.row_loads) + 8;
}

}  // namespace

ColumnRest column_rest(const TileProblem& p, const ir::Machine& machine, int64_t vectors) {
  const int64_t wide = vectors * p.lanes, rest = p.columns % wide;
  if (rest == 0) return {};
  if (machine.masks_lanes) return {(rest + p.lanes - 1) / p.lanes, false};
  const int64_t pieces = rest / p.lanes + std::popcount(static_cast<uint64_t>(rest % p.lanes));
  if (p.overlaps && p.columns > wide && pieces > vectors) return {vectors, true};
  return {pieces, false};
}

double tile_cycles(const TileProblem& p, const ir::Machine& machine, int64_t rows,
                   int64_t vectors) {
  const auto points = static_cast<double>(rows * vectors + p.column_sums * vectors);
  const double loads =
      static_cast<double>(loads_of_vectors(p, rows, vectors) + rows * p.row_loads) +
      static_cast<double>(vectors * rows_read(p, rows) * p.point_loads) /
          static_cast<double>(p.slide);
  // What no lane knows is computed, and taken out of a vector lane by lane.
  const int64_t taken_out = kTakenOut * p.placed * p.lanes * (p.point_loads > 0 ? rows : 1);
  const double quotients = lanes_repeat(p, vectors) ? 0
                                                    : kQuotientOfLanes * p.lane_quotients +
                                                          static_cast<double>(taken_out);
  const double of_rows =
      rows_repeat(p, rows) ? 0 : kQuotientOfRow * static_cast<double>(rows * p.row_quotients);
  const double arithmetic =
      points * p.body + of_rows + static_cast<double>(p.prepared * (rows + vectors)) +
      static_cast<double>(vectors) * (static_cast<double>(p.column_body) + quotients);
  // A vector across two lines is loaded twice.
  const double twice = static_cast<double>(vectors * p.odd_loads * machine.vector_bytes) /
                       static_cast<double>(machine.line_bytes);
  // The loop's own instructions, about three, share the front end.
  const double front = (arithmetic + loads + 3) / machine.issue_width;
  const double computing = std::max(
      {arithmetic / machine.arithmetic_ports, (loads + twice) / machine.load_ports, front});
  // A panel that its cache does not hold comes from the next one for every tile.
  const bool far = vectors * p.panel_bytes > machine.l2 / 2;
  const double moved = static_cast<double>(vectors * p.vector_loads * machine.vector_bytes);
  const double busy = std::max(computing, far ? moved / machine.memory_bytes : 0);
  const double latency = machine.multiply_add_latency + kLostCycles;
  // Few steps, all of them copies: those of the next tile overlap with them.
  return p.slide > 1 || p.overlap_steps ? busy : std::max(busy, latency) + kStep;
}

int64_t tile_registers(const TileProblem& p, int64_t rows, int64_t vectors) {
  // Values that slide are held for later rows, beside their operands; others one at a time.
  constexpr int64_t kParts = 3;  // Fixed by: two operands and a result.
  const int64_t held =
      p.slide > 1 ? vectors * rows_read(p, rows) + kParts : std::min(p.point_loads, 1);
  // What one row alone reads is used at once.
  const int64_t shared = rows > 1 ? vectors * p.vector_loads : p.vector_loads;
  // Of each vector the indices, which are of 64 bits, and what is gathered.
  const int64_t lane_by_lane = p.gathers + p.placed;
  const int64_t indices = lane_by_lane ? 2 * lane_by_lane * vectors + 1 : 0;
  return rows * vectors + shared + vectors * (p.kept_loads + rows * p.kept_by_rows) +
         std::max(p.row_loads, 1) + held + indices +
         (p.column_sums ? p.column_sums * vectors + 1 : 0) + std::min(p.prepared, 1);
}

namespace {

/// Looks for the cheapest tile.
class TileChoice {
 public:
  explicit TileChoice(const ir::Machine& machine) : machine_(machine) {}

  /// All sizes of tiles of `p`; `unrolled`: as many copies of the code as there are tiles of a row.
  void consider(const TileProblem& p, bool unrolled) {
    const int64_t column_vectors = std::max<int64_t>((p.columns + p.lanes - 1) / p.lanes, 1);
    const bool alone = p.rows <= 1 && p.epilogue == 0 && p.body <= 1;
    const int64_t most_vectors =
        std::min({alone ? kMaxAlone : kMaxVectors, p.most_vectors, column_vectors});
    for (int64_t vectors = 1; vectors <= most_vectors; ++vectors) {
      for (int64_t rows = 1; rows <= std::min(p.most_rows, std::max<int64_t>(p.rows, 1)); ++rows) {
        consider(p, rows, vectors, unrolled);
      }
    }
  }

  const TileSize& best() const { return best_; }

 private:
  void consider(const TileProblem& p, int64_t rows, int64_t vectors, bool unrolled) {
    const bool smallest = rows == 1 && vectors == 1 && !unrolled;
    const ColumnRest rest = column_rest(p, machine_, vectors);
    const int64_t widest = std::max(vectors, rest.vectors);
    if (!smallest && tile_registers(p, rows, widest) > machine_.vector_registers) return;
    const bool together = p.steps_together > 1;
    if (!smallest && together && rows * vectors * p.steps_together > kMostUnrolled) return;
    const int64_t rest_rows = std::max<int64_t>(p.rows, 1) % rows;
    const int64_t all_rows = std::max<int64_t>(p.rows, 1) / rows;
    const int64_t all_columns = p.columns / (vectors * p.lanes);
    int64_t code = code_size(p, rows, vectors);
    if (rest_rows) code += code_size(p, rest_rows, vectors);
    if (unrolled) code *= all_columns;
    const bool apart = rest.vectors != 0 && p.columns > vectors * p.lanes && !rest.overlaps;
    if (apart) code += code_size(p, rows, rest.vectors);
    if (unrolled && (all_columns > kMostUnrolledTiles || code > kUnrolledCode)) return;
    if (!unrolled && !smallest && code > kTileSizeCode) return;
    const auto row_tiles = static_cast<double>(all_rows);
    const auto column_tiles = static_cast<double>(all_columns);
    double cycles = row_tiles * column_tiles * tile_cycles(p, machine_, rows, vectors);
    if (rest_rows) cycles += column_tiles * tile_cycles(p, machine_, rest_rows, vectors);
    if (rest.vectors) cycles += row_tiles * tile_cycles(p, machine_, rows, rest.vectors);
    if (rest_rows && rest.vectors) cycles += tile_cycles(p, machine_, rest_rows, rest.vectors);
    // Of equals the one with less code and fewer loads.
    const double score = cycles * (1 + kCodeWeight * static_cast<double>(code)) *
                         (1 + kSizeWeight * static_cast<double>(vectors + rows));
    if (score >= score_) return;
    score_ = score;
    best_ = {rows, vectors, cycles, unrolled};
  }

  const ir::Machine& machine_;
  TileSize best_;
  double score_ = 1e30;
};

}  // namespace

TileSize choose_tile(const TileProblem& problem, const ir::Machine& machine) {
  TileChoice choice(machine);
  choice.consider(problem, false);
  const bool repeats = lanes_repeat(problem, choice.best().vectors);
  if (problem.unrolls && problem.lane_quotients > 0 && !repeats) {
    TileProblem known = problem;
    known.lanes_repeat = 1;
    known.lanes_known = true;
    choice.consider(known, true);
  }
  return choice.best();
}

}  // namespace hone::schedules
