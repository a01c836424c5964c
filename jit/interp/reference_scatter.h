// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jit/interp/reference_state.h"
#include "jit/ir/scatter.h"

namespace hone::jit {

/// The terms of a stage by the element that they go to, where they tell it. Found once, so that an
/// element looks at its own terms and not at all of them.
class ScatteredTerms {
 public:
  /// The first value of a variable and the one behind its last, by those before it in `env`;
  /// nothing where that depends on bad data.
  using RangeOf =
      std::function<std::optional<std::pair<int64_t, int64_t>>(int slot, const int64_t* env)>;

  /// `names`: index variables, then reduction variables. One that scatters nothing is of no use.
  ScatteredTerms(RefState& state, int stage, std::vector<std::string> names, RangeOf range_of);

  /// Whether the stage scatters.
  bool any() const { return !scattered_.empty(); }
  /// Whether elements have terms of their own: true where no bad data hides where a term goes.
  bool known();
  /// Whether an index variable decides which terms an element has.
  bool decides(int slot) const;
  /// The reduction variables of each term of the element at the index variables in `env`, in order.
  std::span<const int64_t> of(const int64_t* env) const;

 private:
  void find();
  void over(size_t k);
  void over_last(RefTape& to);
  int64_t place(int64_t key, size_t variable, int64_t value) const;

  RefState& state_;
  const int stage_;
  const std::vector<std::string> names_;
  const RangeOf range_of_;
  std::vector<ir::ScatteredVar> scattered_;
  std::vector<int> given_;       ///< index variables on which it depends where terms go
  std::vector<int64_t> extent_;  ///< of the scattered variables, then of the given ones
  std::vector<int> loops_;       ///< the given variables, then the reduced ones but the last
  std::vector<int64_t> env_;
  std::optional<bool> known_;
  RefTape to_;
  std::unordered_map<int64_t, std::vector<int64_t>> terms_;
};

}  // namespace hone::jit
