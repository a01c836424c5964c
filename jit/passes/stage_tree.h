// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/ir/program.h"

namespace hone::jit {

/// Which stages are computed inside the loops of others, and which buffers they read; looked up
/// once for a program.
class StageTree {
 public:
  explicit StageTree(const ir::Program& program);

  /// Whether stage `s` is emitted inside the loop that `place` names.
  bool is_inside(size_t s, const ir::Place& place) const;
  /// The stages whose evaluation loads from `buffer`, in the program's order.
  const std::vector<size_t>& readers(const std::string& buffer) const;

 private:
  static constexpr size_t kRoot = static_cast<size_t>(-1);

  const ir::Program& program_;
  std::vector<size_t> owner_;  ///< per stage: the one in whose loop it stands, or kRoot
  std::vector<size_t> depth_;  ///< per stage: of that loop
  std::unordered_map<std::string, std::vector<size_t>> readers_;
};

/// Calls f on every load that evaluating the stage performs.
template <class F>
void each_load(const ir::Stage& s, const F& f) {
  const auto look = [&](const ir::Expr& root) {
    visit(root, [&](const ir::Expr& e) {
      if (e->op == ir::Op::kLoad) f(e);
    });
  };
  look(s.value);
  look(s.where);
  for (const ir::IndexVar& v : s.rvars) {
    look(v.lo);
    look(v.hi);
  }
}

}  // namespace hone::jit
