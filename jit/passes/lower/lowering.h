// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/binding_time.h"
#include "jit/passes/lower/buffer_allocation.h"
#include "jit/passes/lower/data_checks.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/overhangs.h"
#include "jit/passes/lower/part.h"
#include "jit/passes/lower/partition.h"
#include "jit/passes/lower/prefetches.h"
#include "jit/passes/lower/store_lines.h"
#include "jit/passes/lower/tails.h"
#include "jit/passes/lower/thread_loops.h"
#include "jit/passes/lower/tma_copies.h"
#include "jit/passes/lower/warp_tiles.h"
#include "jit/passes/lower/windows.h"

namespace hone::jit {

/// The walk over the loops of every stage, which emits the nest. The other parts stand in the order
/// in which they build on one another.
class Lowering final : private LoweringPart {
 public:
  explicit Lowering(LoweringContext& context) : LoweringPart(context) {}

  /// `only`: the stage whose launch is added; null adds all.
  ir::Nest run(const std::string* only = nullptr);

 private:
  using Block = std::vector<ir::StmtRef>;

  void add_launch(int stage);
  void launch_loop(Instance& in, ir::Launch& launch);
  void know_elements(const ir::Stage& s);
  void walk(Instance& in, size_t depth, Block& out);
  void walk_loop(Instance& in, size_t depth, const ir::Loop& l, bool init, Block& out,
                 const std::function<void(Block&)>& inside);
  void enter(Instance& in, size_t depth, Block& out);
  void initialise(Instance& in, size_t depth, Block& out);
  bool along_memory(const ir::Stage& s, const std::string& loop);
  void fill(Instance& in, const std::vector<size_t>& depths, size_t next, bool vectors, Block& out);
  void allocate_inside(const Instance& in, const std::string& loop, Block& out);
  void walk_choosing(Instance& in, Block& out);
  void before_first(size_t stage, std::vector<Span> window, Block& out);
  void keep_earlier(Instance& in, const std::string& loop, size_t stage,
                    const std::vector<Span>& window, Block& out);
  std::optional<ir::Poly> begin_of(const ir::Poly& value) const;
  Storage& kept_storage(const std::string& buffer);
  void after_loop(int loop, const ir::Poly& end);
  void attached(Instance& in, const std::string& loop, Block& out);
  void read_so_far(Instance& in, const ir::Stage& reader, Block& out);
  void leaf(Instance& in, bool init, Block& out);
  ir::Expr keep_inside(Instance& in, int& assumed);
  ir::Expr keep_scattered(Instance& in, ir::Expr when, int& assumed);
  bool define(Instance& in, const std::vector<ir::Poly>& indices, ir::Expr& when, Block& out);

  std::map<int, ir::Poly> begins_;  ///< where loops of the nest begin
  size_t nodes_ = 0;                ///< of stages' expressions, each as often as it was copied
  ThreadLoops threads_{context_};
  Overhangs overhangs_{context_};
  Accesses accesses_{context_, values_, overhangs_};
  LoopValues values_{context_, accesses_};
  Windows windows_{context_, accesses_, values_, threads_, overhangs_};
  Partition partition_{context_, accesses_, values_, windows_};
  StoreLines lines_{context_, accesses_, values_};
  Tails tails_{context_, values_, windows_, partition_, lines_, threads_};
  WarpTiles tiles_{context_, threads_};
  BindingTime binding_{context_};
  BufferAllocation allocation_{context_, accesses_, windows_, binding_, tiles_};
  DataChecks checks_{context_, accesses_};
  Prefetches prefetches_{context_, accesses_, values_, windows_};
  TmaCopies copies_{context_, accesses_};
};

}  // namespace hone::jit
