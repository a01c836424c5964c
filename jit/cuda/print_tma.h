// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/print_clusters.h"

namespace hone::jit {

/// TMA copies, and the pipes (ring buffers and mbarriers) that they fill.
class TmaPrinter final : public KernelPart {
 public:
  TmaPrinter(KernelContext& context, ClusterPrinter& clusters)
      : KernelPart(context), clusters_(clusters) {}

  bool fills_apart(const ir::Stmt& s) const;
  void emit_fill(const ir::FillStmt& s);
  void emit_ready(const ir::ReadyStmt& s);
  void emit_release(const ir::ReleaseStmt& s);
  void emit_tma_copy(const ir::TmaCopyStmt& s);
  /// True when pipes are filled.
  bool any() const { return !pipes_.empty(); }
  /// Bytes of the mbarriers in shared memory.
  int64_t barrier_bytes() const;
  /// Tells where the mbarriers begin in dynamic memory.
  void place_barriers(int64_t at) { barriers_at_ = at; }
  std::string declare_pipes() const;

 private:
  std::string first_thread() const;
  std::string barrier_of(int pipe, const ir::Expr& position, const char* of);
  std::string parity_of(int pipe, const ir::Expr& position, int64_t ahead);
  int number_of_map(int map);

  ClusterPrinter& clusters_;
  int fills_ = 0;             ///< fills of pipes that were printed
  std::string filled_;        ///< the mbarrier that the copies inside a fill count for
  std::set<int> pipes_;       ///< that are filled
  int64_t barriers_at_ = -1;  ///< -1: not in dynamic memory
  std::map<int, int> maps_;   ///< numbers in CudaLaunch::maps
};

}  // namespace hone::jit
