// SPDX-License-Identifier: Apache-2.0
// What a tensor map says, as the emulation keeps it in the 128 bytes that the driver's is.
#pragma once

#include <cstdint>

namespace emulation {

/// A tensor in global memory and the box of it (boxDim) that one TMA copy moves. Dimension 0 has
/// its elements next to each other; the others have strides in bytes.
struct TensorFacts {
  uint64_t address = 0;
  uint32_t rank = 0, element = 0, swizzle = 0;  ///< bytes of an element; of the swizzle, 0 if none
  uint64_t size[5] = {1, 1, 1, 1, 1};
  uint64_t stride[5] = {};
  uint32_t box[5] = {1, 1, 1, 1, 1};

  uint32_t box_bytes() const { return box[0] * box[1] * box[2] * box[3] * box[4] * element; }
};

constexpr uint64_t kMapMark = 0x706d726f736e6574;

inline void write_map(const TensorFacts& f, unsigned long long* words) {
  words[0] = kMapMark;
  words[1] = f.address;
  words[2] = f.rank | f.element << 8 | f.swizzle << 16;
  words[3] = 0;
  for (int d = 0; d < 5; ++d) {
    words[3] |= static_cast<uint64_t>(f.box[d]) << 12 * d;
    words[4 + d] = f.size[d];
    words[9 + d] = f.stride[d];
  }
}

/// False if nobody wrote a map there.
inline bool read_map(const unsigned long long* words, TensorFacts& f) {
  if (words[0] != kMapMark) return false;
  f.address = words[1];
  f.rank = words[2] & 0xff;
  f.element = words[2] >> 8 & 0xff;
  f.swizzle = words[2] >> 16 & 0xff;
  for (int d = 0; d < 5; ++d) {
    f.box[d] = words[3] >> 12 * d & 0xfff;
    f.size[d] = words[4 + d];
    f.stride[d] = words[9 + d];
  }
  return true;
}

/// Where a byte of shared memory goes in a tile with a swizzle of so many bytes: chunks of 16 bytes
/// change places, as the address says.
inline uint32_t swizzled(uint32_t address, uint32_t swizzle) {
  if (swizzle == 0) return address;
  return address ^ ((address >> 7 & (swizzle / 16 - 1)) << 4);
}

}  // namespace emulation
