// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Software pipelining of loops with depth n. What the threads of a block put into shared memory at
/// an iteration, they put there n-1 iterations early, into the next of n slots. Stores of loads as
/// they are become asynchronous. What reads something that the loop writes stays where it is.
///   for k in 0..E: team As = A[k]; C += As
///     =>  for j in 0..n-1: if j < E: team As[slot j] = A[j]; commit
///         for k in 0..E: wait n-2; barrier; if k+n-1 < E: team As[slot (k+n-1)%n] = A[k+n-1];
///                        commit; C += As[slot k%n]
/// Where products of an iteration may go on in the next one, a slot is filled or released one
/// iteration later.
///
/// TMA copies have no groups. Positions of a pipe are counted on over the loops around. Each is
/// filled by one thread, and all threads wait for it. Where no pipeline makes copies early, they
/// are made at once.
///   for k in 0..E: team box As = A[k]; C += As
///     =>  for j in 0..n-1: if j < E: fill at j: box As[slot j] = A[j]
///         for k in 0..E: barrier; if k+n-1 < E: fill at k+n-1: ..; ready at k; C += As[slot k%n]
/// A specialized loop (warp specialization) is filled by threads of their own, which wait for slots
/// to be free:
///     =>  for k in 0..E: fill at k: box As[slot k%n] = A[k]; ready at k; C += ..; release at k
ir::Nest pipelined(ir::Nest nest);

}  // namespace hone::jit
