// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/content_hash.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using hone::runtime::content_hash;
using hone::runtime::ContentHash;

TEST_CASE("content hash: bytes that differ in one bit, or in their number, differ") {
  std::set<ContentHash> seen;
  for (const size_t size : {0, 1, 7, 8, 15, 16, 17, 100}) {
    for (const unsigned char value : {0x00, 0x01, 0xff}) {
      std::vector<std::byte> bytes(size, std::byte{value});
      const ContentHash whole = content_hash(bytes);
      // Nothing is of nothing, whatever it would be filled with.
      CHECK(seen.insert(whole).second == (size > 0 || value == 0x00));
      CHECK(content_hash(bytes) == whole);
      for (size_t bit = 0; bit < 8 * size; ++bit) {
        bytes[bit / 8] ^= std::byte(1 << (bit % 8));
        const ContentHash other = content_hash(bytes);
        CHECK(other[0] != whole[0]);
        CHECK(other[1] != whole[1]);
        bytes[bit / 8] ^= std::byte(1 << (bit % 8));
      }
    }
  }
}

TEST_CASE("content hash: words that change places, and zeros among them, are seen") {
  std::set<ContentHash> seen;
  std::vector<std::byte> bytes(64 * 8);
  for (size_t word = 0; word < 64; ++word) {
    bytes[word * 8] = std::byte{1};
    CHECK(seen.insert(content_hash(bytes)).second);
    for (size_t other = 0; other < word; ++other) {
      bytes[other * 8] = std::byte{1};
      CHECK(seen.insert(content_hash(bytes)).second);
      bytes[other * 8] = std::byte{0};
    }
    bytes[word * 8] = std::byte{0};
  }
}
