// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Correction of dot products on signed bytes. Moving an operand by 128 makes it unsigned, and adds
/// an excess to the running value.
class DotExcess final : public SelectionPart {
 public:
  DotExcess(Context& context, Vectors& vectors) : SelectionPart(context), vectors_(vectors) {}

  /// True when the excess of the sums in the loop `s`, the outermost such, may be kept until it
  /// ends. Sums that share one must be equally long: no loop inside runs further for some of them
  /// than for others.
  bool may_keep(const ir::Stmt& s) const;
  /// 128 in every byte. Inside loops of a reduction one register keeps it: as an operand from
  /// memory it would be loaded for every row.
  Reg bytes_of_128();
  /// Tells that the scope around the loops of a reduction was opened.
  void begin() { excess_depth_ = code_.depth(); }
  /// Adds the excess of a product to a sum of its own. The product has `w` bytes and is made by
  /// `op`. False where the excess must be taken off at once.
  bool keep(Reg dest, const std::array<Reg, 2>& correction, X86 op, int w);
  /// After the loops of the reduction: running values become what they should be.
  void take_off();

 private:
  /// The excess of sums, kept apart while the loops of the reduction run. One serves all rows that
  /// see the same operands in the same order.
  struct Excess {
    struct Link {
      std::array<Reg, 2> operands;
      int64_t scope;
      bool operator==(const Link&) const = default;
    };
    std::vector<Link> chain;
    Reg total;
  };
  /// A running value whose excess is kept apart, and how much of the chain it has seen.
  struct Exceeding {
    Reg value;
    int excess = -1;
    size_t seen = 0;
  };

  /// True when all that `s` stores are running values in registers, of dot products that move an
  /// operand.
  bool only_moved_dots(const ir::Stmt& s) const;
  void grow(Excess& excess, const Excess::Link& link, X86 op, int w);

  Vectors& vectors_;
  std::vector<Excess> excesses_;
  std::vector<Exceeding> exceeding_;
  Reg bias_;               ///< 128 in every byte, while that scope is open
  int excess_depth_ = -1;  ///< scope around the loops of the reduction; -1: none is open
};

}  // namespace hone::jit
