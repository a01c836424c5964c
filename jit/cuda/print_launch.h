// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/print_clusters.h"
#include "jit/cuda/print_copies.h"
#include "jit/cuda/print_threads.h"
#include "jit/cuda/print_tiles.h"
#include "jit/cuda/print_tma.h"
#include "jit/cuda/print_vector.h"

namespace hone::jit {

/// Prints one launch as a kernel: what the launch needs, and statements. Throws ir::Reject.
class LaunchPrinter final : public KernelPart {
 public:
  LaunchPrinter(KernelContext& context, TilePrinter& tiles, ClusterPrinter& clusters,
                TmaPrinter& tma, CopyPrinter& copies, VectorPrinter& vector_printer,
                ThreadPrinter& threads)
      : KernelPart(context),
        tiles_(tiles),
        clusters_(clusters),
        tma_(tma),
        copies_(copies),
        vector_printer_(vector_printer),
        threads_(threads) {}

  std::string print();
  void emit(const ir::Stmt& s, ThreadScope& scope);
  void emit_store(const ir::StoreStmt& s, const std::string& condition = "");
  void emit_serial(const ir::ForStmt& s, ThreadScope& scope);
  int open_loop(const ir::ForStmt& s);

 private:
  void measure(const ir::Stmt& s);
  void check_threads() const;
  void emit_range();
  std::string block_index(ir::Mark mark, int loop, const ir::Expr& extent, const ir::Stmt& body);
  void block_extent(ir::Mark mark, const ir::Expr& extent);
  std::string head();
  std::string kernel_macro() const;
  bool stops_at_bad_data() const;
  std::string declaration(const ir::NestBuffer& b, const std::string& name);
  void place_shared();
  void emit_for(const ir::ForStmt& s, ThreadScope& scope);
  void emit_barrier();
  void emit_prefetch(const ir::PrefetchStmt& s);
  void emit_check(const ir::CheckStmt& s);
  void emit_block(const ir::ForStmt& s, ThreadScope& scope);
  void emit_if(const ir::IfStmt& s, ThreadScope& scope);
  const ir::StoreStmt* speculative(const ir::IfStmt& s) const;
  void emit_choice(const ir::IfStmt& s, const std::string& condition, ThreadScope& scope);

  // print_specialized.cpp: pipes that threads of their own fill
  void emit_specialized();

  TilePrinter& tiles_;
  ClusterPrinter& clusters_;
  TmaPrinter& tma_;
  CopyPrinter& copies_;
  VectorPrinter& vector_printer_;
  ThreadPrinter& threads_;
  int choices_ = 0;  ///< conditions that were given names
  bool checks_ = false;
  bool alone_ = false;  ///< no other block fits a multiprocessor beside one
  std::map<const ir::NestBuffer*, int64_t> dynamic_;  ///< where buffers begin in dynamic memory
};

}  // namespace hone::jit
