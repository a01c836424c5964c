// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/evict.h"

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <vector>

namespace hone::runtime {
namespace {

/// Fixed by: x86.
constexpr uintptr_t kLine = 64;

bool flushes_in_any_order() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // Fixed by: x86, leaf 7, bit 23 of EBX.
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && ((ebx >> 23) & 1) != 0;
}

__attribute__((target("clflushopt"))) void flush_in_any_order(uintptr_t from, uintptr_t to) {
  for (; from < to; from += kLine) _mm_clflushopt(reinterpret_cast<void*>(from));
}

void flush_in_order(uintptr_t from, uintptr_t to) {
  for (; from < to; from += kLine) _mm_clflush(reinterpret_cast<const void*>(from));
}

}  // namespace

void evict(std::span<const MemorySpan> memory) {
  static const bool any_order = flushes_in_any_order();
  for (const MemorySpan& m : memory) {
    if (m.bytes <= 0) continue;
    const auto at = reinterpret_cast<uintptr_t>(m.at);
    const uintptr_t from = at / kLine * kLine, to = at + static_cast<uintptr_t>(m.bytes);
    (any_order ? flush_in_any_order : flush_in_order)(from, to);
  }
  _mm_mfence();
}

void evict_all(int64_t cache_bytes) {
  static std::vector<char> other;
  // Twice, since caches do not replace what is oldest.
  other.resize(std::max(other.size(), static_cast<size_t>(2 * cache_bytes)), 1);
  for (size_t i = 0; i < other.size(); i += kLine) ++other[i];
}

}  // namespace hone::runtime
