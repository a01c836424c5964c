// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace hone::runtime {

/// 128 bits of the bytes of a tensor. Equal ones come of equal bytes but by an accident that no
/// machine will see; people can make such accidents.
using ContentHash = std::array<uint64_t, 2>;

ContentHash content_hash(std::span<const std::byte> bytes);

}  // namespace hone::runtime
