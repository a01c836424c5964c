// SPDX-License-Identifier: Apache-2.0
//
// Memory: allocation, copies and what a pointer is.
#include <sys/mman.h>

#include <cstring>

#include "tests/cuda/gpu/calls.h"

namespace hone::tests {
namespace {

/// Why a copy may not touch `bytes` at `address`; tells it.
bool inside(Context& c, uint64_t address, size_t bytes, const char* call) {
  const std::string wrong = c.memory.objection(address, bytes);
  if (!wrong.empty()) tell(std::string(call) + ": " + wrong);
  return wrong.empty();
}

bool pinned(const Context& c, const void* at) {
  const auto address = reinterpret_cast<uint64_t>(at);
  auto after = c.pinned.upper_bound(address);
  if (after == c.pinned.begin()) return false;
  --after;
  return address - after->first < after->second;
}

/// Memory of the host is taken down with pinned pages only, so a stream may use those later. What
/// is pageable is read before an asynchronous copy returns.
std::function<int()> copy_in(Context& c, uint64_t to, const void* from, size_t bytes) {
  void* const target = c.memory.bytes_at(to);
  if (pinned(c, from)) {
    return [=] { return std::memcpy(target, from, bytes), kSuccess; };
  }
  const auto* const first = static_cast<const unsigned char*>(from);
  return [target, held = std::vector<unsigned char>(first, first + bytes)] {
    return std::memcpy(target, held.data(), held.size()), kSuccess;
  };
}

std::function<int()> copy_out(Context& c, void* to, uint64_t from, size_t bytes) {
  const void* const source = c.memory.bytes_at(from);
  count_to_host(bytes);
  return [=] { return std::memcpy(to, source, bytes), kSuccess; };
}

}  // namespace
}  // namespace hone::tests

using namespace hone::tests;

int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return in_context(Call::memory_info, [&](Context& c, auto&) {
    *total = c.capacity;
    *free = c.capacity - c.memory.live_bytes();
    return kSuccess;
  });
}

int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  return in_context(Call::allocate, [&](Context& c, auto&) {
    if (!memory || bytes == 0) return kInvalidValue;
    if (bytes > c.capacity - c.memory.live_bytes()) return kOutOfMemory;
    *memory = c.memory.allocate(bytes);
    return *memory ? kSuccess : kOutOfMemory;
  });
}

int cuMemFree_v2(uint64_t memory) {
  return in_context(Call::free, [&](Context& c, auto& lock) -> int {
    if (memory == 0) return kSuccess;
    // Nothing that runs may lose its memory, so the driver waits.
    c.queue.finish(lock, nullptr);
    if (const int error = c.queue.error()) return error;
    const std::string wrong = c.memory.release(memory);
    if (!wrong.empty()) tell("cuMemFree: " + wrong);
    return wrong.empty() ? kSuccess : kInvalidValue;
  });
}

int cuMemAllocHost_v2(void** memory, size_t bytes) {
  return in_context(Call::allocate_host, [&](Context& c, auto&) {
    if (!memory || bytes == 0) return kInvalidValue;
    void* const at =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return kOutOfMemory;
    c.pinned[reinterpret_cast<uint64_t>(at)] = bytes;
    *memory = at;
    return kSuccess;
  });
}

int cuMemFreeHost(void* memory) {
  return in_context(Call::free_host, [&](Context& c, auto& lock) {
    const auto found = c.pinned.find(reinterpret_cast<uint64_t>(memory));
    if (found == c.pinned.end()) {
      tell("cuMemFreeHost: no such memory");
      return kInvalidValue;
    }
    c.queue.finish(lock, nullptr);
    munmap(memory, found->second);
    c.pinned.erase(found);
    return kSuccess;
  });
}

int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return in_context(Call::to_device, [&](Context& c, auto& lock) -> int {
    if (bytes == 0) return kSuccess;
    if (!inside(c, to, bytes, "cuMemcpyHtoD")) return kInvalidValue;
    c.queue.finish(lock, c.enqueue(c.legacy, copy_in(c, to, from, bytes)));
    return c.queue.error();
  });
}

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return in_context(Call::to_host, [&](Context& c, auto& lock) -> int {
    if (bytes == 0) return kSuccess;
    if (!inside(c, from, bytes, "cuMemcpyDtoH")) return kInvalidValue;
    c.queue.finish(lock, c.enqueue(c.legacy, copy_out(c, to, from, bytes)));
    return c.queue.error();
  });
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return in_context(Call::to_device_on, [&](Context& c, auto&) -> int {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    if (bytes == 0) return kSuccess;
    if (!inside(c, to, bytes, "cuMemcpyHtoDAsync")) return kInvalidValue;
    c.enqueue(*s, copy_in(c, to, from, bytes));
    return kSuccess;
  });
}

int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return in_context(Call::to_host_on, [&](Context& c, auto& lock) -> int {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    if (bytes == 0) return kSuccess;
    if (!inside(c, from, bytes, "cuMemcpyDtoHAsync")) return kInvalidValue;
    const WorkRef work = c.enqueue(*s, copy_out(c, to, from, bytes));
    if (!pinned(c, to)) c.queue.finish(lock, work);
    return c.queue.error();
  });
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return in_context(Call::copy_on, [&](Context& c, auto&) -> int {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    if (bytes == 0) return kSuccess;
    if (!inside(c, to, bytes, "cuMemcpyDtoDAsync") ||
        !inside(c, from, bytes, "cuMemcpyDtoDAsync")) {
      return kInvalidValue;
    }
    void* const target = c.memory.bytes_at(to);
    const void* const source = c.memory.bytes_at(from);
    c.enqueue(*s, [=] { return std::memmove(target, source, bytes), kSuccess; });
    return kSuccess;
  });
}

int cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void* stream) {
  return in_context(Call::fill_on, [&](Context& c, auto&) -> int {
    Stream* const s = c.stream(stream);
    if (!s) return kInvalidHandle;
    if (bytes == 0) return kSuccess;
    if (!inside(c, memory, bytes, "cuMemsetD8Async")) return kInvalidValue;
    void* const target = c.memory.bytes_at(memory);
    c.enqueue(*s, [=] { return std::memset(target, value, bytes), kSuccess; });
    return kSuccess;
  });
}

// Numbers of CU_POINTER_ATTRIBUTE and CU_MEMORYTYPE, from the driver's reference.
int cuPointerGetAttribute(void* value, int attribute, uint64_t pointer) {
  return in_driver(Call::pointer_attribute, [&](auto&) {
    uint64_t start = pointer;
    size_t bytes = 0;
    Context* owner = gpus().context_of(pointer);
    const bool device = owner && owner->memory.find(pointer, &start, &bytes);
    if (!device) {
      owner = nullptr;
      for (const auto& [ordinal, c] : gpus().contexts) {
        if (pinned(*c, reinterpret_cast<void*>(pointer))) owner = c.get();
      }
    }
    if (!owner) return kInvalidValue;
    switch (attribute) {
      case 1:
        *static_cast<void**>(value) = owner;
        return kSuccess;
      case 2:
        *static_cast<unsigned*>(value) = device ? 2 : 1;
        return kSuccess;
      case 3:
        *static_cast<uint64_t*>(value) = pointer;
        return kSuccess;
      case 8:
        *static_cast<unsigned*>(value) = 0;
        return kSuccess;
      case 9:
        *static_cast<int*>(value) = owner->device;
        return kSuccess;
      case 11:
        *static_cast<uint64_t*>(value) = start;
        return kSuccess;
      case 12:
        *static_cast<size_t*>(value) = bytes;
        return kSuccess;
      default:
        return kInvalidValue;
    }
  });
}
