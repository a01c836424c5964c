// SPDX-License-Identifier: Apache-2.0
// Random numbers against the known answers of Random123, and against Philox written out here.
#include "ops/philox.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "include/hone/hone.h"

namespace {

using Words = std::array<uint32_t, 4>;

/// Philox4x32-10 as the paper has it.
Words philox_words(Words c, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

uint32_t first_word(int64_t seed, int64_t counter) {
  const auto s = static_cast<uint64_t>(seed), i = static_cast<uint64_t>(counter);
  return philox_words({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0},
                      {static_cast<uint32_t>(s), static_cast<uint32_t>(s >> 32)})[0];
}

}  // namespace

TEST_CASE("philox: known answers") {
  CHECK(philox_words({0, 0, 0, 0}, {0, 0}) ==
        Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t kOnes = 0xffffffff;
  CHECK(philox_words({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox_words({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox: kernels have the bits of the paper for all seeds and counters") {
  const std::vector<int64_t> i = {0,
                                  1,
                                  2,
                                  -1,
                                  1000000007,
                                  int64_t{1} << 32,
                                  int64_t{5} << 40,
                                  -77,
                                  std::numeric_limits<int64_t>::min()};
  for (const char* target : {"x86 isa=none", "x86 isa=avx2", ""}) {
    hone::EngineOptions options{.cache = ":memory:"};
    options.target = target;
    auto made = hone::Engine::try_create(options);
    if (!made) continue;  // this machine has no such instructions
    const hone::Kernel kernel = made->compile(
        "op f(s: i64, I: i64[N]) -> (Y: i64[N], U: f32[N]) { Y[n] = philox(s, I[n]); U[n] = "
        "uniform(s, I[n]) } N=9");
    for (const int64_t seed : {int64_t{0}, int64_t{42}, int64_t{-3}, int64_t{1} << 40}) {
      std::vector<int64_t> y(i.size());
      std::vector<float> u(i.size());
      kernel(seed, i, y, u);
      for (size_t n = 0; n < i.size(); ++n) {
        const uint32_t want = first_word(seed, i[n]);
        CHECK(y[n] == int64_t{want});
        CHECK(u[n] == static_cast<float>(want >> 8) / 16777216.0f);
      }
    }
  }
}
