// SPDX-License-Identifier: Apache-2.0
// Launches with pipes that threads of their own fill. The block has more threads along one axis,
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

/// Fixed by: CUDA.
constexpr int kWarp = 32, kWarpgroup = 128;

/// Registers of a thread for tiles from which on a block has a multiprocessor to itself anyhow.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kManyRegisters = 96;

/// Registers per thread under warp specialization: a warpgroup of producers gives most of its own
/// to `consumers` warpgroups of consumers. See PTX ISA, setmaxnreg.
/// Fixed by: the registers of a multiprocessor, in multiples of 8.
struct RegisterShare {
  int consumers, producer, consumer;
};
constexpr RegisterShare kShares[] = {{2, 40, 232}, {3, 32, 160}};

}  // namespace

/// The launch's range and body, by threads of both roles.
void LaunchPrinter::emit_specialized() {
  context_.consumers = threads();
  context_.producer_axis = out_.block[2] > 1 ? 2 : 1;
  const int added = context_.consumers / out_.block[static_cast<size_t>(context_.producer_axis)];
  if (context_.consumers % kWarp != 0 || added % kWarp != 0) {
    throw ir::Reject{
        fmt::format("launch {} has {} threads, and {} more that fill its pipeline; "
                    "both must be whole warps of {}: bind other loops to threads",
                    launch_.name, context_.consumers, added, kWarp)};
  }
  const RegisterShare* share = nullptr;
  for (const RegisterShare& s : kShares) {
    const bool fits = added == kWarpgroup && context_.consumers == s.consumers * kWarpgroup;
    if (fits && tiles_.held_registers() >= kManyRegisters) share = &s;
  }
  alone_ = share != nullptr;
  const char* axis = kRolesThread[context_.producer_axis];
  open(fmt::format("if ({} == {}) {{", axis,
                   out_.block[static_cast<size_t>(context_.producer_axis)]));
  if (share) line(fmt::format("fewer_registers<{}>();", share->producer));
  open(context_.producer_axis == 2 ? "if (threadIdx.x == 0 && threadIdx.y == 0) {"
                                   : "if (threadIdx.x == 0) {");
  role_ = ThreadRole::kProducer;
  emit_range();
  context_.unbound.clear();
  close();
  close();
  open("else {");
  if (share) line(fmt::format("more_registers<{}>();", share->consumer));
  role_ = ThreadRole::kConsumer;
  emit_range();
  close();
  ++out_.block[static_cast<size_t>(context_.producer_axis)];
  out_.producer_axis = context_.producer_axis;
  check_threads();
}

}  // namespace hone::jit
