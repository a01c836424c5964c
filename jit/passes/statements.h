// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Buffers that statements read and write.
struct Uses {
  std::set<int> read, written;

  /// Adds what `s` and all inside it touch.
  void add(const ir::Stmt& s);
  bool touches(int buffer) const { return read.contains(buffer) || written.contains(buffer); }
};

/// Whether two sets have an element in common.
bool meet(const std::set<int>& a, const std::set<int>& b);

}  // namespace hone::jit
