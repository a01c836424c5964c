// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/passes/lower.h"
#include "jit/passes/stage_tree.h"

namespace hone::jit {

/// lo .. lo+extent-1.
struct Span {
  ir::Poly lo;
  ir::Poly extent;
};

/// A loop of a stage in its derivation tree: a variable's root loop, or made by split or fuse.
struct LoopNode {
  std::string name;
  int var = -1;            ///< root: index among vars, then rvars
  int split_into = -1;     ///< relation that splits this loop
  int fused_by = -1;       ///< relation that fuses this loop with another
  int made_by = -1;        ///< relation that made this loop
  bool inner = false;      ///< the inner loop of the split that made it
  bool reduction = false;  ///< reduced over: derives from a reduction variable and is not factored
  int factored = -1;       ///< index among Stage::factored
};

/// The loops of a stage, indexed; made once per stage.
struct StageLoops {
  explicit StageLoops(const ir::Stage& stage);
  int find(std::string_view name) const;

  const ir::Stage* stage;
  std::vector<LoopNode> nodes;
  std::vector<int> order;                         ///< Stage::loops as node numbers, outermost first
  std::vector<int> outer, inner, parent, second;  ///< of each relation, as node numbers
};

/// A stage while it is being emitted at one place: what is known of its variables and loops.
struct Instance {
  const StageLoops* loops = nullptr;
  std::vector<Span> window;                     ///< per var, then per factored loop
  std::vector<std::optional<ir::Poly>> extent;  ///< per node
  std::vector<std::optional<ir::Poly>> value;   ///< per node: set once its loop is open
  std::vector<std::optional<ir::Poly>> base;    ///< per split node: its start, once outer is open
  std::vector<int64_t>
      trips;                 ///< per relation that fuses: iterations of its inner loop, once known
  bool initialised = false;  ///< the reduction's identity has been stored
  bool ahead = false;  ///< placed at an iteration that may not be: indices are clamped, not proved

  const ir::Stage& stage() const { return *loops->stage; }
};

/// Where a temporary is while it is live: the window it holds and how it is laid out.
struct Storage {
  int buffer = -1;              ///< in Nest::buffers
  std::vector<ir::Poly> base;   ///< first logical index held, per dim
  std::vector<ir::Poly> shape;  ///< elements held, per dim (temporaries: constant upper bounds)
  std::vector<ir::Axis> axes;
  std::vector<ir::Poly> strides;  ///< elements, per axis
};

/// A part of a loop's range in which the inner loop of the split has one extent.
struct Piece {
  ir::Poly begin, end;
  std::optional<ir::Poly> holds = {};  ///< runs only where this is >= 0; null: always
  std::optional<ir::Poly> base = {};   ///< start of the split parent; null: factor * loop
  std::optional<ir::Poly> inner =
      {};  ///< extent of the inner loop; null: what is left, at most factor
};

struct BulkCopy;

/// A loop whose iterations are the threads of a block.
struct ThreadLoop {
  int id = -1;
  ir::Mark mark = ir::Mark::kThreadX;
  int64_t most = 1;  ///< its extent is at most this
};

/// A variable that loops of tail=pad run past the end of, to the end of a unit of so many values.
struct Overhang {
  std::string var;
  int64_t unit = 0;
};

/// How the lanes of a warp, or of a warpgroup, hold a buffer together.
struct WarpLayout {
  std::vector<ir::Axis> axes;
  int lanes = 0;
  bool operator==(const WarpLayout&) const = default;
};

/// One lowering of one program. See lower.cpp for the walk.
class Lowering {
 public:
  Lowering(const ir::Program& program, const ir::Target& target);
  ir::Nest run();

 private:
  using Block = std::vector<ir::StmtRef>;

  // lower_checks.cpp: what data must hold
  void add_checks();
  ir::StmtRef walk_check(const ir::Check& c, const ir::Launch& launch, ir::Poly& blocks);
  void define_checked(const ir::Check& c);
  ir::Expr end_of(const ir::Check& c, const ir::Expr& end) const;
  bool looks_at_all(const ir::Check& c, const ir::Expr& load) const;
  bool looks_at_run(const ir::Check& c, const ir::Expr& load, ir::Facts::Elements& known);

  // lower.cpp: launches and the walk over a stage's loops
  void add_parameters();
  void add_launch(int stage);
  Instance instance(int stage, std::vector<Span> window);
  void walk(Instance& in, size_t depth, bool init, Block& out);
  void walk_loop(Instance& in, size_t depth, bool init, Block& out);
  void launch_loop(Instance& in, ir::Launch& launch);
  void enter(Instance& in, size_t depth, bool init, Block& out);
  void leaf(Instance& in, bool init, Block& out);
  bool define(Instance& in, const std::vector<ir::Poly>& indices, ir::Expr& when, Block& out);
  static ir::Expr needed_where(const ir::Stage& s, const ir::Expr& where);
  void allocate_inside(const Instance& in, const std::string& loop);
  void attached(Instance& in, const std::string& loop, Block& out);
  int new_loop(const std::string& name, ir::Poly begin, ir::Poly end);

  // lower_pieces.cpp: extents, tails, bounds from `where`
  ir::Poly extent_of(Instance& in, int node);
  void check_fused_splits(Instance& in, int fuse);
  std::vector<Piece> pieces_of(Instance& in, int node, bool init);
  std::vector<Piece> split_pieces(Instance& in, int node);
  std::vector<Piece> peeled_pieces(const ir::Poly& whole, int64_t factor);
  void place(Instance& in, int node, const ir::Poly& value, const Piece& piece);
  void unplace(Instance& in, int node);
  std::optional<ir::Poly> base_of(Instance& in, int node);
  std::optional<ir::Poly> value_of(Instance& in, int node);
  bool any_open(const Instance& in, int node) const;
  void tighten(Instance& in, int node, Piece& piece);
  bool in_registers(const ir::Stage& s) const;

  // lower_partition.cpp: loops cut where conditions change
  std::vector<Piece> partition(Instance& in, int node, const Piece& piece);
  std::vector<Piece> cut_at(const std::vector<Piece>& parts, const ir::Poly& at);
  std::vector<Span> spans_inside(size_t stage);
  class StandStill;
  void cuts_of_load(const ir::Expr& load, const ir::Stage& reader, const std::vector<Span>& spans,
                    int id, const Piece& piece, std::vector<ir::Poly>& cuts);
  void cuts_of_comparison(const ir::Expr& e, const ir::Stage& reader,
                          const std::vector<Span>& spans, int id, std::vector<ir::Poly>& cuts);

  // lower_window.cpp: which part of a stage its consumers need, and where it is kept
  std::vector<Span> needed(const std::string& buffer, const ir::Place& place);
  void check_covered(const ir::Stage& st, const std::vector<Span>& window);
  void widen(std::vector<Span>& box, std::vector<bool>& seen, size_t dim, const Span& span);
  Span range_of(Instance& in, int node);
  std::vector<Span> spans_of(Instance& in);
  std::vector<Span> domain_of(int stage);
  std::optional<Span> interval(const ir::Expr& index, const std::vector<Span>& vars,
                               const ir::Stage& reader);
  Span reduction_span(Instance& in, size_t rvar);
  void allocate(int stage, const std::vector<Span>& window);
  static int64_t elements_of(const Storage& s);
  static int64_t swizzled_row(const ir::Buffer& b, const Storage& s);
  static size_t vector_dim(const ir::Stage& s, size_t dims);
  void allocate_root(int stage);
  bool is_bound(const ir::Stage& stage);
  bool is_bound(const ir::Expr& e, bool addresses);
  bool holds_constants(const std::string& buffer);
  static bool mentions(const ir::Expr& e);

  // lower_threads.cpp: loops bound to a GPU's blocks and threads
  void check_marks() const;
  bool has_clusters() const;
  void open_threads(const Instance& in, const ir::Loop& loop, int id, const Piece& piece);
  void check_threads(const Instance& in) const;
  std::vector<Span> window_at(const ir::Stage& stage, const ir::Place& place);
  Span over_threads(Span span, const std::string& buffer) const;

  // lower_bulk.cpp: copies that a GPU's TMA makes
  void check_bulk(const Instance& in) const;
  BulkCopy bulk_axes(const Instance& in) const;
  void choose_box(const Instance& in, BulkCopy& copy) const;
  void check_box(const Instance& in, const BulkCopy& copy) const;
  ir::TensorMap map_of(Instance& in, const BulkCopy& copy, std::vector<ir::Expr>& at);
  ir::StmtRef box_elements(Instance& in, const BulkCopy& copy);
  ir::StmtRef bulk_copy(Instance& in);

  // lower_pad.cpp: loops that run beyond the domain
  void find_overhangs();
  const std::vector<Overhang>& overhangs_of(const ir::Stage& stage) const;
  bool overhangs(const ir::Stage& stage, const std::string& var) const;
  bool fills(const ir::Stage& stage) const;
  ir::Expr keep_inside(Instance& in, int& assumed);
  void check_padded_sum(const ir::Stage& stage) const;

  // lower_warp.cpp: tiles of tensor instructions, held by the lanes of a warp
  bool makes_tiles(const ir::Stage& stage) const;
  void check_tiles(const Instance& in) const;
  void check_whole(const ir::Loop& loop, const Piece& piece) const;
  WarpLayout warp_layout(const ir::Buffer& b) const;

  // lower_access.cpp: expressions to loops, accesses to offsets, proofs
  ir::Poly variable(Instance& in, const std::string& name);
  ir::Poly index(Instance& in, const ir::Expr& e);
  ir::Expr translate(Instance& in, const ir::Expr& e);
  ir::Expr translate_load(Instance& in, const ir::Expr& e);
  ir::Expr compare(Instance& in, const ir::Expr& e);
  ir::Expr offset(const Storage& storage, const std::vector<ir::Poly>& indices);
  void prove_inside(const Storage& s, const std::vector<ir::Poly>& indices,
                    const std::string& name);
  bool proves_inside(const Storage& s, const std::vector<ir::Poly>& indices,
                     const ir::Buffer& whole);
  int unproved_dim(const Storage& s, const std::vector<ir::Poly>& indices, size_t first);
  const Storage& storage_of(const std::string& buffer) const;
  Storage dense(const ir::Buffer& b, std::vector<ir::Poly> shape);

  // lower_prefetch.cpp
  void prefetches(Instance& in, const ir::Loop& loop, Block& out);
  ir::Expr ahead(Instance& in, const ir::Expr& e);
  bool reads_empty(const ir::Expr& e) const;
  std::vector<ir::Poly> clamped(const Storage& s, const std::vector<ir::Expr>& indices);

  const ir::Program& program_;
  const ir::Target& target_;
  ir::Nest nest_;
  ir::Facts facts_;
  StageTree tree_;
  std::vector<StageLoops> loops_;  ///< per stage
  std::vector<Instance*> active_;  ///< per stage; null: not being emitted
  std::vector<std::pair<std::string, Storage>>
      storage_;            ///< per live buffer; searched from the end
  bool standing_ = false;  ///< no loop opens or closes: what spans_inside finds may be kept
  std::unordered_map<size_t, std::vector<Span>> still_;  ///< what it found, by stage
  int64_t worker_top_ = 0;
  std::vector<std::optional<bool>> inner_bound_;  ///< per stage that is not at the root: is_bound
  std::vector<ir::Expr>* tested_ = nullptr;  ///< gathers the tests of reads that are not proved
  std::vector<std::vector<Overhang>> overhangs_;  ///< per stage
  std::vector<ThreadLoop> threads_;               ///< thread loops that are open, outermost first
};

/// While one lives no loop opens or closes, so what stages need of each other stays as it is: a
/// chain of them is followed once, not once from each of its members.
class Lowering::StandStill {
 public:
  explicit StandStill(Lowering& lowering) : lowering_(lowering) { lowering_.standing_ = true; }
  ~StandStill() {
    lowering_.standing_ = false;
    lowering_.still_.clear();
  }
  StandStill(const StandStill&) = delete;
  StandStill& operator=(const StandStill&) = delete;

 private:
  Lowering& lowering_;
};

/// Cuts begin..end to where `p`, linear in loop `id`, is not negative.
void restrict_range(const ir::Poly& p, int id, ir::Poly& begin, ir::Poly& end,
                    const ir::Facts& facts);

/// Stops the lowering: throws an ir::Reject, which lower() turns into a value.
[[noreturn]] void reject(std::string message);

}  // namespace hone::jit
