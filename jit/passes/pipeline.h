// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Software pipelining of loops with depth n. What the threads of a block put into shared memory at
/// an iteration, they put there n-1 iterations early, into ring buffers for n iterations. Stores of
/// loads as they are become asynchronous. What reads something that the loop writes stays where it
/// is.
///   for k in 0..E: team: As = A[k]; C += As
///     =>  for j in 0..n-1: if j < E: team: As.j = A[j]; commit
///         for k in 0..E: wait n-2; barrier; if k+n-1 < E: team: As.((k+n-1)%n) = A[k+n-1];
///                        commit; C += As.(k%n)
/// Where wgmma of an iteration may go on in the next one, memory is filled or released one
/// iteration later.
///
/// TMA copies have no groups. Positions of a pipe are counted on over the loops around. Each is
/// filled by one thread, and all threads wait for it. Where no pipeline makes copies early, they
/// are made at once.
///   for k in 0..E: team: tma As = A[k]; C += As
///     =>  for j in 0..n-1: if j < E: fill at j: tma As.j = A[j]
///         for k in 0..E: barrier; if k+n-1 < E: fill at k+n-1: ..; ready at k; C += As.(k%n)
/// A specialized loop (warp specialization) is filled by threads of their own, which wait for room
/// in the ring buffers:
///     =>  for k in 0..E: fill at k: tma As.(k%n) = A[k]; ready at k; C += ..; release at k
ir::Nest pipelined(ir::Nest nest);

}  // namespace hone::jit
