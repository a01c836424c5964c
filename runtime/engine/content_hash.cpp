// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/content_hash.h"

#include <cstring>

namespace hone::runtime {
namespace {

/// Digits of pi, which have no pattern. Fixed by: kept nowhere, so another number would do.
constexpr uint64_t kPi[] = {0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0,
                            0x082efa98ec4e6c89};

/// Both halves of a product together: each bit of the factors reaches many of it.
uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

ContentHash content_hash(std::span<const std::byte> bytes) {
  ContentHash h{kPi[0], kPi[1]};
  const auto add = [&](uint64_t x, uint64_t y) {
    // Rotated sums keep what a factor of 0 would lose.
    h[0] = mix(h[0] ^ x, y ^ kPi[2]) + ((h[0] << 23) | (h[0] >> 41)) + x;
    h[1] = mix(h[1] ^ y, x ^ kPi[3]) + ((h[1] << 29) | (h[1] >> 35)) + y;
  };
  uint64_t pair[2];
  size_t at = 0;
  for (; at + sizeof pair <= bytes.size(); at += sizeof pair) {
    std::memcpy(pair, bytes.data() + at, sizeof pair);
    add(pair[0], pair[1]);
  }
  if (at < bytes.size()) {
    pair[0] = pair[1] = 0;
    std::memcpy(pair, bytes.data() + at, bytes.size() - at);
    add(pair[0], pair[1]);
  }
  add(bytes.size(), kPi[0]);
  add(h[1], h[0]);
  return h;
}

}  // namespace hone::runtime
