// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/large_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace hone::runtime {
namespace {

/// A large page. Fixed by: x86-64.
constexpr int64_t kLargePage = int64_t{1} << 21;

}  // namespace

void* allocate_in_pages(int64_t align, int64_t bytes) {
  const bool large = bytes >= kLargePage;
  void* data = nullptr;
  const int64_t aligned = large ? std::max(align, kLargePage) : align;
  if (posix_memalign(&data, static_cast<size_t>(aligned), static_cast<size_t>(bytes)) != 0) {
    return nullptr;
  }
#ifdef MADV_HUGEPAGE
  // What is left of the last page stays in small ones. Where there are no large pages, all does.
  if (large) {
    static_cast<void>(
        madvise(data, static_cast<size_t>(bytes / kLargePage * kLargePage), MADV_HUGEPAGE));
  }
#endif
  return data;
}

}  // namespace hone::runtime
