// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "jit/x86/select/gathers.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Requirements of the body of a vector loop.
struct Survey {
  int bytes = 0;               ///< of the largest lane
  int lanes = 1;               ///< that fit a vector; 1 where lanes cannot do it
  bool unfit = false;          ///< must run one by one
  bool scattered = false;      ///< elements that do not lie together
  bool unmaskable = false;     ///< some of them such that no mask picks lanes
  bool sums = false;           ///< reductions over the lanes
  bool inner_loops = false;    ///< loops that run
  bool lane_branches = false;  ///< branches that differ between lanes
  bool indexed = false;        ///< integers from memory that steer: indices, conditions
};

/// Finds out how many lanes the bodies of vector loops can have, and whether they can at all.
class Surveys final : public SelectionPart {
 public:
  Surveys(Context& context, Indices& indices, Gathers& gathers)
      : SelectionPart(context),
        indices_(indices),
        gathers_(gathers),
        tile_bytes_(context.nest.buffers.size()) {
    agree_on_lanes(*context.launch.body);
  }

  const Survey& of(const ir::ForStmt& loop);
  /// Register tiles whose elements the iterations of `loop` store to or read.
  std::vector<int> tiles_along(const ir::ForStmt& loop) const;

 private:
  void collect(const ir::Stmt& s, int variable, Survey& out) const;
  /// Gives tiles of narrow elements one number of lanes. It is the number of the widest loop that
  /// stores to the tile. Otherwise the registers made at its start would not be those that its
  /// steps need, and each element would move on its own.
  void agree_on_lanes(const ir::Stmt& s);
  /// Bytes of the largest lane that computing `e` needs. Index integers need none where they are
  /// the same in all lanes, or are only compared with the lane's number.
  int lane_bytes(const ir::Expr& e, int variable) const;
  /// The same of what lanes compute to look up a table in registers.
  int position_bytes(const ir::Expr& index) const;

  Indices& indices_;
  Gathers& gathers_;
  std::unordered_map<const ir::Stmt*, Survey> surveys_;
  std::vector<int> tile_bytes_;  ///< by buffer: of a lane of the loops that store to the tile
};

}  // namespace hone::jit
