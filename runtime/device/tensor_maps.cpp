// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/call/plan.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// Fixed by: TMA.
constexpr size_t kMapWords = jit::kMapBytes / sizeof(int64_t);
constexpr size_t kMostDims = 5;

// Numbers of the driver's ABI.
// Fixed by: the driver's ABI.
constexpr int kUnsigned[] = {0, 1, 2, 4};  // elements of 1, 2, 4 and 8 bytes
constexpr int kPromoteToL2 = 2;            // 128 bytes at a time

/// The driver's constant for a swizzle of 0, 32, 64 or 128 bytes.
int swizzle_of(int64_t bytes) { return bytes == 0 ? 0 : std::countr_zero<uint64_t>(bytes) - 4; }

}  // namespace

TensorMaps::TensorMaps(std::string launch, std::vector<jit::CudaMap> maps)
    : launch_(std::move(launch)), maps_(std::move(maps)) {
  kept_.reserve(kKept);
}

Result<Done> TensorMaps::fill(Gpu& gpu, std::span<const int64_t> slots,
                              std::span<const int64_t> dims, int64_t* words) const {
  std::copy(slots.begin(), slots.end(), words);
  int64_t* const maps = words + jit::maps_at(slots.size()) / sizeof(int64_t);
  if (recall(slots, dims, maps)) return Done{};
  for (size_t m = 0; m < maps_.size(); ++m) {
    auto f = encode(gpu, maps_[m], slots, dims, maps + m * kMapWords);
    if (!f) return f.failure();
  }
  remember(slots, dims, maps);
  return Done{};
}

/// Whether `e` was encoded for these dims and addresses.
bool TensorMaps::is_for(const Encoded& e, std::span<const int64_t> slots,
                        std::span<const int64_t> dims) const {
  bool same = std::equal(dims.begin(), dims.end(), e.dims.begin(), e.dims.end());
  for (size_t m = 0; same && m < maps_.size(); ++m) {
    same = e.addresses[m] == slots[static_cast<size_t>(maps_[m].slot)];
  }
  return same;
}

bool TensorMaps::recall(std::span<const int64_t> slots, std::span<const int64_t> dims,
                        int64_t* maps) const {
  if (busy_.test_and_set(std::memory_order_acquire)) return false;
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Encoded& e) { return is_for(e, slots, dims); });
  const bool known = found != kept_.end();
  if (known) {
    found->used = ++calls_;
    std::copy(found->words.begin(), found->words.end(), maps);
  }
  busy_.clear(std::memory_order_release);
  return known;
}

/// In the place of what was not asked for longest, once all places are taken.
void TensorMaps::remember(std::span<const int64_t> slots, std::span<const int64_t> dims,
                          const int64_t* maps) const {
  Encoded made;
  made.dims.assign(dims.begin(), dims.end());
  for (const jit::CudaMap& m : maps_) {
    made.addresses.push_back(slots[static_cast<size_t>(m.slot)]);
  }
  made.words.assign(maps, maps + maps_.size() * kMapWords);
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  made.used = ++calls_;
  if (kept_.size() < kKept) {
    kept_.push_back(std::move(made));
  } else {
    std::swap(*std::min_element(kept_.begin(), kept_.end(),
                                [](const Encoded& a, const Encoded& b) { return a.used < b.used; }),
              made);
  }
  busy_.clear(std::memory_order_release);
}

Result<Done> TensorMaps::encode(Gpu& gpu, const jit::CudaMap& map, std::span<const int64_t> slots,
                                std::span<const int64_t> dims, int64_t* out) const {
  uint64_t sizes[kMostDims], strides[kMostDims];
  uint32_t box[kMostDims];
  constexpr uint32_t kOnes[kMostDims] = {1, 1, 1, 1, 1};
  const size_t rank = map.box.size();
  bool empty = false;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = evaluate(map.sizes[d], dims);
    empty |= size <= 0;
    sizes[d] = static_cast<uint64_t>(size);
    strides[d] = static_cast<uint64_t>(evaluate(map.strides[d], dims));
    box[d] = static_cast<uint32_t>(map.box[d]);
  }
  if (empty) {
    std::fill(out, out + kMapWords, 0);
    return Done{};
  }
  const int64_t address = slots[static_cast<size_t>(map.slot)] + map.offset;
  // NOLINTNEXTLINE: addresses of the device's memory are integers in slots
  void* const tensor = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  const int type = kUnsigned[std::countr_zero<unsigned>(static_cast<unsigned>(size_of(map.type)))];
  // Strides are those of the dimensions past the first.
  const int error =
      gpu.driver().tensor_map(out, type, static_cast<uint32_t>(rank), tensor, sizes, strides + 1,
                              box, kOnes, 0, swizzle_of(map.swizzle), kPromoteToL2, 0);
  if (error == 0) return Done{};
  std::string text;
  for (size_t d = 0; d < rank; ++d) {
    text += fmt::format("{}{} elements {} bytes apart", d ? ", " : "", sizes[d], strides[d]);
  }
  return gpu.failed(error, fmt::format("describing a tensor at {} to TMA for launch {} "
                                       "({})",
                                       tensor, launch_, text));
}

}  // namespace hone::runtime
