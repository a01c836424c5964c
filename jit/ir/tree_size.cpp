// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/tree_size.h"

#include <algorithm>
#include <unordered_map>

namespace hone::ir {
namespace {

/// Chosen: far beyond all limits on sizes (not measured).
constexpr uint64_t kEndless = uint64_t{1} << 40;  // larger is as good as endless

uint64_t written_out(const Expr& e, std::unordered_map<const Node*, uint64_t>& known) {
  if (e->args.empty()) return 1;
  const auto at = known.find(e.get());
  if (at != known.end()) return at->second;
  uint64_t size = 1;
  for (const Expr& a : e->args) size = std::min(kEndless, size + written_out(a, known));
  known.emplace(e.get(), size);
  return size;
}

}  // namespace

uint64_t tree_size(const Expr& e) {
  std::unordered_map<const Node*, uint64_t> known;
  return e ? written_out(e, known) : 0;
}

int tree_size_up_to(const Expr& e, int most) {
  if (!e || most <= 0) return 0;
  int size = 1;
  for (const Expr& a : e->args) size += tree_size_up_to(a, most - size);
  return size;
}

}  // namespace hone::ir
