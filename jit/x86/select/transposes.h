// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "jit/x86/select/part.h"

namespace hone::jit {

/// Register tiles read along the other axis than they were written. Blocks of N x N elements go
/// through one network of shuffles, emitted once until the tile changes.
class Transposes final : public SelectionPart {
 public:
  explicit Transposes(Context& context) : SelectionPart(context) {}

  /// Rows of a tile: as many groups from element `first` on, `stride` elements apart.
  struct Block {
    int buffer;
    int64_t first;
    int64_t stride;
    int rows;
    bool operator==(const Block&) const = default;
  };
  /// The columns of a block transposed before in this scope; null where it was not.
  const std::vector<Reg>* find(const Block& block) const;
  /// Transposes a block, given its rows.
  const std::vector<Reg>& keep(const Block& block, std::vector<Reg> rows, int size, int width);
  /// Tells that the buffer was written.
  void forget(int buffer);

 private:
  struct Transposed {
    Block block;
    int64_t scope;
    std::vector<Reg> columns;
  };

  /// Rows to columns: column c holds element c of each row. As many rows as a row has elements.
  /// Stage by stage, in pairs, so that hardly more registers are live than there are rows.
  std::vector<Reg> transpose(std::vector<Reg> rows, int size, int width);
  void exchange_halves(Reg a, Reg b, Reg& low, Reg& high);
  void exchange_quarters(const std::array<Reg, 4>& in, const std::array<Reg*, 4>& out);

  std::vector<Transposed> transposed_;
};

}  // namespace hone::jit
