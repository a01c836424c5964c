// SPDX-License-Identifier: Apache-2.0
// TMA copies, and the mbarriers that say when they are there.
//   fill pipe 0 at p: tma copy of A[k, m] to As[..]
//     =>  if (threadIdx.x == 0) { mbarrier_arrive_expect(full + p % depth, bytes);
//                                 tensor_load(As + .., &args.map[0], full + p % depth, k, m); }
//   ready pipe 0 at p  =>  mbarrier_wait(full + p % depth, p / depth % 2)
// A part of a copy that goes to all blocks of a cluster counts at the same mbarrier of each.
#include "jit/cuda/print_tma.h"

#include <fmt/format.h>

#include <utility>

namespace hone::jit {

using namespace ir;

namespace {

/// Bytes that the address of a tensor is a multiple of, for TMA.
/// Fixed by: TMA.
constexpr int64_t kMapAlign = 16;

/// Fixed by: CUDA, an mbarrier's size.
constexpr int64_t kBarrierBytes = 8;

/// Fixed by: CUDA.
constexpr int kWarpLanes = 32;

constexpr const char* kThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

/// The mbarriers of a pipe, one for each position that it holds: `full` or `empty`. Names of
/// buffers end in `_`.
std::string barriers_of(const char* of, int pipe) { return fmt::format("{}_{}", of, pipe); }

}  // namespace

/// Of all threads of the block, the first.
std::string TmaPrinter::first_thread() const {
  std::string out = "threadIdx.x == 0";
  for (size_t a = 1; a < 3; ++a) {
    const bool several = out_.block[a] > 1 || static_cast<int>(a) == context_.producer_axis;
    if (several) out += std::string(" && ") + kThread[a] + " == 0";
  }
  return out;
}

/// The mbarrier of a position.
std::string TmaPrinter::barrier_of(int number, const Expr& position, const char* of) {
  const Pipe& pipe = nest_.pipes[static_cast<size_t>(number)];
  pipes_.insert(number);
  note(position);
  const Expr index = make_binary(Op::kMod, position, make_int(pipe.depth));
  return fmt::format("shared_address(HONE_AT({}, {}))", barriers_of(of, number),
                     print_index(index, n_));
}

/// One thread announces what comes and starts the copies; threads of their own first
/// wait until the ring buffers have room.
void TmaPrinter::emit_fill(const FillStmt& s) {
  const Pipe& pipe = nest_.pipes[static_cast<size_t>(s.pipe)];
  if (pipe.specialized && role_ == ThreadRole::kConsumer) return;
  const std::string around = filled_;
  const ThreadRole role = std::exchange(role_, ThreadRole::kAll);
  open(pipe.specialized ? "{" : "if (" + first_thread() + ") {");
  filled_ = "filled_" + std::to_string(++fills_);
  line(fmt::format("const u32 {} = {};", filled_, barrier_of(s.pipe, s.position, "full")));
  if (pipe.specialized) {
    line(fmt::format("mbarrier_wait({}, {});", barrier_of(s.pipe, s.position, "empty"),
                     parity_of(s.pipe, s.position, 1)));
  }
  line(fmt::format("mbarrier_arrive_expect({}, {});", filled_, pipe.bytes));
  ThreadScope alone;
  for (const StmtRef& b : s.body) emit(*b, alone);
  close();
  filled_ = around;
  role_ = role;
}

/// The parity of the phase that a position is in, or of the one `ahead` later.
std::string TmaPrinter::parity_of(int number, const Expr& position, int64_t ahead) {
  const Pipe& pipe = nest_.pipes[static_cast<size_t>(number)];
  const Expr phase = make_binary(Op::kDiv, position, make_int(pipe.depth)) + make_int(ahead);
  return "(u32)(" + print_index(make_binary(Op::kMod, phase, make_int(2)), n_) + ")";
}

void TmaPrinter::emit_ready(const ReadyStmt& s) {
  line(fmt::format("mbarrier_wait({}, {});", barrier_of(s.pipe, s.position, "full"),
                   parity_of(s.pipe, s.position, 0)));
}

void TmaPrinter::emit_tma_copy(const TmaCopyStmt& s) {
  used_.insert(s.buffer);
  note(s.offset);
  std::string at;
  for (const Expr& e : s.at) {
    note(e);
    const std::string index = print_index(e, n_);
    at += n_.wide ? ", (i32)(" + index + ")" : ", " + index;
  }
  const std::string to = fmt::format("shared_address(HONE_AT({}, {})), &args.map[{}], {}",
                                     n_.buffers[static_cast<size_t>(s.buffer)],
                                     print_index(s.offset, n_), number_of_map(s.map), filled_);
  if (s.cluster > 1) {
    line(fmt::format("tensor_load_multicast({}, {}{});", to, (1 << s.cluster) - 1, at));
  } else {
    line(fmt::format("tensor_load({}{});", to, at));
  }
}

/// The launch's number of a map of the nest.
int TmaPrinter::number_of_map(int map) {
  const auto [found, first] = maps_.try_emplace(map, static_cast<int>(maps_.size()));
  if (!first) return found->second;
  const TensorMap& m = nest_.maps[static_cast<size_t>(map)];
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(m.buffer)];
  const bool workspace = b.home == Home::kWorkspace;
  CudaMap made;
  made.slot = workspace ? +ArgsLayout::kWorkspace : b.slot;
  made.offset = workspace ? b.offset : 0;
  made.type = b.type;
  made.sizes = m.sizes;
  made.strides = m.strides;
  made.box = m.box;
  made.swizzle = m.swizzle;
  out_.maps.push_back(std::move(made));
  rely_on(m.buffer, kMapAlign);
  if (maps_at(static_cast<size_t>(nest_.slots)) + kMapBytes * out_.maps.size() > kParameterBytes) {
    throw ir::Reject{
        fmt::format("launch {} takes {} slots and {} tensor maps, which are more than "
                    "the {} bytes that a kernel's parameters have",
                    launch_.name, nest_.slots, out_.maps.size(), kParameterBytes)};
  }
  return found->second;
}

/// Bytes of the mbarriers in shared memory.
int64_t TmaPrinter::barrier_bytes() const {
  int64_t n = 0;
  for (int p : pipes_) {
    const Pipe& pipe = nest_.pipes[static_cast<size_t>(p)];
    n += pipe.specialized ? 2 * pipe.depth : pipe.depth;
  }
  return kBarrierBytes * n;
}

/// Declares the mbarriers; one thread makes them, before any other touches them.
std::string TmaPrinter::declare_pipes() const {
  if (pipes_.empty()) return "";
  std::string text, made;
  int64_t at = barriers_at_;
  const auto declare = [&](const std::string& name, int depth, int count) {
    text += barriers_at_ < 0 ? fmt::format("  HONE_TEAM(u64, {}, {});\n", name, depth)
                             : fmt::format("  HONE_TEAM_AT(u64, {}, {}, {});\n", name, depth, at);
    at += kBarrierBytes * depth;
    made += fmt::format(
        "    for (i32 i = 0; i < {}; ++i) mbarrier_init(shared_address(HONE_AT({}, i)), {});\n",
        depth, name, count);
  };
  for (int p : pipes_) {
    const Pipe& pipe = nest_.pipes[static_cast<size_t>(p)];
    declare(barriers_of("full", p), pipe.depth, 1);
    if (!pipe.specialized) continue;
    declare(barriers_of("empty", p), pipe.depth, pipe.cluster * context_.consumers / 32);
  }
  return text + "  if (" + first_thread() + ") {\n" + made + "    fence_mbarrier_init();\n  }\n" +
         (clusters_.blocks() > 1 ? clusters_.meet_cluster() : "  __syncthreads();\n");
}

/// Whether threads of their own run something inside `s`.
bool TmaPrinter::fills_apart(const Stmt& s) const {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    const auto* fill = as<FillStmt>(x);
    found |= fill && nest_.pipes[static_cast<size_t>(fill->pipe)].specialized;
  });
  return found;
}

/// One lane of each warp reports that the warp is done with a position. Where blocks of a cluster
/// fill it together, one lane for each block reports to it.
void TmaPrinter::emit_release(const ReleaseStmt& s) {
  const int x = out_.block[0], y = out_.block[1];
  std::string thread = "threadIdx.x";
  if (x % kWarpLanes != 0) {
    thread = fmt::format("((threadIdx.z * {} + threadIdx.y) * {} + threadIdx.x)", y, x);
  }
  line("warp_barrier();");
  const int blocks = nest_.pipes[static_cast<size_t>(s.pipe)].cluster;
  if (blocks == 1) {
    return line(fmt::format("if ({} % {} == 0) mbarrier_arrive({});", thread, kWarpLanes,
                            barrier_of(s.pipe, s.position, "empty")));
  }
  // The warps only read what is there, and have: nothing is to be shown to the other blocks.
  const char* arrive = forms_.fenced_arrive ? "mbarrier_release_at" : "mbarrier_arrive_at";
  line(fmt::format("if ({0} % {1} < {2}) {4}({3}, {0} % {1});", thread, kWarpLanes, blocks,
                   barrier_of(s.pipe, s.position, "empty"), arrive));
}

}  // namespace hone::jit
