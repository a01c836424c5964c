// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_async.h"

#include <cstring>

#include "tests/cuda/emulation_barrier.h"
#include "tests/cuda/emulation_groups.h"

namespace emulation {

void check_bulk(int64_t global, const char* name, uint32_t shared, uint32_t bytes) {
  check_multiple(static_cast<uint64_t>(global), 16, std::string("a bulk copy's place in ") + name);
  check_multiple(shared, 16, "a bulk copy's place in shared memory");
  if (bytes == 0 || bytes % 16) fail("a bulk copy of " + std::to_string(bytes) + " bytes");
}

void start_bulk_load(uint32_t to, const void* from, size_t count, size_t element, uint32_t barrier,
                     uint32_t mask) {
  check_unwritten(from, count, element);
  const uint32_t at = to & 0xffffff;
  const auto bytes = static_cast<uint32_t>(count * element);
  start_copy(targets(to, barrier, mask), at, barrier & 0xffffff, bytes,
             [=](Arena& arena) { std::memcpy(arena.bytes.data() + at, from, bytes); });
}

void start_bulk_store(void* to, uint32_t from, size_t count, size_t element) {
  const SharedPlace p = locate(from);
  claim(to, count, element);
  const auto bytes = static_cast<uint32_t>(count * element);
  start_store(from, bytes, [=] { std::memcpy(to, p.owner->arena.bytes.data() + p.at, bytes); });
}

}  // namespace emulation
