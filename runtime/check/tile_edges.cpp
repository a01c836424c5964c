// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/tile_edges.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

namespace hone::runtime {
namespace {

/// Sizes, in steps of `var`, of what the splits of its loops make one iteration of.
std::vector<int64_t> tiles_of(const ir::Stage& stage, const std::string& var) {
  std::map<std::string, int64_t> unit = {{var, 1}};  // per loop derived from it
  std::set<int64_t> tiles;
  for (const ir::Relation& r : stage.relations) {
    const auto parent = unit.find(r.parent);
    if (r.kind != ir::Relation::kSplit || parent == unit.end()) continue;
    const int64_t step = parent->second;
    unit[r.inner] = step;
    unit[r.outer] = step * r.factor;
    tiles.insert(step * r.factor);
  }
  return {tiles.begin(), tiles.end()};
}

}  // namespace

TileEdges tile_edges(const ir::Program& scheduled) {
  TileEdges edges;
  for (const ir::Buffer& b : scheduled.buffers) {
    if (b.role != ir::Role::kOutput && b.role != ir::Role::kInOut) continue;
    edges.emplace_back(b.shape.size());
    const ir::Stage* stage = scheduled.producer(b.name);
    for (size_t d = 0; stage && d < stage->out_index.size() && d < b.shape.size(); ++d) {
      const ir::Expr& index = stage->out_index[d];
      if (index->op == ir::Op::kVar) edges.back()[d] = tiles_of(*stage, index->name);
    }
  }
  return edges;
}

std::vector<int64_t> edge_positions(std::span<const int64_t> shape,
                                    std::span<const std::vector<int64_t>> tiles, int count) {
  std::vector<std::vector<int64_t>> special(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return {};
    std::set<int64_t> at = {0, shape[d] - 1};
    for (const int64_t tile : d < tiles.size() ? tiles[d] : std::vector<int64_t>{}) {
      if (tile >= shape[d]) continue;
      const int64_t last = (shape[d] - 1) / tile * tile;
      at.insert({tile - 1, tile, last - 1, last});
    }
    special[d].assign(at.begin(), at.end());
  }
  std::mt19937_64 random(1);
  std::set<int64_t> found;
  for (int tries = 0; tries < 4 * count && static_cast<int>(found.size()) < count; ++tries) {
    int64_t position = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      position = position * shape[d] + special[d][random() % special[d].size()];
    }
    found.insert(position);
  }
  return {found.begin(), found.end()};
}

}  // namespace hone::runtime
