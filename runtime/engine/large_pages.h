// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hone::runtime {

/// Memory of `bytes` bytes at a multiple of `align`, a power of two of 8 or more; null where there
/// is none. As much of it as fills large pages is asked to lie in these. In small ones, what is
/// read once a call waits for the translation of addresses. std::free frees it.
void* allocate_in_pages(int64_t align, int64_t bytes);

}  // namespace hone::runtime
