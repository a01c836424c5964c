// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_size.h"

#include <algorithm>

namespace hone::schedules {
namespace {

constexpr int64_t kMaxVectors = 8;
/// Instructions that a kernel's tiles may come to, rests included.
constexpr int64_t kTileSizeCode = 1400;
/// Cycles until a multiply-add can be added to again, and one that schedulers lose.
constexpr double kLatency = 5;
/// Cycles of a step that nothing overlaps: the loop's end, loads that queue.
constexpr double kStep = 0.5;

/// Rows of a point load that `slide` steps of a tile's rows read.
int64_t rows_read(const TileProblem& p, int64_t rows) {
  return (rows - 1) * p.slide_step + p.slide;
}

int64_t code_size(const TileProblem& p, int64_t rows, int64_t vectors) {
  const int64_t points = rows * vectors;
  return points * (p.copies * (p.body + p.point_loads) + p.epilogue + 2) +
         p.copies * (vectors * p.vector_loads + rows * p.row_loads) + 8;
}

}  // namespace

double tile_cycles(const TileProblem& p, int64_t rows, int64_t vectors) {
  const auto points = static_cast<double>(rows * vectors + p.column_sums * vectors);
  const double loads = static_cast<double>(vectors * p.vector_loads + rows * p.row_loads) +
                       static_cast<double>(vectors * rows_read(p, rows) * p.point_loads) /
                           static_cast<double>(p.slide);
  const double arithmetic = points * p.body + static_cast<double>(p.prepared * (rows + vectors));
  // The loop's own instructions share the front end, which takes about six a cycle.
  const double front = (arithmetic + loads + 3) / 6;
  const double busy = std::max({arithmetic / 2, loads / 2, front});
  // Few steps, all of them copies: those of the next tile overlap with them.
  return p.slide > 1 ? busy : std::max(busy, kLatency) + kStep;
}

int64_t tile_registers(const TileProblem& p, int64_t rows, int64_t vectors) {
  // What slides is held for the rows to come, beside what it is made of; of the rest one at a time.
  constexpr int64_t kParts = 3;
  const int64_t held =
      p.slide > 1 ? vectors * rows_read(p, rows) + kParts : std::min(p.point_loads, 1);
  return rows * vectors + vectors * p.vector_loads + std::max(p.row_loads, 1) + held +
         (p.column_sums ? p.column_sums * vectors + 1 : 0) + std::min(p.prepared, 1);
}

TileSize choose_tile(const TileProblem& p, const ir::Target& target) {
  TileSize best;
  double best_score = 1e30;
  const int64_t column_vectors = std::max<int64_t>((p.columns + p.lanes - 1) / p.lanes, 1);
  for (int64_t vectors = 1; vectors <= std::min(kMaxVectors, column_vectors); ++vectors) {
    for (int64_t rows = 1; rows <= std::min(p.most_rows, std::max<int64_t>(p.rows, 1)); ++rows) {
      const bool smallest = rows == 1 && vectors == 1;
      if (!smallest && tile_registers(p, rows, vectors) > target.vector_registers()) continue;
      const int64_t rest_rows = std::max<int64_t>(p.rows, 1) % rows;
      const int64_t rest_vectors = column_vectors % vectors;
      const bool ragged = p.columns % p.lanes != 0;
      int64_t code = code_size(p, rows, vectors);
      if (rest_rows) code += code_size(p, rest_rows, vectors);
      const bool column_rest = rest_vectors || (ragged && column_vectors > vectors);
      if (column_rest) code += code_size(p, rows, std::max<int64_t>(rest_vectors, 1));
      if (!smallest && code > kTileSizeCode) continue;
      const auto row_tiles = static_cast<double>(std::max<int64_t>(p.rows, 1) / rows);
      const auto column_tiles = static_cast<double>(column_vectors / vectors);
      double cycles = row_tiles * column_tiles * tile_cycles(p, rows, vectors);
      if (rest_rows) cycles += column_tiles * tile_cycles(p, rest_rows, vectors);
      if (rest_vectors) cycles += row_tiles * tile_cycles(p, rows, rest_vectors);
      if (rest_rows && rest_vectors) cycles += tile_cycles(p, rest_rows, rest_vectors);
      // Of equals the one with less code and fewer loads.
      const double score = cycles * (1 + 1e-5 * static_cast<double>(code)) *
                           (1 + 1e-3 * static_cast<double>(vectors + rows));
      if (score < best_score) {
        best_score = score;
        best = {rows, vectors, cycles};
      }
    }
  }
  return best;
}

}  // namespace hone::schedules
