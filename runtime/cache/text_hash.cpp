// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/text_hash.h"

#include <fmt/format.h>

#include <cstdint>

namespace hone::runtime {

std::string text_hash(std::initializer_list<std::string_view> texts) {
  using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const std::string_view text : texts) {
    for (const char c : text) {
      hash ^= static_cast<unsigned char>(c);
      hash *= kPrime;
    }
  }
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64),
                     static_cast<uint64_t>(hash));
}

}  // namespace hone::runtime
