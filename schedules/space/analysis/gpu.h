// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Threads of a block, unless a rule knows better.
/// Tuned on: no GPU; reckoned for an H100.
inline constexpr int64_t kBlockThreads = 256;
/// Blocks along the second and third axis of a grid.
/// Fixed by: CUDA.
inline constexpr int64_t kMostGridBlocks = 65535;
/// Bytes of the longest access of a thread.
/// Fixed by: CUDA.
inline constexpr int64_t kLongestAccess = 16;

/// Multiprocessors of the plan's GPU: fewer blocks leave some of them idle.
int64_t multiprocessors(const Plan& plan);

/// What fills a GPU of 132 multiprocessors, for the plan's GPU.
int64_t filling(const Plan& plan, int64_t of_large);

/// Bytes of shared memory that what a block holds of its operands may take.
int64_t operand_bytes(const Plan& plan);

/// Fuses adjacent loops of a stage, outermost first, into one as far as that applies; those that
/// are left, outermost first.
std::vector<std::string> fuse_loops(Plan& plan, const std::string& stage,
                                    std::vector<std::string> loops);

/// Puts the loops of a stage in order, outermost first: `outer`, the reduced ones but for `k`,
/// which was cut, and `inner`.
bool order_loops(Plan& plan, const std::string& stage, const std::vector<std::string>& outer,
                 const std::vector<std::string>& inner, const std::string& k = "");

/// Binds three loops at most to the axes of the grid: the last to x, unless another is too long for
/// the other axes.
bool bind_blocks(Plan& plan, const std::string& stage, const std::vector<std::string>& loops);

/// Spreads `var` over threads along an axis: neighbours by neighbouring threads, the loop over what
/// exceeds them outside.
bool bind_threads(Plan& plan, const std::string& stage, const std::string& var, int64_t threads,
                  ir::Mark axis);

/// Elements that a thread may access at once along `range`, variables that run on in memory,
/// outermost first. All accesses along it are contiguous, and their rows begin at multiples of the
/// width. Tensors in `inside` never come to memory and do not count. 1: one at a time.
int64_t vector_width(const Plan& plan, const std::string& stage,
                     const std::vector<std::string>& range,
                     const std::set<std::string>& inside = {});

/// The same of one access, which moves along the range.
int64_t vector_width(const Plan& plan, const StageFacts& facts, const Access& access,
                     const std::vector<std::string>& range);

/// A thread to each iteration of `chains`, loops of a recurrence, neighbours in memory beside one
/// another; inside it, the other loops in order. `apart`: the one of them that is fused with none.
bool spread_chains(Plan& plan, const std::string& stage, std::vector<std::string> chains,
                   const std::string& apart = "");

/// Cuts vectors of `width` from the loop that carries `var`; the loop over vectors, "" where that
/// does not apply. For a width of 1 the loop itself.
std::string cut_vectors(Plan& plan, const std::string& stage, const std::string& loop,
                        int64_t width);

/// Elements of a row that a thread may hold in registers.
/// Tuned on: no GPU; reckoned for an H100.
inline constexpr int64_t kMostHeld = 32;

/// Unrolls the loop `stage/loop` over a thread's share of `extent` elements, read by vectors of
/// `width`; there are `threads` threads. The whole share is unrolled if it fits registers, so that
/// a row read by several stages is read once. Otherwise some iterations are, so that enough loads
/// are under way.
void unroll_share(Plan& plan, const std::string& stage, const std::string& loop, int64_t extent,
                  int64_t threads, int64_t width);

/// Has the threads of a block copy what `copy` stages, 16 bytes each at a time: `y` rows of `x`
/// threads. `dims` are the copy's loops, outermost first, neighbours last.
bool copy_words(Plan& plan, const std::string& copy, const std::vector<std::string>& dims,
                const Number& y, int64_t x);

/// Whether the program under construction lowers: what a rule added is legal with the rest as it
/// stands.
bool lowers(Plan& plan);

/// The least power of two that is not below `n`.
int64_t power_of_two(int64_t n);

}  // namespace hone::schedules
