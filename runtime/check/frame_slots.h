// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "jit/ir/nest.h"
#include "runtime/check/fixture.h"

namespace hone::runtime {

/// The args struct of a candidate's calls. Dims and scalars are there from the start; addresses are
/// the memory's that the candidate runs in.
class FrameSlots {
 public:
  FrameSlots(const ir::Nest& nest, std::span<const int64_t> dims, std::span<const double> scalars);

  void status(const void* at) { set(ir::ArgsLayout::kStatus, reinterpret_cast<int64_t>(at)); }
  void workspace(const void* at) { set(ir::ArgsLayout::kWorkspace, reinterpret_cast<int64_t>(at)); }
  void tensor(size_t i, const void* at) {
    set(layout_.tensor_slots[i], reinterpret_cast<int64_t>(at));
  }
  /// Of what bind packs, in the nest's order.
  void bound(size_t i, const void* at) {
    set(layout_.bound_slots[i], reinterpret_cast<int64_t>(at));
  }

  const int64_t* data() const { return slots_.data(); }
  /// The same with no more than what bind knows: constants, and where it puts things.
  std::vector<int64_t> at_bind(const ir::Program& program) const;

 private:
  void set(int slot, int64_t value) { slots_[static_cast<size_t>(slot)] = value; }

  ir::ArgsLayout layout_;
  std::vector<int64_t> slots_;
};

/// Bytes of each tensor that bind packs, in the nest's order.
std::vector<int64_t> bound_bytes(const ir::Nest& nest);

/// Which of them are made of the parameters marked in `params`, through others or not.
std::vector<bool> bound_of(const ir::Nest& nest, const std::vector<bool>& params);

/// How the status word after a run contradicts the definition on the fixture's data, or "". Either
/// good data was reported as bad, or bad data went unreported.
std::string misreported(int64_t status, const Fixture& fixture);

}  // namespace hone::runtime
