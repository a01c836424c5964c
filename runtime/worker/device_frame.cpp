// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/device_frame.h"

#include <fmt/format.h>

#include <limits>

#include "jit/interp/scalar.h"
#include "runtime/device/stopwatch.h"
#include "runtime/fine.h"

namespace hone::runtime {
Result<DeviceFrame> DeviceFrame::create(const Candidate& c, const Fixture& fixture,
                                        const DeviceMirror& mirror) {
  DeviceFrame f(c.place.gpu);
  f.dims_ = fixture.dims();
  auto status = GuardedDeviceMemory::allocate(f.gpu_, sizeof(int64_t));
  if (!status) return status.failure();
  f.status_ = std::move(*status);
  auto workspace = GuardedDeviceMemory::allocate(f.gpu_, c.nest.shared_bytes);
  if (!workspace) return workspace.failure();
  f.workspace_ = std::move(*workspace);
  if (Failure filled = f.fill(c, fixture, mirror); filled.code != ErrorCode::kOk) return filled;
  return f;
}

Failure DeviceFrame::fill(const Candidate& c, const Fixture& fixture, const DeviceMirror& mirror) {
  const ir::ArgsLayout layout = ir::args_layout(c.nest);
  for (int copy = 0; copy < mirror.copies(); ++copy) {
    std::vector<int64_t> slots(static_cast<size_t>(c.nest.slots), 0);
    const auto at = [&](int slot) -> int64_t& { return slots[static_cast<size_t>(slot)]; };
    at(ir::ArgsLayout::kStatus) = static_cast<int64_t>(status_.data());
    at(ir::ArgsLayout::kWorkspace) = static_cast<int64_t>(workspace_.data());
    for (size_t i = 0; i < layout.tensor_slots.size(); ++i) {
      at(layout.tensor_slots[i]) = static_cast<int64_t>(mirror.address(copy, i));
    }
    size_t bound = 0;
    for (const ir::NestBuffer& b : c.nest.buffers) {
      if (b.home != ir::Home::kBound) continue;
      auto memory = GuardedDeviceMemory::allocate(gpu_, b.max_bytes);
      if (!memory) return memory.failure();
      at(layout.bound_slots[bound++]) = static_cast<int64_t>(memory->data());
      bound_.push_back(std::move(*memory));
    }
    for (size_t i = 0; i < dims_.size(); ++i) at(layout.dim_slots[i]) = dims_[i];
    for (size_t i = 0; i < c.nest.scalars.size(); ++i) {
      const DType type = c.nest.scalars[i].type;
      const double value = fixture.scalars()[i];
      int64_t* const slot = &at(layout.scalar_slots[i]);
      if (is_float(type)) {
        jit::write_float(type, slot, 0, value);
      } else {
        jit::write_int(type, slot, 0, static_cast<int64_t>(value));
      }
    }
    slots_.push_back(std::move(slots));
  }
  const UseGpu use(*gpu_);
  const int error =
      gpu_->driver().copy_on(status_.data(), gpu_->fine(), sizeof(int64_t), gpu_->stream());
  return error == 0 ? fine() : gpu_->failed(error, "setting the status word");
}

Failure DeviceFrame::enqueue(const Candidate& c, size_t copy, bool at_bind) {
  for (size_t i = 0; i < c.nest.launches.size(); ++i) {
    if (c.nest.launches[i].at_bind != at_bind) continue;
    Failure f = c.program->enqueue(i, slots_[copy].data(), dims_, gpu_->stream());
    if (f.code != ErrorCode::kOk) return f;
  }
  return fine();
}

Failure DeviceFrame::bind(const Candidate& c) {
  const UseGpu use(*gpu_);
  Stopwatch watch(*gpu_);
  if (Failure f = watch.start(); f.code != ErrorCode::kOk) return f;
  for (size_t copy = 0; copy < slots_.size(); ++copy) {
    if (Failure f = enqueue(c, copy, true); f.code != ErrorCode::kOk) return f;
  }
  double us = 0;
  return watch.stop(&us);
}

Failure DeviceFrame::run(const Candidate& c) {
  const UseGpu use(*gpu_);
  const jit::CudaDriver& driver = gpu_->driver();
  void* const stream = gpu_->stream();
  int error = driver.copy_on(status_.data(), gpu_->fine(), sizeof(int64_t), stream);
  if (error != 0) return gpu_->failed(error, "setting the status word");
  if (Failure f = run_many(c, 1, &run_us_); f.code != ErrorCode::kOk) return f;
  error = driver.to_host(&found_, status_.data(), sizeof found_);
  return error == 0 ? fine() : gpu_->failed(error, "reading the status word");
}

Failure DeviceFrame::run_many(const Candidate& c, int64_t n, double* us) {
  const UseGpu use(*gpu_);
  Stopwatch watch(*gpu_);
  if (Failure f = watch.start(); f.code != ErrorCode::kOk) return f;
  for (int64_t i = 0; i < n; ++i) {
    Failure f = enqueue(c, static_cast<size_t>(i) % slots_.size(), false);
    if (f.code != ErrorCode::kOk) return f;
  }
  return watch.stop(us);
}

std::string DeviceFrame::misreported(const Fixture& fixture) const {
  const auto& bad = fixture.reference().bad;
  const bool reported = found_ != kFine;
  if (reported == bad.has_value()) return "";
  if (!reported) {
    return fmt::format("element {} of {} is bad and not reported", bad->position, bad->tensor);
  }
  return fmt::format("the status word reports element {} of good data as bad", found_);
}

Result<std::string> DeviceFrame::overwritten() const {
  const auto look = [](const GuardedDeviceMemory& m, const char* what) -> Result<std::string> {
    const auto changed = m.overwritten();
    if (!changed) return changed.failure();
    return std::string(*changed ? what : "");
  };
  for (const GuardedDeviceMemory* m : {&workspace_, &status_}) {
    auto found = look(*m, m == &workspace_ ? "the workspace" : "the status word");
    if (!found || !found->empty()) return found;
  }
  for (const GuardedDeviceMemory& m : bound_) {
    auto found = look(m, "a bound buffer");
    if (!found || !found->empty()) return found;
  }
  return std::string();
}

}  // namespace hone::runtime
