// SPDX-License-Identifier: Apache-2.0
// Launches with pipes that threads of their own fill: the block has more threads along one axis,
// which run what leads to the fills and nothing else; the others run the rest.
//   for k: fill pipe 0 at k; ready pipe 0 at k; C += As; release pipe 0 at k
//     =>  if (threadIdx.y == 4) { if (threadIdx.x == 0) for k: wait until free; fill }
//         else for k: wait until full; C += As; warp_barrier; one lane frees
#include <fmt/format.h>

#include <set>

#include "jit/cuda/print_launch.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr const char* kRolesThread[] = {"threadIdx.x", "threadIdx.y", "threadIdx.z"};

constexpr int kWarp = 32, kWarpgroup = 128;

/// Registers of a thread for tiles from which on a block has a multiprocessor to itself anyhow.
constexpr int64_t kManyRegisters = 96;

/// Registers of a thread when a warpgroup of producers gives most of its own to so many warpgroups
/// of consumers; PTX ISA, setmaxnreg.
struct RegisterShare {
  int consumers, producer, consumer;
};
constexpr RegisterShare kShares[] = {{2, 40, 232}, {3, 32, 160}};

}  // namespace

/// Whether threads of their own run something inside `s`.
bool LaunchPrinter::fills_apart(const Stmt& s) const {
  bool found = false;
  each_stmt(s, [&](const Stmt& x) {
    found |= x.kind == Stmt::kFill && nest_.pipes[static_cast<size_t>(x.id)].specialized;
  });
  return found;
}

/// Registers of each thread that tiles take.
int64_t LaunchPrinter::held_registers() const {
  std::set<int> tiles;
  each_stmt(*launch_.body, [&](const Stmt& s) {
    if (s.kind == Stmt::kStore && nest_.buffers[static_cast<size_t>(s.id)].home == Home::kWarp) {
      tiles.insert(s.id);
    }
  });
  int64_t words = 0;
  for (int b : tiles) {
    const NestBuffer& buffer = nest_.buffers[static_cast<size_t>(b)];
    words += registers_of(buffer) * size_of(buffer.type) / 4;
  }
  return words;
}

/// The launch's range and body, by threads of both roles.
void LaunchPrinter::emit_roles() {
  consumers_ = threads();
  producer_axis_ = out_.block[2] > 1 ? 2 : 1;
  const int added = consumers_ / out_.block[static_cast<size_t>(producer_axis_)];
  if (consumers_ % kWarp != 0 || added % kWarp != 0) {
    throw Unprintable{
        fmt::format("launch {} has {} threads, and {} more that fill its pipeline; "
                    "both must be whole warps of {}: bind other loops to threads",
                    launch_.name, consumers_, added, kWarp)};
  }
  const RegisterShare* share = nullptr;
  for (const RegisterShare& s : kShares) {
    const bool fits = added == kWarpgroup && consumers_ == s.consumers * kWarpgroup;
    if (fits && held_registers() >= kManyRegisters) share = &s;
  }
  alone_ = share != nullptr;
  const char* axis = kRolesThread[producer_axis_];
  open(fmt::format("if ({} == {}) {{", axis, out_.block[static_cast<size_t>(producer_axis_)]));
  if (share) line(fmt::format("fewer_registers<{}>();", share->producer));
  open(producer_axis_ == 2 ? "if (threadIdx.x == 0 && threadIdx.y == 0) {"
                           : "if (threadIdx.x == 0) {");
  role_ = ThreadRole::kProducer;
  emit_range();
  unbound_.clear();
  close();
  close();
  open("else {");
  if (share) line(fmt::format("more_registers<{}>();", share->consumer));
  role_ = ThreadRole::kConsumer;
  emit_range();
  close();
  ++out_.block[static_cast<size_t>(producer_axis_)];
  out_.producer_axis = producer_axis_;
  check_threads();
}

/// One lane of each warp says that the warp is done with a slot; where blocks fill it together, one
/// for each of them, to all.
void LaunchPrinter::emit_release(const Stmt& s) {
  const int x = out_.block[0], y = out_.block[1];
  std::string thread = "threadIdx.x";
  if (x % kWarp != 0) {
    thread = fmt::format("((threadIdx.z * {} + threadIdx.y) * {} + threadIdx.x)", y, x);
  }
  line("warp_barrier();");
  const int blocks = nest_.pipes[static_cast<size_t>(s.id)].cluster;
  if (blocks == 1) {
    return line(fmt::format("if ({} % {} == 0) mbarrier_arrive({});", thread, kWarp,
                            slot_barrier(s, "empty")));
  }
  // The warps only read the slot, and have: nothing is to be shown to the other blocks.
  const char* arrive = forms_.fenced_arrive ? "mbarrier_release_at" : "mbarrier_arrive_at";
  line(fmt::format("if ({0} % {1} < {2}) {4}({3}, {0} % {1});", thread, kWarp, blocks,
                   slot_barrier(s, "empty"), arrive));
}

}  // namespace hone::jit
