// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace hone::jit {

/// Threads that access memory together.
/// Fixed by: CUDA.
inline constexpr int kLanes = 32;

/// One access by the lanes of a warp at the same time.
struct Request {
  std::array<int64_t, kLanes> address{};  ///< bytes from the start of the buffer
  uint32_t active = 0;                    ///< lanes that take part
  int bytes = 4;                          ///< of each lane: 1 to 16
};

/// Sectors of 32 bytes that a request to global memory touches.
int sectors_of(const Request& r);

/// Sectors that would do for as many distinct bytes, if they lay together.
int least_sectors_of(const Request& r);

/// Rounds in which shared memory serves a request: a bank serves one of its 4-byte words a round.
/// Accesses of 8 (16) bytes are served by half (quarter) warps.
int rounds_of(const Request& r);

/// Rounds that it would take without conflicts between banks.
int least_rounds_of(const Request& r);

}  // namespace hone::jit
