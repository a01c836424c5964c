// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Counts the earlier passes of a place in a launch, as an expression over loops. These are the
/// loops around it that run one iteration after the other in every thread.
class PassCounter {
 public:
  PassCounter(const ir::Nest& nest, const ir::Launch& launch);
  PassCounter(const PassCounter&) = delete;
  PassCounter& operator=(const PassCounter&) = delete;

  /// Enters a loop, or side `side` of a condition.
  void open(const ir::Stmt& s, size_t side = 0);
  void close() { around_.pop_back(); }

  /// How often the place was passed. Rejects, naming `what`, where a condition or a loop's extent
  /// makes that irregular. A loop that ends early, and stays ended, does not.
  ir::Expr number(const std::string& what) const;
  /// The same inside `loop`, at its iteration `k`: number * trips + k - begin.
  ir::Expr number_at(const ir::ForStmt& loop, const ir::Expr& k, const std::string& what) const;

 private:
  struct Around {
    const ir::ForStmt* loop;   ///< null: a condition
    const ir::IfStmt* choice;  ///< null: a loop
    size_t side;
  };
  bool counts(const Around& around) const;
  bool mentions_counted(const ir::Expr& e) const;
  bool ends_for_good(const ir::Expr& condition, int loop) const;

  const ir::Nest& nest_;
  ir::ForStmt range_;  ///< the launch's range, where it is a loop of the kernel
  std::vector<Around> around_;
};

}  // namespace hone::jit
