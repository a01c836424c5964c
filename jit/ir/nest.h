// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::ir {

/// Where a buffer of a Nest lives.
enum class Home : uint8_t {
  kArgument,      ///< a tensor of the call: pointer in args slot `slot`
  kBound,         ///< packed once at bind: pointer in args slot `slot`
  kWorkspace,     ///< of the call, at byte `offset` of it
  kWorker,        ///< scratch of one worker, at byte `offset` of it
  kRegisters,     ///< a tile in vector registers; every access has a constant offset once unrolled
  kSharedMemory,  ///< of a GPU's thread block
  kWarp,  ///< registers of the lanes of a warp, or of a warpgroup, together: of element `o`,
          ///< lane o%lanes has it
};

/// A flat array. Elements are addressed by element offset.
struct NestBuffer {
  std::string name;
  DType type = DType::kF32;
  Home home = Home::kArgument;
  int slot = -1;       ///< index in the args struct (kArgument, kBound)
  Expr elements;       ///< how many elements an access may touch (bounds: 0 <= offset < elements)
  int64_t offset = 0;  ///< bytes, 64-byte aligned (kWorker); kWorkspace when sizes are constant
  int64_t max_bytes = 0;  ///< upper bound of its size
  int64_t align = 0;      ///< bytes: the first element's address is a multiple; 0: of the element's
  int slots = 1;  ///< kSharedMemory: iterations of a pipeline that it holds, one after the other
  int64_t swizzle = 0;  ///< kSharedMemory: bytes of a row of which 16-byte chunks change places,
                        ///< see swizzled(); offsets are those before
  int lanes = 32;       ///< kWarp: threads that hold it together
  bool stream = false;
  bool written = false;  ///< by some launch
};

/// Where byte `offset` of a buffer goes whose rows of `row` bytes (a power of two, 32 or more) are
/// swizzled: chunks of 16 bytes trade places within 128 bytes by the number of their row, so that
/// a column of chunks lies in all banks.
int64_t swizzled(int64_t offset, int64_t row);

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;

/// A statement of a lowered program.
struct Stmt {
  enum Kind : uint8_t {
    kSequence,  ///< body in order
    kFor,       ///< loop `id` from `begin` to `end` (exclusive), step 1, body
    kIf,        ///< `condition` (kBool): body[0], else body[1] if present
    kStore,     ///< buffer `id` [offset] = value, or with `reduce`: combine(buffer[offset], value)
    kPrefetch,  ///< the line of buffer `id` at element `offset`; never faults
    kCheck,     ///< unless `condition`: status = min(status, value)
    kTeam,      ///< body, run once by all threads of a block together: thread loops around it are
                ///< not its own, and it mentions none of them
    kBarrier,   ///< all threads of a block wait for one another
    kCopyCommit,   ///< the asynchronous stores since the last one are a group of their own
    kCopyWait,     ///< until at most `pending` groups, the youngest, are under way
    kWgmmaFence,   ///< products of a warpgroup come that hold buffer `id`, -1: more of them
    kWgmmaCommit,  ///< the products since the last one are a group of their own
    kWgmmaWait,    ///< until at most `pending` groups of products are under way; of 0, buffer `id`
                   ///< is the threads' again
    kTmaCopy,      ///< TMA copies a box of tensor map `map` from coordinates `at` to buffer `id`
                   ///< at `offset`; body: what that means, element by element
    kFill,         ///< one thread announces the bytes of pipe `id` at `position` and starts the
                   ///< copies in body; they may land as late as at the kReady of the position
    kReady,        ///< until what kFill of pipe `id` started at `position` is there
    kRelease,      ///< a warp is done with what kReady of pipe `id` at `position` gave it; only of
                   ///< pipes that are specialized
  } kind = kSequence;
  int id = -1;
  Mark mark = Mark::kSerial;
  const Instruction* instruction = nullptr;  ///< kFor marked kTensor
  Reduce reduce = Reduce::kNone;
  bool async = false;  ///< kStore of a load as it is: may land as late as at the wait for its group
  int pending = 0;     ///< of a kCopyWait
  int stages = 1;      ///< of a kFor: iterations that a pipeline holds; see pipelined()
  bool specialized = false;  ///< of a kFor with stages: threads of their own fill its pipe
  int lag = 0;               ///< of a kFor with stages: iterations for which products go on
  int cluster = 1;           ///< of a kFor over blocks: neighbours that run together; of a
                             ///< kTmaCopy: blocks that each bring a part of the box to all
  int into = -1;             ///< of a kFor over threads that reduces: the buffer into which it does
  int map = -1;              ///< of a kTmaCopy: in Nest::maps
  Expr begin, end;
  Expr condition;
  Expr offset;
  Expr value;
  Expr position;  ///< of kFill, kReady, kRelease: how often the launch filled the pipe before
  std::vector<Expr> at;  ///< of a kTmaCopy: first index of the box per dimension of its map
  std::vector<StmtRef> body;
};

/// How a GPU's TMA sees a tensor: dimensions from the one whose elements are neighbours
/// outwards, in the order in which a box of it lies in shared memory. What lies outside is 0.
struct TensorMap {
  int buffer = -1;            ///< the tensor
  std::vector<Expr> sizes;    ///< elements per dimension
  std::vector<Expr> strides;  ///< bytes per dimension; the first is an element's
  std::vector<int64_t> box;   ///< elements of a box per dimension
  int64_t swizzle = 0;        ///< bytes of a row that the copy swizzles; 0: none

  int64_t box_elements() const;
};

/// Slots in shared memory that bulk copies fill, one after the other: position p goes to slot
/// p % stages.
struct Pipe {
  int stages = 1;
  int64_t bytes = 0;         ///< that the copies of a position bring
  std::vector<int> buffers;  ///< that they write
  bool specialized = false;  ///< threads of their own fill it, as fast as slots are released
  int cluster = 1;           ///< blocks that fill it together: all of them release a slot
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
  StmtRef body;
};

/// A lowered program: loops with copies (peeled tails, partitions) made, offsets flat, marks kept
/// on loops (kUnroll, kVector and kTensor are carried out by the back ends).
///
/// Vector loops are innermost or contain only unrolled and tensor loops and stores; their extent
/// may be any expression: back ends strip-mine and mask. A kStore with `reduce` whose offset does
/// not depend on an enclosing vector loop combines all lanes (horizontal reduction). A tensor loop
/// is innermost, around one kStore that sums; it has as many iterations as its instruction takes,
/// or fewer where a rest was peeled. Those of an instruction on tiles stand one in the other, and
/// the store may give the tile its first value instead.
struct Nest {
  std::vector<NestBuffer> buffers;
  std::vector<std::string> loops;  ///< names, by loop number
  std::vector<Dim> dims;
  std::vector<ScalarParam> scalars;
  std::vector<Launch> launches;
  std::vector<TensorMap> maps;  ///< of bulk copies
  std::vector<Pipe> pipes;      ///< of bulk copies
  int slots = 0;                ///< of the args struct, see ArgsLayout
  int64_t worker_bytes = 0;     ///< scratch of one worker
  int64_t shared_bytes = 0;     ///< upper bound of the workspace of a call
};

/// The args struct: 8-byte slots. Slot 0 points to the status word (int64: INT64_MAX when fine,
/// else the lowest bad position); slot 1 to the shared workspace; then tensors (pointers, in the
/// order of Program::buffers' parameters), bound buffers, dims (int64), strides given at the call,
/// scalars (the value's bits in the low bytes).
struct ArgsLayout {
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

/// Indented loops as text; deterministic.
std::string print(const Nest& nest);

}  // namespace hone::ir
