// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_global.h"

namespace emulation {
namespace {

bool written_by_another(const void* at) {
  const auto found = cluster->writers->find(at);
  return found != cluster->writers->end() && found->second != thread_number();
}

}  // namespace

void check_allowed(const void* data, size_t bytes, const char* name) {
  if (!objection || bytes == 0) return;
  const std::string wrong = objection(data, bytes);
  if (!wrong.empty()) fail(std::string(name) + ": " + wrong);
}

void check_read(const void* at, const char* name) {
  if (written_by_another(at)) {
    fail(std::string("an element of ") + name + " is read that another thread writes");
  }
}

void take(const void* at, bool same, const char* name) {
  const auto [found, first] = cluster->writers->insert({at, thread_number()});
  if (first || found->second == thread_number()) return;
  if (!same) fail(std::string("two threads write an element of ") + name + ", and not the same");
  found->second = thread_number();
}

void check_unwritten(const void* at, size_t count, size_t element) {
  if (cluster->writers->empty()) return;
  for (size_t i = 0; i < count; ++i) {
    if (written_by_another(static_cast<const char*>(at) + i * element)) {
      fail("a copy reads global memory that another thread writes");
    }
  }
}

void claim(const void* at, size_t count, size_t element) {
  for (size_t i = 0; i < count; ++i) {
    const void* const one = static_cast<const char*>(at) + i * element;
    const auto [found, first] = cluster->writers->insert({one, thread_number()});
    if (!first && found->second != thread_number()) {
      fail("a store writes global memory that another thread writes");
    }
  }
}

void fail_unaligned(const char* name, int64_t index, int64_t size) {
  fail(std::string(name) + "[" + std::to_string(index) + "] is not at a multiple of " +
       std::to_string(size) + " bytes");
}

}  // namespace emulation
