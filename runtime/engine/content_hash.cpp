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

/// Takes 16 bytes more. Rotated sums keep what a factor of 0 would lose.
void add(ContentHash& h, uint64_t x, uint64_t y) {
  h[0] = mix(h[0] ^ x, y ^ kPi[2]) + ((h[0] << 23) | (h[0] >> 41)) + x;
  h[1] = mix(h[1] ^ y, x ^ kPi[3]) + ((h[1] << 29) | (h[1] >> 35)) + y;
}

/// Hashes of every fourth piece of 16 bytes: no product waits for those of the others.
class Parts {
 public:
  /// Fixed by: the latency of a product, as many instructions as a part takes.
  static constexpr size_t kParts = 4;
  static constexpr size_t kBlock = kParts * 2 * sizeof(uint64_t);

  Parts() {
    for (size_t i = 0; i < kParts; ++i) parts_[i] = {kPi[0] + i, kPi[1]};
  }

  void take(const std::byte* block) {
    uint64_t words[2 * kParts];
    std::memcpy(words, block, kBlock);
    for (size_t i = 0; i < kParts; ++i) add(parts_[i], words[2 * i], words[2 * i + 1]);
  }

  ContentHash together() const {
    ContentHash h = parts_[0];
    for (size_t i = 1; i < kParts; ++i) add(h, parts_[i][0], parts_[i][1]);
    return h;
  }

 private:
  ContentHash parts_[kParts];
};

}  // namespace

ContentHash content_hash(std::span<const std::byte> bytes) {
  Parts parts;
  size_t at = 0;
  for (; at + Parts::kBlock <= bytes.size(); at += Parts::kBlock) parts.take(bytes.data() + at);
  if (at < bytes.size()) {
    std::byte rest[Parts::kBlock] = {};
    std::memcpy(rest, bytes.data() + at, bytes.size() - at);
    parts.take(rest);
  }
  ContentHash h = parts.together();
  add(h, bytes.size(), kPi[0]);
  add(h, h[1], h[0]);
  return h;
}

}  // namespace hone::runtime
