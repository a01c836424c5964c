// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/request.h"

#include <algorithm>
#include <vector>

namespace hone::jit {
namespace {

/// Fixed by: CUDA.
constexpr int64_t kSector = 32;
constexpr int64_t kWord = 4;
constexpr int64_t kBanks = 32;

bool takes_part(const Request& r, int lane) { return (r.active >> lane & 1) != 0; }

/// The pieces of `size` bytes that lanes first..last-1 touch, each once, in order.
std::vector<int64_t> pieces(const Request& r, int64_t size, int first, int last) {
  std::vector<int64_t> out;
  for (int lane = first; lane < last; ++lane) {
    if (!takes_part(r, lane)) continue;
    const int64_t at = r.address[static_cast<size_t>(lane)];
    // Addresses may lie before the buffer where a stand-in for data says so: floor, not truncate.
    const auto floor = [&](int64_t a) { return a >= 0 ? a / size : -((-a + size - 1) / size); };
    for (int64_t p = floor(at); p <= floor(at + r.bytes - 1); ++p) out.push_back(p);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

int lanes_a_round(const Request& r) { return r.bytes <= 4 ? 32 : r.bytes <= 8 ? 16 : 8; }

}  // namespace

int sectors_of(const Request& r) { return static_cast<int>(pieces(r, kSector, 0, kLanes).size()); }

int least_sectors_of(const Request& r) {
  const auto elements = static_cast<int64_t>(pieces(r, r.bytes, 0, kLanes).size());
  return static_cast<int>((elements * r.bytes + kSector - 1) / kSector);
}

int rounds_of(const Request& r) {
  int rounds = 0;
  for (int first = 0; first < kLanes; first += lanes_a_round(r)) {
    std::array<int, kBanks> words{};
    for (int64_t word : pieces(r, kWord, first, first + lanes_a_round(r))) {
      ++words[static_cast<size_t>((word % kBanks + kBanks) % kBanks)];
    }
    rounds += *std::max_element(words.begin(), words.end());
  }
  return rounds;
}

int least_rounds_of(const Request& r) {
  int rounds = 0;
  for (int first = 0; first < kLanes; first += lanes_a_round(r)) {
    bool any = false;
    for (int lane = first; lane < first + lanes_a_round(r); ++lane) any |= takes_part(r, lane);
    rounds += any ? 1 : 0;
  }
  return rounds;
}

}  // namespace hone::jit
