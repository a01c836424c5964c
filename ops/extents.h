// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ops/lowering_context.h"

namespace hone::ops {

/// Finds the extents of intermediates that nothing they read bounds: as far as readers need.
class Extents {
 public:
  explicit Extents(LoweringContext& c) : c_(c) {}
  /// The least extent that holds all that later statements read of dim `dim` of `statement`.
  /// Null where none of them says, or where one looks the index up in data.
  ir::Expr needed_by_readers(size_t statement, size_t dim);

 private:
  /// The extent of a dim of a tensor: null where it is not known.
  struct Extent {
    ir::Expr e;
    bool inferred = false;  ///< readers decide it
  };
  /// A read in a statement, and the reductions around it.
  struct Site {
    size_t statement = 0;
    const Term* access = nullptr;
    std::vector<const Term*> inside;
  };

  void find_sites();
  void find_sites(const Term& t, size_t statement, std::vector<const Term*>& inside);
  ir::Expr index_ahead(const Term& t) const;
  Extent extent_ahead(const std::string& tensor, size_t dim);
  ir::Expr used_extent(size_t statement, const Term* reduction, const std::string& index);
  ir::Expr limited_by(const Term& t, const std::string& index, ir::Expr extent) const;
  std::vector<Interval> ranges_ahead(const Site& site);
  ir::Expr needed_extent(size_t statement, size_t dim);

  LoweringContext& c_;
  std::vector<Site> sites_;  ///< reads of all statements, once some extent is asked of readers
  std::map<std::pair<size_t, size_t>, Extent> ahead_;  ///< foreseen, per statement and dim
  int looks_ = 0;                                      ///< at sites, so far
};

}  // namespace hone::ops
