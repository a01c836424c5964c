// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Values of a nest's loops while it is walked, and of its dims.
class NestValues {
 public:
  NestValues(const ir::Nest& nest, std::span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()), loops_(nest.loops.size()) {}

  void set(int loop, int64_t value) { loops_[static_cast<size_t>(loop)] = value; }
  int64_t at(int loop) const { return loops_[static_cast<size_t>(loop)]; }
  /// The value of an integer or bool expression; nothing where data decide.
  std::optional<int64_t> eval(const ir::Expr& e) const { return eval(e, false); }
  /// The same with 0 for what data decide.
  int64_t eval_without_data(const ir::Expr& e) const { return eval(e, true).value_or(0); }

 private:
  std::optional<int64_t> eval(const ir::Expr& e, bool zero_data) const;

  std::vector<int64_t> dims_, loops_;
};

/// Iterations of a loop whose end data decide, by assumption.
/// Chosen: a moderate size where nothing is known (not measured).
inline constexpr int64_t kTripsFromData = 16;

/// First value and number of iterations of a loop.
struct Trips {
  int64_t begin = 0, count = 0;
  bool data = false;  ///< data decide
};
Trips trips_of(const ir::ForStmt& loop, const NestValues& values);

}  // namespace hone::jit
