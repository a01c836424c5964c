// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/device_frame.h"

#include "runtime/device/stopwatch.h"
#include "runtime/fine.h"

namespace hone::runtime {

Result<DeviceFrame> DeviceFrame::create(const Candidate& c, const Fixture& fixture,
                                        const DeviceMirror& mirror) {
  DeviceFrame f(mirror.gpu());
  auto status = GuardedDeviceMemory::allocate(f.gpu_, sizeof(int64_t));
  if (!status) return status.failure();
  f.status_ = std::move(*status);
  auto workspace = GuardedDeviceMemory::allocate(f.gpu_, c.nest().shared_bytes);
  if (!workspace) return workspace.failure();
  f.workspace_ = std::move(*workspace);
  if (auto filled = f.fill(c, fixture, mirror); !filled) return filled.failure();
  return f;
}

Result<Done> DeviceFrame::fill(const Candidate& c, const Fixture& fixture,
                               const DeviceMirror& mirror) {
  const auto at = [](uint64_t address) { return reinterpret_cast<const void*>(address); };
  const std::vector<int64_t> packed = bound_bytes(c.nest());
  for (int copy = 0; copy < mirror.copies(); ++copy) {
    FrameSlots slots(c.nest(), fixture);
    slots.status(at(status_.data()));
    slots.workspace(at(workspace_.data()));
    for (size_t i = 0; i < fixture.params().size(); ++i) {
      slots.tensor(i, at(mirror.address(copy, i)));
    }
    for (size_t i = 0; i < packed.size(); ++i) {
      auto memory = GuardedDeviceMemory::allocate(gpu_, packed[i]);
      if (!memory) return memory.failure();
      slots.bound(i, at(memory->data()));
      bound_.push_back(std::move(*memory));
    }
    slots_.push_back(std::move(slots));
  }
  const UseGpu use(*gpu_);
  const int error =
      gpu_->driver().copy_on(status_.data(), gpu_->fine(), sizeof(int64_t), gpu_->stream());
  return error == 0 ? fine() : gpu_->failed(error, "setting the status word");
}

Result<Done> DeviceFrame::enqueue(const Candidate& c, size_t copy, bool at_bind) {
  for (size_t i = 0; i < c.nest().launches.size(); ++i) {
    if (c.nest().launches[i].at_bind != at_bind) continue;
    auto f = c.executable->run(i, slots_[copy].data(), {0, 0, nullptr, gpu_->stream()});
    if (!f) return f.failure();
  }
  return Done{};
}

Result<Done> DeviceFrame::bind(const Candidate& c) {
  const UseGpu use(*gpu_);
  Stopwatch watch(*gpu_);
  if (auto f = watch.start(); !f) return f.failure();
  for (size_t copy = 0; copy < slots_.size(); ++copy) {
    if (auto f = enqueue(c, copy, true); !f) return f.failure();
  }
  double us = 0;
  return watch.stop(&us);
}

Result<Done> DeviceFrame::run(const Candidate& c) {
  const UseGpu use(*gpu_);
  const jit::CudaDriver& driver = gpu_->driver();
  void* const stream = gpu_->stream();
  int error = driver.copy_on(status_.data(), gpu_->fine(), sizeof(int64_t), stream);
  if (error != 0) return gpu_->failed(error, "setting the status word");
  if (auto f = run_many(c, 1, &run_us_); !f) return f.failure();
  error = driver.to_host(&found_, status_.data(), sizeof found_);
  return error == 0 ? fine() : gpu_->failed(error, "reading the status word");
}

Result<Done> DeviceFrame::run_many(const Candidate& c, int64_t n, double* us) {
  const UseGpu use(*gpu_);
  Stopwatch watch(*gpu_);
  if (auto f = watch.start(); !f) return f.failure();
  for (int64_t i = 0; i < n; ++i) {
    auto f = enqueue(c, static_cast<size_t>(i) % slots_.size(), false);
    if (!f) return f.failure();
  }
  return watch.stop(us);
}

std::string DeviceFrame::misreported(const Fixture& fixture) const {
  return runtime::misreported(found_, fixture);
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
