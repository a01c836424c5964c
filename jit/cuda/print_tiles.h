// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/cuda/kernel_part.h"
#include "jit/ir/instructions.h"

namespace hone::jit {

/// The loops that are one instruction on tiles, over rows, columns and the sum, and what is inside.
struct TileStmts {
  const ir::Instruction* row = nullptr;
  std::vector<int> loops;
  int64_t columns = 0;                   ///< of results
  const ir::StoreStmt* store = nullptr;  ///< adds a product, or gives the tile its first value
  ir::Expr a, b;                         ///< loads of a product's factors
};

/// Tiles in the registers of a warp or a warpgroup, and the instructions on them.
class TilePrinter final : public KernelPart {
 public:
  explicit TilePrinter(KernelContext& context) : KernelPart(context) {}

  // print_warp.cpp
  void check_warps() const;
  int64_t registers_of(const ir::NestBuffer& b) const;
  void keep_registers(int buffer);
  int64_t held_registers() const;
  bool numbers_registers(const ir::ForStmt& loop) const;
  void emit_tiles(const ir::ForStmt& s);

  // print_wgmma.cpp: products of a warpgroup, on tiles in shared memory
  void measure_wgmma();
  bool starts_wgmma(const ir::ForStmt& loop) const;
  void emit_fence(const ir::WgmmaFenceStmt& s);
  void emit_wait(const ir::WgmmaWaitStmt& s);
  /// Products read what the block's threads put into shared memory.
  bool shows_stores() const { return shows_stores_; }

  // print_matrices.cpp: tiles filled from shared memory
  bool emit_matrices(const ir::ForStmt& s);

 private:
  std::string first_register(const TileStmts& tiles, int buffer, const ir::Expr& offset,
                             ir::Operand operand);
  void emit_wgmma(const TileStmts& tiles);
  std::string descriptor(const TileStmts& tiles, ir::Operand operand, bool& transposed);

  bool shows_stores_ = false;
};

}  // namespace hone::jit
