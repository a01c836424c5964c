// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/cuda/print_value.h"
#include "jit/cuda/source.h"
#include "jit/cuda/vector_access.h"
#include "jit/ir/instructions.h"

namespace hone::jit {

/// Calls `f` on `s` and all statements inside it; what a box means is not run.
template <class F>
void each_stmt(const ir::Stmt& s, const F& f) {
  f(s);
  if (s.kind == ir::Stmt::kCopyBox) return;
  for (const ir::StmtRef& b : s.body) each_stmt(*b, f);
}

/// The type of the prelude that combines as `r` does: `Sum`.
const char* combiner(ir::Reduce r);

/// The loops that are one instruction on tiles, over rows, columns and the sum, and what is inside.
struct TileStmts {
  const ir::Instruction* row = nullptr;
  std::vector<int> loops;
  int64_t columns = 0;              ///< of results
  const ir::Stmt* store = nullptr;  ///< adds a product, or gives the tile its first value
  ir::Expr a, b;                    ///< loads of a product's factors
};

/// Prints one launch as a kernel. Throws Unprintable.
class LaunchPrinter {
 public:
  /// `slot_align` is CudaSource::slot_align.
  LaunchPrinter(const ir::Nest& nest, const ir::Launch& launch, CudaNames& names, CudaLaunch& out,
                std::vector<int64_t>& slot_align, const ir::Target& target, const CudaForms& forms)
      : nest_(nest),
        launch_(launch),
        n_(names),
        out_(out),
        slot_align_(slot_align),
        target_(target),
        forms_(forms) {}

  std::string print();

 private:
  /// What holds where a statement stands.
  struct Scope {
    std::vector<std::string> only;  ///< conditions that a thread must meet, for lack of an `if`
    std::set<int> loops;            ///< thread loops that are open, of the team
    std::set<int> axes;             ///< their axes
  };
  using Print = std::function<void()>;
  /// Whose part of the launch is being printed.
  enum class ThreadRole : uint8_t { kAll, kProducer, kConsumer };

  // print_launch.cpp: what the launch needs, and statements
  void measure(const ir::Stmt& s);
  void check_threads() const;
  void emit_range();
  int threads() const { return out_.block[0] * out_.block[1] * out_.block[2]; }
  void block_extent(ir::Mark mark, const ir::Expr& extent);
  std::string head();
  bool stops_at_bad_data() const;
  std::string declaration(const ir::NestBuffer& b, const std::string& name);
  void place_shared();
  void emit(const ir::Stmt& s, Scope& scope);
  void emit_all(const ir::Stmt& s, Scope& scope);
  void emit_serial(const ir::Stmt& s, Scope& scope);
  int open_loop(const ir::Stmt& s);
  void emit_if(const ir::Stmt& s, Scope& scope);
  void emit_choice(const ir::Stmt& s, const std::string& condition, Scope& scope);
  void emit_leaf(const ir::Stmt& s);
  void note(const ir::Expr& e);

  // print_threads.cpp: what blocks and threads do apart and together
  bool collective(const ir::Stmt& s) const;
  bool depends(const ir::Expr& e, const Scope& scope) const;
  bool own(int buffer) const;
  void emit_block(const ir::Stmt& s, Scope& scope);
  void emit_threads(const ir::Stmt& s, Scope& scope);
  void set_aside(int buffer, ir::Reduce reduce);
  void share_parts(ir::Reduce reduce, int axis, DType type);
  void put_together(int buffer, ir::Reduce reduce, int axis);
  void each_element(const ir::NestBuffer& b, const std::function<void(const std::string&)>& f);
  void conditional(const Scope& scope, const Print& f);
  void guarded(const Scope& scope, const ir::Stmt& s, const Print& f);
  static Scope without_conditions(Scope scope);

  // print_vector.cpp: vector loops as accesses of several elements
  std::string store_of(const ir::Stmt& s, int64_t wide) const;
  bool in_memory(int buffer) const;
  int64_t width(int buffer, const ir::Expr& offset, const VectorLanes& lanes) const;
  bool any_wide(const ir::Stmt& s, const VectorLanes& lanes) const;
  void emit_vector(const ir::Stmt& s, Scope& scope);
  void emit_lanes(const ir::Stmt& s, const VectorLanes& lanes, Scope& scope);
  void emit_each_lane(const VectorLanes& lanes, const Print& f);
  void emit_lane_store(const ir::Stmt& s, const VectorLanes& lanes);
  void emit_lane_values(const ir::Stmt& s, const VectorLanes& lanes, const std::string& out);
  std::string in_lane(const std::string& vector, const VectorLanes& lanes) const;
  std::string print_address(int buffer, const ir::Expr& offset, const VectorLanes& lanes) const;
  void hold_loads(const ir::Expr& value, const VectorLanes& lanes);
  std::string loaded(int buffer, const ir::Expr& offset, int64_t wide, const VectorLanes& lanes,
                     const std::string& inside);
  void rely_on(int buffer, int64_t bytes);

  // print_copies.cpp: copies into shared memory that go on beside the threads
  int64_t copied_at_once(const ir::Stmt& s, const VectorLanes* lanes) const;
  bool emit_copies(const ir::Stmt& s, const VectorLanes* lanes);

  // print_bulk.cpp: boxes that the copy engine copies
  std::string first_thread() const;
  std::string slot_barrier(const ir::Stmt& s, const char* of);
  std::string parity_of(const ir::Stmt& s, int64_t ahead);
  void emit_fill(const ir::Stmt& s);
  void emit_ready(const ir::Stmt& s);
  void emit_box(const ir::Stmt& s);
  int number_of_map(int map);
  int64_t barrier_bytes() const;
  std::string declare_pipes() const;

  // print_roles.cpp: pipes that threads of their own fill
  bool fills_apart(const ir::Stmt& s) const;
  void emit_roles();
  void emit_release(const ir::Stmt& s);

  // print_clusters.cpp: blocks that run together
  void measure_cluster();
  void check_cluster() const;
  std::string kernel_macro() const;
  std::string meet_cluster() const;
  std::string leave_cluster() const;

  // print_warp.cpp: tiles in the registers of a warp
  void check_warps() const;
  int64_t registers_of(const ir::NestBuffer& b) const;
  int64_t held_registers() const;
  bool numbers_registers(const ir::Stmt& loop) const;
  void emit_tiles(const ir::Stmt& s);
  std::string first_register(const TileStmts& tiles, int buffer, const ir::Expr& offset,
                             ir::Operand operand);

  // print_products.cpp: products of a warpgroup, on tiles in shared memory
  void measure_products();
  bool opens_products(const ir::Stmt& loop) const;
  void emit_product(const TileStmts& tiles);
  std::string descriptor(const TileStmts& tiles, ir::Operand operand, bool& turned);
  void emit_marker(const ir::Stmt& s);

  // print_quads.cpp: what neighbouring lanes store side by side
  bool emit_quads(const ir::Stmt& s, const Scope& scope);

  // print_matrices.cpp: tiles filled from shared memory
  bool emit_matrices(const ir::Stmt& s);

  const std::string& loop(int id) const { return n_.loops[static_cast<size_t>(id)]; }
  void line(const std::string& text);
  void open(const std::string& text);
  void close();

  const ir::Nest& nest_;
  const ir::Launch& launch_;
  CudaNames& n_;
  CudaLaunch& out_;
  std::vector<int64_t>& slot_align_;
  const ir::Target& target_;
  const CudaForms& forms_;
  std::string body_;
  int depth_ = 1;
  int choices_ = 0;  ///< conditions that were given names
  int vectors_ = 0;  ///< vectors that were
  bool checks_ = false;
  bool copies_async_ = false;  ///< the launch has copies that the GPU makes by itself
  bool alone_ = false;         ///< no other block fits a multiprocessor beside one
  bool shows_stores_ = false;  ///< products read what its threads put into shared memory
  int fills_ = 0;              ///< fills of pipes that were printed
  std::string filled_;         ///< the mbarrier that the copies inside a fill count for
  std::set<int> pipes_;        ///< that are filled
  int64_t barriers_at_ = -1;   ///< where their mbarriers begin in dynamic memory; -1: they do not
  ThreadRole role_ = ThreadRole::kAll;
  int cluster_ = 1;          ///< blocks that run together
  int consumers_ = 0;        ///< threads, where others fill pipes
  int producer_axis_ = 0;    ///< along which those stand; 0: there are none
  std::set<int> unbound_;    ///< thread loops that producers do not run
  std::map<int, int> maps_;  ///< numbers in CudaLaunch::maps
  std::set<int> used_;
  std::map<std::string, int64_t> parts_;  ///< bytes of what combine_threads shares, by its types
  std::map<const ir::NestBuffer*, int64_t> dynamic_;  ///< where buffers begin in dynamic memory
  std::set<const ir::NestBuffer*> written_;
};

}  // namespace hone::jit
