// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/frame_slots.h"

#include <fmt/format.h>

#include "jit/interp/scalar.h"
#include "jit/ir/visit.h"
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

std::vector<bool> bound_of(const ir::Nest& nest, const std::vector<bool>& params) {
  const ir::ArgsLayout layout = ir::args_layout(nest);
  std::vector<bool> marked(nest.buffers.size());
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    for (size_t p = 0; p < params.size(); ++p) {
      const bool same = nest.buffers[b].home == ir::Home::kArgument &&
                        nest.buffers[b].slot == layout.tensor_slots[p];
      if (same && params[p]) marked[b] = true;
    }
  }
  for (const ir::Launch& launch : nest.launches) {
    if (!launch.at_bind || !launch.body) continue;
    bool reads = false;
    ir::for_each(*launch.body, [&](const ir::Stmt& s) {
      ir::for_each_load(
          s, [&](const ir::Expr& x) { reads = reads || marked[static_cast<size_t>(x->id)]; });
    });
    ir::for_each(*launch.body, [&](const ir::Stmt& s) {
      const auto* store = ir::as<ir::StoreStmt>(s);
      if (store && reads) marked[static_cast<size_t>(store->buffer)] = true;
    });
  }
  std::vector<bool> bound;
  for (size_t b = 0; b < nest.buffers.size(); ++b) {
    if (nest.buffers[b].home == ir::Home::kBound) bound.push_back(marked[b]);
  }
  return bound;
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
