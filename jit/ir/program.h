// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/ir/cow_vector.h"
#include "jit/ir/expr.h"
#include "jit/ir/gpu_loop.h"
#include "jit/ir/mark.h"

namespace hone::ir {

struct Instruction;

/// What a buffer is to the caller.
enum class Role : uint8_t { kInput, kOutput, kInOut, kTemp };

/// Where a temporary lives. kRoot: once per call, shared by all workers. kSharedMemory: in the
/// shared memory of a GPU's thread block. kWarp: in registers of a warp's lanes together; each lane
/// holds a part of every tile of a tensor instruction.
enum class Space : uint8_t { kRoot, kScratch, kRegisters, kSharedMemory, kWarp };

/// One physical axis of a buffer: `(index[dim] / div) % mod` (mod 0: no modulus).
struct Axis {
  int dim = 0;
  int64_t div = 1;
  int64_t mod = 0;
  bool operator==(const Axis&) const = default;
};

/// What the caller has in a parameter of u8 whose bytes hold several elements each, the first in
/// the low bits. Rows of such elements begin at whole bytes.
struct PackedElements {
  DType type = DType::kU4;
  int dim = 0;  ///< the dim along which elements share bytes: the innermost in memory
  Expr extent;  ///< of that dim, in elements
};

/// A tensor: a parameter of the op or what a stage computes.
struct Buffer {
  std::string name;
  DType type = DType::kF32;
  Role role = Role::kTemp;
  std::vector<Expr> shape;     ///< logical extents, outermost first
  std::vector<Axis> axes;      ///< physical order, outermost first; empty: dense row-major
  std::vector<Expr> strides;   ///< elements, per axis; empty: dense over `axes`
  int64_t align = 0;           ///< bytes promised (parameters); 0: element size
  bool constant = false;       ///< bound once (`const=`)
  bool stream = false;         ///< non-temporal stores (step `stream`)
  Space space = Space::kRoot;  ///< of temporaries
  bool cold = false;           ///< in no cache when a call begins (`cold=`)
  int64_t pad = 0;             ///< kSharedMemory: elements between rows of the last axis
  bool swizzle = false;        ///< kSharedMemory: 16-byte chunks change places, see NestBuffer
  std::optional<PackedElements> packed = {};  ///< of parameters; `type` is u8 then

  /// The type and the extents that the caller sees.
  DType element_type() const { return packed ? packed->type : type; }
  const Expr& element_extent(size_t dim) const {
    return packed && packed->dim == static_cast<int>(dim) ? packed->extent : shape[dim];
  }
};

/// A dim known only at the call: lo <= value <= hi; `at` are values to be good at.
struct Dim {
  std::string name;
  int64_t lo = 0;
  int64_t hi = 0;
  std::vector<int64_t> at;
};

/// A scalar argument of the op.
struct ScalarParam {
  std::string name;
  DType type = DType::kF32;
};

/// An index or reduction variable: lo <= name < hi. Bounds of reduction variables may load from
/// integer tensors and name index variables (ragged).
struct IndexVar {
  std::string name;
  Expr lo;  ///< null: 0
  Expr hi;
  /// Its loop's first iteration has the last value: of an index of a recurrence that reads later
  /// positions.
  bool backward = false;

  /// True where it has no value, whatever the dims.
  bool empty() const;
};

/// Whether `e` mentions any of the variables.
bool mentions_any(const Expr& e, const std::vector<IndexVar>& vars);

/// How a reduction combines. kAny and kAll are over bool. kLast: the last term stays, of a scatter
/// that assigns.
enum class Reduce : uint8_t { kNone, kSum, kProd, kMax, kMin, kAny, kAll, kLast };

/// The value of an empty reduction: what changes nothing it is combined with.
Expr identity(Reduce reduce, DType type);
/// What a reduction makes of two values.
Expr combination(Reduce reduce, const Expr& a, const Expr& b);

/// What to do where a split does not divide. kExact: it must. kPad: the inner loop runs whole all
/// the same; what copies read outside a tensor is 0, and results outside theirs are not stored.
enum class Tail : uint8_t { kExact, kMask, kPeel, kOverlap, kPad };

/// `split parent factor -> outer inner`, or `fuse parent second -> outer`.
struct Relation {
  enum Kind : uint8_t { kSplit, kFuse } kind = kSplit;
  std::string parent;
  std::string second;  ///< fuse only: the inner loop
  std::string outer;   ///< split: outer loop; fuse: the fused loop
  std::string inner;   ///< split only
  int64_t factor = 0;
  Tail tail = Tail::kMask;
};

/// A loop of one stage. Names are unique within their stage; `stage/loop` is unique in a Program.
struct Loop {
  std::string name;
  Mark mark = Mark::kSerial;
  bool partition = false;  ///< peel the iterations where a condition is not constant
  GpuLoop gpu = {};
  const Instruction* instruction = nullptr;  ///< of kTensor
};

/// A place inside another stage's loop. Empty: the root.
struct Place {
  std::string stage;
  std::string loop;
  bool root() const { return stage.empty(); }
  bool operator==(const Place&) const = default;
};

/// `prefetch tensor at loop distance=d`: lines of what iteration loop+d reads. With `outer`, a loop
/// around: of what iteration outer+d reads, a share of the lines at each iteration of `loop`.
struct Prefetch {
  std::string tensor;
  std::string loop;
  int64_t distance = 0;
  Place outer = {};
};

/// One statement: `output[out_index] = reduce over rvars of value`, for all vars within `where`.
///
/// Definition: vars, rvars, reduce, value, where, out_index never mention loops, except that
/// `factored` loops extend the output's index (see below). Schedule: relations, loops, at, store,
/// prefetches.
///
/// A stage starts with one loop per variable, with the variable's name: vars, then rvars. Splits
/// and fuses derive loops from loops; `loops` lists the leaves, outermost first. The extent of a
/// root loop is the window of its variable that the consumers inside `at` need. At the root that is
/// the whole domain. A split's outer loop has ceil(E/f) iterations, its inner loop min(f, E -
/// f*outer).
///
/// `factored`: loops (derived from reduction variables) that are output indices after the vars
/// instead of being reduced; step rfactor makes them.
struct Stage {
  std::string name;
  std::string output;  ///< the buffer it defines
  std::vector<IndexVar> vars;
  std::vector<IndexVar> rvars;
  Reduce reduce = Reduce::kNone;
  DType accumulate = DType::kF32;  ///< type of the running value of a reduction
  bool from_old = false;        ///< a reduction that begins with what its output, an inout, holds
  std::vector<Expr> out_index;  ///< one per logical dim of the output, without `factored`
  std::vector<std::string> factored;
  Expr value;
  Expr where;  ///< null: everywhere

  std::vector<Relation> relations;
  std::vector<Loop> loops;
  Place at;
  Place store;  ///< root(): same as `at`
  std::vector<Prefetch> prefetches;
  bool tma = false;  ///< step `tma`: TMA copies it into shared memory

  const Loop* loop(std::string_view name) const;
  const IndexVar* var(std::string_view name) const;
  bool is_reduction_var(std::string_view name) const;
  /// True for a reduction over an empty range, whatever the dims: its value is the identity.
  bool reduces_nothing() const;
  /// True where the result has no elements, whatever the dims.
  bool writes_nothing() const;
};

/// A data-dependent bound that must hold before a stage may run: for all `vars`,
/// lo <= value <= hi. `position` is the flat element of `tensor` reported when it does not.
struct Check {
  std::vector<IndexVar> vars;
  Expr value;
  Expr lo;
  Expr hi;  ///< inclusive
  std::string tensor;
  Expr position;
};

/// A sum of products that is computed from fewer products, of combined factors.
struct Transformed {
  std::string sum;           ///< the stage
  std::string data, filter;  ///< the stages that combine factors
  std::string products;      ///< the stage that sums the products
  std::string rule;          ///< how, as numerics classes say it: `winograd(r/2`
};

/// Buffers and stages in dependency order. A value: steps return a new one.
struct Program {
  CowVector<Buffer> buffers;  ///< parameters in the op's order, then temporaries
  std::vector<ScalarParam> scalars;
  std::vector<Dim> dims;  ///< those known only at the call; fixed dims are constants everywhere
  CowVector<Check> checks;
  CowVector<Stage> stages;
  /// Errors of sums of products are small beside the largest elements that they read, not beside
  /// their own terms. Infinite elements and NaN may reach any result.
  bool normwise = false;
  std::vector<Transformed> transformed;

  const Buffer* buffer(std::string_view name) const;
  const Stage* stage(std::string_view name) const;
  /// The stage that writes `buffer`, or null for inputs.
  const Stage* producer(std::string_view buffer) const;
};

/// Readable text: buffers, then each stage's definition, placement and loop nest. Deterministic.
std::string print(const Program& program);

std::string_view name_of(Reduce r);
std::string_view name_of(Tail t);
std::string_view name_of(Space s);

}  // namespace hone::ir
