// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/stmt.h"

namespace hone::ir {

/// Where a buffer of a Nest lives.
enum class Home : uint8_t {
  kArgument,      ///< a tensor of the call: pointer in args slot `slot`
  kBound,         ///< packed once at bind: pointer in args slot `slot`
  kWorkspace,     ///< of the call, at byte `offset` of it
  kWorker,        ///< scratch of one worker, at byte `offset` of it
  kRegisters,     ///< a tile in vector registers; once unrolled, every access is at a constant
  kSharedMemory,  ///< of a GPU's thread block
  kWarp,          ///< registers of all lanes of a warp or warpgroup; element o is in lane o%lanes
};

/// A flat array. Elements are addressed by element offset.
struct NestBuffer {
  std::string name;
  DType type = DType::kF32;
  Home home = Home::kArgument;
  int slot = -1;          ///< index in the args struct (kArgument, kBound)
  Expr elements;          ///< bound of accesses: 0 <= offset < elements
  int64_t offset = 0;     ///< bytes, 64-byte aligned (kWorker); kWorkspace when sizes are constant
  int64_t max_bytes = 0;  ///< upper bound of its size
  int64_t align = 0;      ///< of the first element's address, in bytes; 0: an element's size
  int depth = 1;          ///< kSharedMemory: iterations of a pipeline that it holds side by side
  int64_t swizzle = 0;    ///< kSharedMemory: bytes of rows whose 16-byte chunks change places, see
                          ///< swizzled(). Offsets are those before that. 0: none do
  int lanes = 32;         ///< kWarp: threads that hold it together
  bool stream = false;
  bool written = false;  ///< by some launch
};

/// Where byte `offset` goes in a buffer with swizzled rows of `row` bytes (a power of two, 32 or
/// more). The number of a chunk of 16 bytes is xored with its row's, within 128 bytes. A column of
/// chunks lies in all banks then.
int64_t swizzled(int64_t offset, int64_t row);

/// A tensor map of a GPU's TMA (tensor memory accelerator): a tensor's dimensions, the one with
/// neighbouring elements first. A copy lies in shared memory in this order; outside all is 0.
struct TensorMap {
  int buffer = -1;            ///< the tensor
  std::vector<Expr> sizes;    ///< elements per dimension
  std::vector<Expr> strides;  ///< bytes per dimension; the first is an element's
  std::vector<int64_t> box;   ///< boxDim: elements of a copy per dimension
  int64_t swizzle = 0;        ///< bytes of a row that the copy swizzles; 0: none

  int64_t box_elements() const;
};

/// Ring buffers in shared memory that TMA copies fill. Each holds `depth` positions; position p is
/// the one of number p % depth there.
struct Pipe {
  int depth = 1;
  int64_t bytes = 0;         ///< copied for each position
  std::vector<int> buffers;  ///< written by the copies
  bool specialized = false;  ///< warps of their own fill it, as fast as positions are released
  int cluster = 1;           ///< blocks that fill it together: all of them release a position
};

/// One launch: `fn(args, begin, end, scratch)` runs `body` for loop `range` in [begin, end).
/// Launches run in order with a barrier between. A launch does nothing when the status word is set.
struct Launch {
  std::string name;
  int range = -1;             ///< loop number of the outer range
  Mark mark = Mark::kSerial;  ///< the range's, where it is bound to an axis of the grid
  Expr extent;                ///< of the range; in constants and dims
  int cluster = 1;            ///< of a range of blocks: neighbours that run together
  bool parallel = false;      ///< ranges may run at the same time
  bool at_bind = false;       ///< packs a constant: runs once, when it is bound
  StmtRef before;             ///< what a thread runs before its part of the range; may be null
  StmtRef body;
};

/// A lowered program. Copies of loops (peeled tails, partitions) are made and offsets are flat.
/// Loops keep their marks: back ends carry out kUnroll, kVector and kTensor.
///
/// Vector loops are innermost or contain only unrolled and tensor loops and stores. Their extent
/// may be any expression: back ends strip-mine and mask. A store with `reduce` whose offset does
/// not depend on an enclosing vector loop combines all lanes (horizontal reduction).
///
/// A tensor loop is innermost, around one store that sums. It has as many iterations as its
/// instruction takes, or fewer where a rest was peeled. Those of an instruction on tiles stand one
/// in the other; the store may give the tile its first value instead.
struct Nest {
  std::vector<NestBuffer> buffers;
  std::vector<std::string> loops;  ///< names, by loop number
  std::vector<Dim> dims;
  std::vector<ScalarParam> scalars;
  std::vector<Launch> launches;
  std::vector<TensorMap> maps;  ///< of TMA copies
  std::vector<Pipe> pipes;      ///< of TMA copies
  int slots = 0;                ///< of the args struct, see ArgsLayout
  int64_t worker_bytes = 0;     ///< scratch of one worker
  int64_t workspace_bytes = 0;  ///< upper bound of the workspace of a call
};

/// The args struct: 8-byte slots. Slot 0 points to the status word, an int64: INT64_MAX when fine,
/// else the lowest bad position. Slot 1 points to the workspace. Then come pointers
/// to tensors, in the order of Program::buffers' parameters, and to bound buffers. Dims and strides
/// given at the call (int64) follow, then scalars (the value's bits in the low bytes).
struct ArgsLayout {
  /// Fixed by: the layout above.
  static constexpr int kStatus = 0;
  static constexpr int kWorkspace = 1;
  static constexpr int kFirstTensor = 2;
  std::vector<int> tensor_slots;  ///< per parameter
  std::vector<int> bound_slots;   ///< per bound buffer
  std::vector<int> dim_slots;     ///< per Nest::dims
  std::vector<int> scalar_slots;  ///< per Nest::scalars
};

/// The layout that lowering, back ends and callers share.
ArgsLayout args_layout(const Nest& nest);

/// Element `offset` of `buffer`, which is number `id` of its nest.
Expr make_nest_load(const NestBuffer& buffer, int id, Expr offset);

/// Indented loops as text; deterministic.
std::string print(const Nest& nest);

}  // namespace hone::ir
