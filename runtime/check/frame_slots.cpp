// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/frame_slots.h"

#include <fmt/format.h>

#include "jit/interp/scalar.h"
#include "runtime/fine.h"

namespace hone::runtime {

FrameSlots::FrameSlots(const ir::Nest& nest, std::span<const int64_t> dims,
                       std::span<const double> scalars)
    : layout_(ir::args_layout(nest)), slots_(static_cast<size_t>(nest.slots), 0) {
  for (size_t i = 0; i < dims.size(); ++i) set(layout_.dim_slots[i], dims[i]);
  for (size_t i = 0; i < nest.scalars.size(); ++i) {
    auto* slot = &slots_[static_cast<size_t>(layout_.scalar_slots[i])];
    const DType type = nest.scalars[i].type;
    if (is_float(type)) {
      jit::write_float(type, slot, 0, scalars[i]);
    } else {
      jit::write_int(type, slot, 0, static_cast<int64_t>(scalars[i]));
    }
  }
}

std::vector<int64_t> FrameSlots::at_bind(const ir::Program& program) const {
  std::vector<int64_t> slots = slots_;
  const auto forget = [&](int slot) { slots[static_cast<size_t>(slot)] = 0; };
  for (size_t i = 0; i < layout_.tensor_slots.size(); ++i) {
    if (!program.buffers[i].constant) forget(layout_.tensor_slots[i]);
  }
  for (const int slot : layout_.dim_slots) forget(slot);
  for (const int slot : layout_.scalar_slots) forget(slot);
  return slots;
}

std::vector<int64_t> bound_bytes(const ir::Nest& nest) {
  std::vector<int64_t> bytes;
  for (const ir::NestBuffer& b : nest.buffers) {
    if (b.home == ir::Home::kBound) bytes.push_back(b.max_bytes);
  }
  return bytes;
}

std::string misreported(int64_t status, const Fixture& fixture) {
  const auto& bad = fixture.reference().bad;
  const bool reported = status != kFine;
  if (reported == bad.has_value()) return "";
  if (!reported) {
    return fmt::format("element {} of {} is bad and not reported", bad->position, bad->tensor);
  }
  return fmt::format("the status word reports element {} of good data as bad", status);
}

}  // namespace hone::runtime
