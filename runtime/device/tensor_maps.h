// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/cuda/source.h"
#include "runtime/device/gpu.h"

namespace hone::runtime {

/// The tensor maps that one launch takes, encoded by the driver from addresses and dims. Maps of
/// the last calls on different tensors are kept, because most calls take some tensors in turns.
/// Thread-safe.
class TensorMaps {
 public:
  TensorMaps(std::string launch, std::vector<jit::CudaMap> maps);

  /// Writes the slots and, behind them, the maps: `words(slots.size())` words, at a multiple of 64
  /// bytes. Maps of empty tensors, from which nothing is copied, are zero.
  Result<Done> fill(Gpu& gpu, std::span<const int64_t> slots, std::span<const int64_t> dims,
                    int64_t* words) const;
  /// Size of the parameters with `slots` slots, in 8-byte words.
  size_t words(size_t slots) const {
    return (jit::maps_at(slots) + jit::kMapBytes * maps_.size()) / sizeof(int64_t);
  }

 private:
  /// What was encoded for one choice of dims and addresses.
  struct Encoded {
    std::vector<int64_t> dims, addresses;
    std::vector<int64_t> words;  ///< of all maps
    uint64_t used = 0;           ///< the last time, in calls
  };
  /// Fixed by: `kMostCopies` of a timing run.
  static constexpr size_t kKept = 64;  ///< as many as sets of operands that a timing run rotates

  bool is_for(const Encoded& e, std::span<const int64_t> slots,
              std::span<const int64_t> dims) const;
  bool recall(std::span<const int64_t> slots, std::span<const int64_t> dims, int64_t* maps) const;
  void remember(std::span<const int64_t> slots, std::span<const int64_t> dims,
                const int64_t* maps) const;
  Result<Done> encode(Gpu& gpu, const jit::CudaMap& map, std::span<const int64_t> slots,
                      std::span<const int64_t> dims, int64_t* out) const;

  std::string launch_;
  std::vector<jit::CudaMap> maps_;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;  ///< whoever finds it set encodes by itself
  mutable std::vector<Encoded> kept_;
  mutable uint64_t calls_ = 0;
};

}  // namespace hone::runtime
