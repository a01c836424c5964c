// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "jit/ir/reject.h"

namespace hone::ir {

/// Stages that read one another in a circle. The last of them leads: the others are computed in its
/// loops, one step of a recurrence after the other. Indices of one name are one index to them.
struct Group {
  std::vector<size_t> stages;  ///< in the program's order
  size_t leader() const { return stages.back(); }
};

/// A read that a stage of a group makes of what one of the group writes.
struct GroupRead {
  size_t reader = 0;
  size_t writer = 0;
  Expr load;
  /// Per var of the leader, in iterations of its loop: how far from the iteration that reads is the
  /// one that writes. Negative is earlier; nothing where it is not known.
  std::vector<std::optional<int64_t>> distance;
};

/// In which order the indices of a group run.
struct GroupOrder {
  struct Shared {
    std::string var;
    bool backward = false;
  };
  std::vector<Shared> shared;  ///< the outermost first
  std::vector<size_t> depth;   ///< per stage of the group: in how many of these loops it stands
  /// Vars of the leader along which no read differs, at each of whose values a chain is on its own.
  std::vector<std::string> chains;
};

/// The groups of a program, and what their stages read of one another.
class Groups {
 public:
  /// Of a program that outlives it.
  explicit Groups(const Program& program);

  bool none() const { return groups_.empty(); }
  const std::vector<Group>& all() const { return groups_; }
  /// The group of a stage, by its number; null where it is in none.
  const Group* of(size_t stage) const;
  /// True where both are in one group.
  bool together(size_t a, size_t b) const;
  /// All reads inside a group.
  std::vector<GroupRead> reads(const Group& group) const;
  /// Whether `load`, which stage `reader` performs, is of an element that an earlier iteration of
  /// the group's loops wrote.
  bool carried(size_t reader, const Expr& load) const;
  /// Whether some stage of its group reads what this stage wrote in an earlier iteration.
  bool is_carried(size_t stage) const;

  /// An order in which each element is written before it is read, or a read that has none. It is
  /// found anew, whatever the loops are.
  Result<GroupOrder, GroupRead> order(const Group& group) const;
  /// Why the loops of the groups may read an element before they write it. Nothing where each read
  /// is proved to come after its write.
  std::optional<Reject> broken() const;

 private:
  GroupRead read(const Group& group, size_t reader, size_t writer, const Expr& load) const;
  std::optional<Reject> broken(const Group& group, const GroupRead& read) const;
  std::optional<Reject> torn_apart(const Group& group) const;
  size_t depth_of(const Group& group, size_t stage) const;

  const Program& program_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;  ///< per stage; -1: in none. Empty without groups
};

/// Gives the groups of a new program their loops: those of leaders run in order, and the other
/// stages stand in them. Readers of a group come after it, and so do those of a statement that the
/// circle left: where its read never happens. Where there is no order: a read that is left over.
std::optional<GroupRead> form_groups(Program& program);

}  // namespace hone::ir
