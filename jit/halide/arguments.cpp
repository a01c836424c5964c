// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/arguments.h"

#include <algorithm>

#include "jit/halide/types.h"

namespace hone::jit::halide {

Arguments::Arguments(const ir::Program& program, const ir::ArgsLayout& layout,
                     const std::vector<TensorView>& views, const std::vector<int>& inputs,
                     const std::vector<int>& outputs, const int64_t* slots) {
  size_t rank = 0;
  for (const TensorView& v : views) rank += v.shape.size();
  // What arguments point to stays in its place.
  dimensions_.reserve(2 * rank);
  buffers_.reserve(inputs.size() + outputs.size());
  dims_.reserve(program.dims.size());
  const auto tensor = [&](int param, bool read) {
    const auto p = static_cast<size_t>(param);
    add_tensor(views[p], slots[layout.tensor_slots[p]], read);
  };
  for (const int param : inputs) tensor(param, true);
  for (const int slot : layout.dim_slots) {
    dims_.push_back(static_cast<int32_t>(slots[slot]));
    all_.push_back(&dims_.back());
  }
  for (const int slot : layout.scalar_slots) all_.push_back(&slots[slot]);
  for (const int param : outputs) tensor(param, false);
}

void Arguments::add_tensor(const TensorView& view, int64_t address, bool read) {
  halide_buffer_t b = {};
  b.host = reinterpret_cast<uint8_t*>(address);
  b.type = stored_type(view.type);
  b.dimensions = static_cast<int32_t>(view.shape.size());
  b.dim = dimensions_.data() + dimensions_.size();
  const bool empty = read && view.elements() == 0;
  int64_t last = 0;
  for (size_t d = view.shape.size(); d-- > 0;) {
    const int64_t extent = empty ? std::max<int64_t>(1, view.shape[d]) : view.shape[d];
    last += (extent - 1) * view.strides[d];
    dimensions_.emplace_back(0, static_cast<int32_t>(extent),
                             static_cast<int32_t>(view.strides[d]));
  }
  if (empty) {
    instead_.emplace_back(static_cast<size_t>(last + 1));
    b.host = reinterpret_cast<uint8_t*>(instead_.back().data());
  }
  buffers_.push_back(b);
  all_.push_back(&buffers_.back());
}

std::string Arguments::call(const Halide::Callable& callable) {
  Halide::JITUserContext context;
  Halide::JITUserContext* const at = &context;
  std::vector<const void*> argv = {&at};
  argv.insert(argv.end(), all_.begin(), all_.end());
  try {
    const int status = callable.call_argv_fast(argv.size(), argv.data());
    return status == 0 ? "" : "Halide returns " + std::to_string(status);
  } catch (const Halide::Error& e) {
    return e.what();
  }
}

}  // namespace hone::jit::halide
