// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/syntax.h"

namespace hone::ops {

/// Statements that read one another in a circle: all of a group go on step by step, together.
class StatementGroups {
 public:
  explicit StatementGroups(const Definition& d);

  /// The statements of the group that `statement` is in, in order; none where it is in none.
  std::vector<size_t> of(size_t statement) const;
  /// Whether a statement of its group reads it that is no later one, as may itself.
  bool is_read_ahead(size_t statement) const;
  /// Whether both are statements of one group.
  bool together(std::string_view a, std::string_view b) const;
  /// Names of statements from `from` to `to`, where each reads the next; none where there is no
  /// such way.
  std::vector<std::string> way(std::string_view from, std::string_view to) const;

 private:
  bool reaches(size_t from, size_t to) const;
  bool reads(size_t from, size_t to) const { return reads_[from * count_ + to] != 0; }
  size_t numbered(std::string_view name) const;

  const Definition& d_;
  size_t count_ = 0;
  std::vector<uint8_t> reads_;    ///< of each statement each; empty: none reads ahead
  std::vector<uint8_t> reaches_;  ///< the same, by way of others as well
};

/// Does a term read `tensor`, and where `reduced`, does a reduction in it?
bool reads_tensor(const Term& t, std::string_view tensor, bool reduced = false);

}  // namespace hone::ops
