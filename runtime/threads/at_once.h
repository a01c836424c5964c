// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace hone::runtime {

/// Runs `task(i)` for each i < `count` on up to `threads` threads, the caller's included, and
/// returns when all are done. These threads are made for it and gone afterwards: compiling takes
/// more stack than a host's pool may have. Where a task throws, no more are begun, and the first
/// exception goes on to the caller.
void at_once(size_t count, int threads, const std::function<void(size_t)>& task);

}  // namespace hone::runtime
