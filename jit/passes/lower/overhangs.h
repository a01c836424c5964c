// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/passes/lower/part.h"

namespace hone::jit {

/// A variable that loops of tail=pad run past the end of, up to a multiple of `unit` values.
struct Overhang {
  std::string var;
  int64_t unit = 0;
};

/// `tail=pad`: the loops that run beyond the domain of their variable. Copies find 0 there, results
/// are not stored.
class Overhangs final : public LoweringPart {
 public:
  explicit Overhangs(LoweringContext& context) : LoweringPart(context) {}

  /// Finds the variables that run beyond their domain: those of padded splits, and those that
  /// readers inside the same loops index with such variables.
  void find();
  bool has(const ir::Stage& stage, const std::string& var) const;
  /// True for a copy in a loop that runs beyond the copied data: it finds 0 there.
  bool fills(const ir::Stage& stage) const;
  /// Rejects sums that padding would change. Beyond the domain of a reduced variable only products
  /// of zeros may be added: both factors are copies that end where the variable does.
  void check_sum(const ir::Stage& stage) const;

 private:
  const std::vector<Overhang>& of(const ir::Stage& stage) const;

  std::vector<std::vector<Overhang>> overhangs_;  ///< per stage
};

}  // namespace hone::jit
