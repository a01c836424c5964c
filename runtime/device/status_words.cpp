// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/status_words.h"

#include <limits>
#include <vector>

namespace hone::runtime {
namespace {

/// The default stream has two handles.
constexpr uintptr_t kLegacy = 1;

}  // namespace

Result<std::unique_ptr<StatusWords>> StatusWords::create(Gpu& gpu, size_t each) {
  const std::vector<int64_t> fine((kOwn + 1) * each, std::numeric_limits<int64_t>::max());
  const size_t bytes = fine.size() * sizeof(int64_t);
  auto words = gpu.memory().hold(static_cast<int64_t>(bytes));
  if (!words) return words.failure();
  std::unique_ptr<StatusWords> made(new StatusWords(gpu, each, *words));
  const UseGpu use(gpu);
  int error = gpu.driver().to_device(*words, fine.data(), bytes);
  // Streams may overtake what the driver only has a copy of by now.
  if (error == 0) error = gpu.driver().stream_synchronize(nullptr);
  if (error != 0) return gpu.failed(error, "setting status words");
  return made;
}

StatusWords::~StatusWords() {
  gpu_.memory().release(words_, static_cast<int64_t>((kOwn + 1) * each_ * sizeof(int64_t)));
}

uint64_t StatusWords::of(void* stream) const {
  auto handle = reinterpret_cast<uintptr_t>(stream);
  if (handle == kLegacy) handle = 0;
  const uintptr_t name = handle + 1;
  // Handles are addresses: what lies above their alignment tells them apart.
  size_t at = (handle >> 4) % kOwn;
  for (size_t tries = 0; tries < kOwn; ++tries, at = (at + 1) % kOwn) {
    uintptr_t found = streams_[at].load(std::memory_order_relaxed);
    if (found == name) return word(at);
    if (found != 0) continue;
    if (streams_[at].compare_exchange_strong(found, name) || found == name) return word(at);
  }
  return shared();
}

}  // namespace hone::runtime
