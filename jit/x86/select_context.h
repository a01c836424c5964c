// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "include/hone/dtype.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"
#include "jit/native/affine.h"
#include "jit/native/code_writer.h"
#include "jit/x86/encode/instructions.h"

namespace hone::jit {

/// What a loop number stands for while its body is selected.
struct Binding {
  bool bound = false;
  bool lane = false;  ///< plus the lane: the variable of the vector loop being emitted
  Affine base;
};

/// A loop that runs, by the depth of its scope: how its variable advances.
struct LoopState {
  Affine begin;
  int64_t step = 1;
  Reg variable;         ///< made when something needs the value itself
  bool ranged = false;  ///< min <= variable <= max is known
  int64_t min = 0;
  int64_t max = 0;
};

/// The lanes that values have at the moment. Outside vector loops: one lane.
struct Lanes {
  int loop = -1;   ///< number of the vector loop
  int count = 1;   ///< lanes of a value
  int active = 1;  ///< lanes that exist; -1: known at run time
  Reg active_reg;  ///< general register with the number, when it is known at run time
  Reg condition;   ///< AVX-512: inside a branch that only some lanes take, their mask
  bool partial() const { return active != count || condition.valid(); }
};

/// A value in registers: `lanes.count` elements of `type`. Bools are masks: on AVX-512 in a mask
/// register, else all-ones lanes of `element` bytes in a vector register. Elements of a buffer of
/// bools, as memory and register tiles hold them, are values of kU8: see loaded and stored.
struct Value {
  Reg reg;
  DType type = DType::kF32;
  int element = 4;
};

/// A part of a register tile: elements [offset, offset + lanes) of the buffer in one register.
struct TileGroup {
  int64_t offset = 0;
  int lanes = 0;
  Reg reg;
  int used = 0;  ///< lanes that are elements; the others hold anything
};

/// A reduction over the lanes of the vector loop being emitted: its running value, lane by lane.
struct LaneSum {
  const ir::Stmt* stmt = nullptr;
  Affine offset;  ///< of the destination
  int lanes = 1;
  Value total;
  bool straight = false;  ///< steps are not in a loop
  int steps = 0;
  Reg taken = {};  ///< not 0 once a step has run, where none may: then nothing has such a place
};

struct DotForm;

/// Interleaves elements of `size` bytes of the lower (or upper) halves of each 16 bytes.
X86 interleave_of(int size, bool upper);

/// The load that repeats one element of `size` bytes over a vector of `width` bytes.
X86 broadcast_of(int size, int width);

/// The walk over one launch. One function per kind of node; the subjects have files of their own.
class Selector {
 public:
  Selector(const ir::Nest& nest, const ir::Launch& launch, const ir::Target& target);
  /// Emits the whole function into `code.lir`; false with `refusal` set if it cannot.
  bool run();

  CodeWriter code;
  std::string refusal;

 private:
  friend class MathEmitter;

  /// What the body of a vector loop needs.
  struct Survey {
    int bytes = 0;               ///< of the largest lane
    int lanes = 1;               ///< that fit a vector; 1 where lanes cannot do it
    bool unfit = false;          ///< must run one by one
    bool scattered = false;      ///< elements that do not lie together
    bool unmaskable = false;     ///< some of them such that no mask picks lanes
    bool sums = false;           ///< reductions over the lanes
    bool inner_loops = false;    ///< loops that run
    bool lane_branches = false;  ///< branches that differ between lanes
    bool indexed = false;        ///< integers from memory that steer: indices, conditions
  };

  // --- select.cpp: statements ---
  void walk(const ir::Stmt& s);
  void walk_if(const ir::Stmt& s);
  void walk_lane_if(const ir::Stmt& s);
  bool decided(const ir::Expr& e, bool& holds);
  bool decided_comparison(const ir::Expr& e, bool& holds);
  void prologue();
  void range_loop();
  void check(const ir::Stmt& s);
  bool failed() const { return !refusal.empty(); }
  void refuse(std::string why);

  // --- select_loop.cpp: loops ---
  void walk_for(const ir::Stmt& s);
  void unrolled(const ir::Stmt& s, const Affine& begin, int64_t extent);
  void guarded_unrolled(const ir::Stmt& s, const Affine& begin, const Affine& extent, int64_t most);
  /// A loop over [begin, begin + extent) by `step`, whole steps only.
  template <class Body>
  void loop(int number, const Affine& begin, const Affine& extent, int64_t step, uint64_t written,
            const Body& body);
  template <class Body>
  void branch(uint64_t written, const Body& body);
  bool indexes_tile(const ir::Stmt& s, int variable) const;
  int64_t most_iterations(const ir::Stmt& s, const Affine& begin, const Affine& extent) const;
  void serial(const ir::Stmt& s, const Affine& begin, const Affine& extent);
  void vector(const ir::Stmt& s, const Affine& begin, const Affine& extent);
  void vector_chunks(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                     const Survey& needs);
  void vector_constant(const ir::Stmt& s, const Affine& begin, int64_t extent, int lanes);
  void vector_dynamic(const ir::Stmt& s, const Affine& begin, const Affine& extent,
                      const Survey& needs);
  int lanes_of_tiles(const ir::Stmt& s) const;
  void vector_bounded(const ir::Stmt& s, const Affine& begin, const Affine& extent, int64_t most,
                      int lanes, bool unmaskable);
  void masked_chunk(const ir::Stmt& s, const Affine& base, Reg active, int lanes);
  void masked_rest(const ir::Stmt& s, const Affine& done, Reg count, Reg rest, int lanes);
  void chunk(const ir::Stmt& s, const Affine& base, int lanes, int active);
  uint64_t written_by(const ir::Stmt& s) const;
  /// Opens a scope; register tiles stored to inside are not what they were before.
  void open(Scope::Kind kind, uint64_t written, bool certain = true);
  Scope close();
  void touch_tiles(uint64_t written);

  // --- select_dot.cpp: tensor loops ---
  /// The tensor loop being emitted, while its store is.
  struct Dot {
    const ir::Instruction* row = nullptr;
    const DotForm* form = nullptr;
    int loop = -1;
    Affine begin;
    int extent = 0;
  };
  /// The groups of a factor, as the instruction takes them.
  struct DotFactor {
    Reg reg;
    DType type = DType::kI8;
    bool uniform = false;  ///< one group in all lanes
  };
  struct DotOperands {
    Reg first, second;
    std::array<Reg, 2> correction;  ///< whose product is to be taken off, where one was moved
  };
  /// What moved operands add too much to running values, kept apart while the loops of the
  /// reduction run: one sum serves all rows that see the same operands in the same order.
  struct Excess {
    struct Link {
      std::array<Reg, 2> operands;
      int64_t scope;
      bool operator==(const Link&) const = default;
    };
    std::vector<Link> chain;
    Reg total;
  };
  /// A running value whose excess is kept apart, and how much of the chain it has seen.
  struct Exceeding {
    Reg value;
    int excess = -1;
    size_t seen = 0;
  };
  void dot(const ir::Stmt& s, const Affine& begin, const Affine& extent);
  bool only_moved_dots(const ir::Stmt& s) const;
  bool keeps_excess(const ir::Stmt& s) const;
  void take_off_excess();
  bool keep_excess(Reg dest, const DotOperands& o);
  void grow_excess(Excess& excess, const Excess::Link& link);
  bool together(const ir::Expr& index, const Affine& offset);
  DotFactor dot_factor(const ir::Expr& factor);
  DType group_type(DType type) const;
  void refuse_layout(int buffer);
  Reg group_broadcast(const Mem& m, const DotFactor& f, int buffer);
  Reg group_rest(const Mem& m, const DotFactor& f, int buffer);
  Reg bytes_of_128();
  Reg moved_by_128(Reg r);
  DotOperands dot_operands(const ir::Stmt& s);
  Reg dot_excess(const DotOperands& o);
  void dot_add_to(Reg dest, const ir::Stmt& s, Reg mask, bool stays);
  Value dot_added(const Value& old, const ir::Stmt& s);

  // --- select_shape.cpp: what a vector loop's body needs ---
  const Survey& survey(const ir::Stmt& loop);
  std::vector<int> tiles_along(const ir::Stmt& loop) const;
  void agree_on_lanes(const ir::Stmt& s);
  void survey(const ir::Stmt& s, int variable, Survey& out) const;
  int lane_bytes(const ir::Expr& e, int variable) const;
  static bool has_load(const ir::Expr& e);

  // --- select_integer.cpp: integers that steer (indices, bounds, conditions) ---
  Affine affine(const ir::Expr& e);
  bool lane_index(const ir::Expr& e, Affine& out);
  Affine added(const ir::Expr& e, const Affine& a, const Affine& b);
  Affine affine_of_division(const ir::Expr& e);
  Affine opaque(const ir::Expr& e);
  Affine opaque(const ir::Expr& e, const std::function<Reg()>& compute);
  /// The range of `a` over all iterations, when it is known.
  bool range_of(const Affine& a, int64_t& min, int64_t& max) const;
  Reg extreme_of(ir::Op op, Reg a, Reg b);
  Reg multiplied(Reg a, Reg b);
  Reg integer(const ir::Expr& e);
  Reg integer_operand(const ir::Expr& e);
  Reg integer_load(const ir::Expr& e);
  Reg integer_division(const ir::Expr& e);
  Reg divided(const ir::Expr& e, Reg a, const std::function<Reg()>& by);
  Reg integer_choice(const ir::Expr& e);
  Reg integer_narrow(const ir::Expr& e);
  Reg integer_compare(const ir::Expr& e);
  Reg integer_from_vector(const ir::Expr& e);
  /// `r` wrapped to `type`, as a 64-bit integer.
  Reg wrapped(Reg r, DType type);
  Reg load_integer(const Mem& m, DType type, int buffer);
  Reg gpr(const Affine& a);
  Reg product(const Term& t);
  Reg factor_reg(int32_t factor);
  Reg loop_variable(int depth);
  Reg dim(int id);
  Reg constant_gpr(int64_t value);
  int factor_level(int32_t factor) const;
  int term_level(const Term& t) const;
  bool steers(const ir::Expr& e) const;
  bool depends_on_lane(const ir::Expr& e) const;
  Operand gpr_or_imm(const Affine& a);
  /// Jumps to `label` unless the condition, the same in all lanes, holds.
  void branch_unless(const ir::Expr& condition, int label);
  const ir::Expr* common_guard(const ir::Stmt& s, const ir::Stmt& loop);
  void vector_by_guard(const ir::Stmt& s, const ir::Expr& guard);

  // --- select_address.cpp: addresses ---
  /// The address of element `offset` of a buffer in memory; no lanes in it.
  Mem address(int buffer, const Affine& offset);
  Reg pointer(int buffer, const Affine& terms);
  Affine start_of(const Affine& terms, int depth) const;
  Reg induction_pointer(int buffer, const Affine& terms, int depth);
  Reg base_pointer(int buffer);
  Mem argument(int slot) const;

  // --- select_memory.cpp: vector loads and stores ---
  Value load(const ir::Expr& e);
  Value load_certain(const ir::Expr& e);
  Value load_memory(int buffer, const Affine& offset, Reg mask);
  Reg broadcast_load(const Mem& m, DType type, int buffer, Reg mask);
  Reg contiguous_load(const Mem& m, DType type, int buffer, Reg mask);
  void store(const ir::Stmt& s);
  void store_memory(int buffer, const Affine& offset, const Value& value);
  void store_lanes(const Mem& m, Reg reg, int bytes);
  DType element_type(int buffer) const;
  Value loaded(const Value& v, int buffer);
  Value stored(const Value& v);
  Value accumulated(const Value& old, const ir::Stmt& s);
  Reg active_mask();
  Reg lane_bits(int count);
  Reg lane_prefix(Reg count);

  // --- select_stream.cpp: non-temporal stores ---
  uint64_t streamed_by(const ir::Stmt& s) const;
  void branch_unless_aligned(uint64_t buffers, int label);
  int64_t alignment_of(int buffer, const Affine& offset) const;
  bool stream_store(int buffer, const Affine& first, const Mem& m, Reg reg, int bytes);

  // --- select_gather.cpp: elements that do not lie together ---
  template <class Body>
  void at_lane(int i, const Body& body);
  template <class AddressOf>
  Value assembled(int buffer, const AddressOf& address_of);
  void prefetch(const ir::Stmt& s);
  void insert_element(Reg reg, int i, const Mem& m, DType type);
  void insert_broadcast(Reg reg, int i, Reg all, DType type);
  Reg quarter_of(const Value& v, int i, int& within);
  void store_lane(const Mem& m, const Value& v, int i);
  Value load_branched(const ir::Expr& e);
  Value load_guarded(const ir::Expr& e);
  Value load_gather(const ir::Expr& e);
  Value load_strided(int buffer, const Affine& first, const Affine& stride, Reg mask);
  bool gathers_under_mask(int size, int64_t stride) const;
  Value gathered(int buffer, const Affine& first, int64_t stride, Reg mask);
  void store_each(const ir::Stmt& s);
  void store_strided(int buffer, const Affine& first, const Affine& stride, const Value& value);

  // --- select_spread.cpp: elements a few apart ---
  bool load_spread(int buffer, const Affine& first, int64_t stride, Value& out);
  Reg spread_wide(int buffer, const Affine& first, int64_t stride);
  Reg every_second(int buffer, const Affine& first);

  // --- select_tile.cpp: buffers in registers ---
  void forget_transposed(int buffer);
  TileGroup* tile_group(int buffer, int64_t offset);
  TileGroup& new_tile_group(int buffer, int64_t offset);
  bool is_whole(int buffer, const TileGroup& group, int64_t offset);
  Value load_tile(int buffer, const Affine& offset);
  void store_tile(const ir::Stmt& s, const Affine& offset);
  void assign_value(Reg reg, const ir::Expr& e);
  void assign(Reg reg, const Value& v);

  void store_tile_slowly(const ir::Stmt& s, Reg reg, bool ends_early);
  bool is_free(int buffer, int64_t offset);
  bool is_in_tile(int buffer, int64_t offset);

  // --- select_element.cpp: single elements of tiles ---
  Value tile_element(const TileGroup& group, DType type, int lane);
  void set_tile_element(int buffer, int64_t offset, const Value& value);
  void set_lane(Reg reg, int lane, const Value& v);
  Value gather_tile(int buffer, int64_t first, int64_t stride);
  void scatter_tile(int buffer, int64_t first, int64_t stride, const Value& v);

  // --- select_interleave.cpp: stores that fill groups lane by lane ---
  bool fills_groups(const ir::Stmt& s, const Affine& begin, int64_t extent, Affine& first);
  void store_groups(const ir::Stmt& s, const Affine& begin, int64_t extent, const Affine& first);
  std::vector<Reg> interleaved(const std::vector<Reg>& rows, int size);

  // --- select_transpose.cpp: tiles read along the other axis than written ---
  Value load_tile_across(int buffer, int64_t first, int64_t stride);
  std::vector<Reg> transpose(std::vector<Reg> rows, int size, int width);
  void exchange_halves(Reg a, Reg b, Reg& low, Reg& high);
  void exchange_quarters(const std::array<Reg, 4>& in, const std::array<Reg*, 4>& out);

  // --- select_reduce.cpp: reductions over lanes ---
  void store_across(const ir::Stmt& s, const Affine& offset);
  void start_sum(Reg reg, ir::Reduce reduce, DType type);
  void finish_sums();
  void finish_sum(const LaneSum& sum, const Value& v);
  Value across(ir::Reduce reduce, Value v);
  Value bits_across(ir::Reduce reduce, const Value& v);
  void first_step(const ir::Stmt& s, const Affine& offset);
  void next_step(const ir::Stmt& s, const Value& total);
  void add_to_place(const ir::Stmt& s, const Affine& offset, const Value& v);
  Value extremum_across(bool max, Value v);
  Reg halve(const Value& v);
  Reg upper_half(const Value& v);
  uint64_t identity_bits(ir::Reduce reduce, DType type) const;

  // --- select_value.cpp: expressions ---
  Value value(const ir::Expr& e);
  Value constant(DType type, const ir::Node& node);
  static uint64_t bits_of(DType type, double f, int64_t i);
  Value splat(Reg r, DType type);
  Value constant_bits(DType type, uint64_t bits);
  Value scalar_argument(const ir::Expr& e);
  Value from_integer(const ir::Expr& e);
  Value unary(const ir::Expr& e);
  Value binary(const ir::Expr& e);
  /// a * b + c, - a * b + c and a * b - c, rounded once.
  enum class Fused : uint8_t { kAdd, kNegatedAdd, kSub };
  Value fused(Fused kind, const Value& a, const Value& b, const Value& c);
  /// The same in place: dest += a * b.
  void multiply_add_to(Reg dest, const Value& a, const Value& b, bool negate, Reg mask = {});
  Value combine(ir::Reduce reduce, const Value& a, const Value& b);
  static bool is_product(const ir::Expr& e);

  // --- select_arith.cpp: one operation on vectors ---
  Value arithmetic(ir::Op op, const Value& a, const Value& b);
  Value extremum(bool max, const Value& a, const Value& b);
  Value multiply_bytes(const Value& a, const Value& b);
  Value multiply_quads(const Value& a, const Value& b);
  Value divide(ir::Op op, const Value& a, const Value& b);
  Value divide_by_power(ir::Op op, const Value& a, int power);
  Value op3(X86 op, const Value& a, const Value& b);

  // --- select_mask.cpp: bools ---
  int mask_width(const Value& mask) const;
  int mask_element() const;
  Value uniform_mask(bool on);
  Value uniform_mask(Reg bit);
  Value prefix_mask(Reg count);
  Reg at_least(const Affine& a, int64_t limit);
  Reg at_most(const Affine& a, int64_t limit);
  Reg limited_to_lanes(const Affine& a);
  Value negative_lanes(const Affine& d, int slope);
  bool compare_lanes(const ir::Expr& e, Value& out);
  Value compare(const ir::Expr& e);
  Value compare_values(ir::Op op, const Value& a, const Value& b);
  Value mask_logic(ir::Op op, const Value& x, const Value& y);
  Value mask_not(const Value& x);
  Value as_element(const Value& mask, int size);
  Value logic(const ir::Expr& e);
  Value select_lanes(const ir::Expr& e);
  Value blend(const Value& mask, const Value& then, const Value& otherwise);
  Value bytes_of_mask(const Value& mask);
  Value mask_of_bytes(const Value& bytes);

  // --- select_lanes.cpp: lanes through general registers ---
  Reg lane_to_gpr(const Value& v, int lane);
  Value gprs_to_lanes(DType type, const std::function<Reg(int)>& lane_of);

  // --- select_convert.cpp: between types ---
  Value convert(const ir::Expr& e);
  Value converted(const Value& v, DType to);
  Value to_single(const Value& v);
  Value to_sticky_single(const Value& v);
  Value to_double(const Value& v);
  Value float_to_half(const Value& v);
  Value float_to_bfloat(const Value& v);
  Value float_to_integer(const Value& v, DType to);
  Value resize_integer(const Value& v, DType to);
  Value bits_of_mask(const Value& mask, DType to);
  Value integer_lanes_to_float(const Value& v, DType to);
  Value float_to_quad(const Value& v);
  Value narrow_wide(const Value& v, DType to);
  Value narrow_packed(const Value& v, DType to);
  Value unordered_lanes(const Value& v);
  Value op2(X86 op, const Value& v, DType to);

  // --- select_math.cpp ---
  Value call(const ir::Expr& e);
  Value call(std::string_view name, const Value& x, const Value& y);

  int width(DType type) const;
  bool wide() const { return target_.has(ir::Isa::kAvx512); }

  const ir::Nest& nest_;
  const ir::Launch& launch_;
  const ir::Target& target_;
  ir::ArgsLayout layout_;
  Reg args_, begin_, end_, scratch_;
  Lanes lanes_;
  std::vector<Binding> bindings_;  ///< by loop number
  std::vector<LoopState> loops_;   ///< by depth of the scope
  struct Pointer {
    int buffer;
    int depth;  ///< of the scope it ends with
    Affine terms;
    Reg reg;
  };
  std::vector<Pointer> pointers_;
  struct Tile {
    std::vector<int32_t> group_at;  ///< by element; -1: none
    std::vector<TileGroup> groups;
  };
  /// A condition whose outcome is known where code is emitted: behind a branch on it.
  struct Assumption {
    const ir::Expr* condition;
    bool holds;
  };
  std::vector<Assumption> assumed_;
  /// A block of a tile, turned; forgotten when the tile is written.
  struct Transposed {
    int buffer;
    int64_t first;
    int64_t stride;
    int rows;
    int64_t scope;
    std::vector<Reg> columns;
  };
  std::vector<Transposed> transposed_;
  std::unordered_map<const ir::Stmt*, Survey> surveys_;
  std::vector<LaneSum> sums_;
  Dot dot_;
  std::vector<Excess> excesses_;
  std::vector<Exceeding> exceeding_;
  Reg bias_;               ///< 128 in every byte, while that scope is open
  int excess_depth_ = -1;  ///< scope around the loops of the reduction; -1: none is open
  bool trying_ = false;    ///< see lane_index
  bool tangled_ = false;
  bool streaming_ = false;       ///< the version for aligned tensors is being emitted
  int sums_depth_ = 0;           ///< scope around the vector loop being emitted
  int conditions_ = 0;           ///< branches of the nest that are open inside the vector loop
  std::vector<Tile> tiles_;      ///< by buffer; empty unless it lives in registers
  std::vector<int> tile_bytes_;  ///< by buffer: of a lane of the loops that store to the tile
};

}  // namespace hone::jit
