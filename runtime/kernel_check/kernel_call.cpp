// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_check/kernel_call.h"

#include <fmt/format.h>

#include "runtime/device/stopwatch.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/fine.h"

namespace hone::runtime {
KernelCall::KernelCall(std::shared_ptr<const KernelState> kernel, const Fixture& fixture)
    : kernel_(std::move(kernel)), fixture_(&fixture) {}

KernelCall::~KernelCall() {
  const int64_t bytes = kernel_->workspace_bytes();
  if (workspace_) kernel_->services->workspaces().give(workspace_, bytes);
  if (device_workspace_) kernel_->gpu->gpu().memory().release(device_workspace_, bytes);
}

/// Points arguments and constants at the tensors: the fixture's, or the copies' on the GPU.
Result<Done> KernelCall::prepare() {
  size_t p = 0;
  for (const ir::Buffer& b : fixture_->problem().program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const jit::TensorView& v = fixture_->params()[p];
    void* data = mirror_ ? reinterpret_cast<void*>(mirror_->address(0, p)) : v.data;
    const TensorRef ref(data, v.type, v.shape, v.strides);
    ++p;
    if (b.constant) {
      constants_.emplace_back(b.name, ref);
    } else {
      args_.emplace_back(ref);
    }
  }
  for (double s : fixture_->scalars()) args_.emplace_back(ScalarArg(s));
  refs_.resize(args_.size());
  refer(args_, refs_);
  bound_ = std::make_shared<BoundState>();
  for (const auto& [name, ref] : constants_) {
    auto more = bind_constant(kernel_, *bound_, name, ref);
    if (!more) return more.failure();
    bound_ = *more;
  }
  return kernel_->fill(refs_, bound_.get(), slots_);
}

Result<Done> KernelCall::place_on_gpu(const Fixture& fixture) {
  const std::shared_ptr<Gpu>& gpu = kernel_->services->gpu();
  auto mirror = DeviceMirror::create(gpu, fixture, DeviceMirror::copies_past_cache(*gpu, fixture));
  if (!mirror) return mirror.failure();
  mirror_.emplace(std::move(*mirror));
  if (auto f = prepare(); !f) return f.failure();
  const int64_t bytes = kernel_->workspace_bytes();
  if (bytes > 0) {
    auto block = gpu->memory().hold(bytes);
    if (!block) return block.failure();
    device_workspace_ = *block;
  }
  slots_[ir::ArgsLayout::kStatus] = static_cast<int64_t>(kernel_->gpu->status(gpu->stream()));
  slots_[ir::ArgsLayout::kWorkspace] = static_cast<int64_t>(device_workspace_);
  for (int c = 0; c < mirror_->copies(); ++c) {
    std::vector<int64_t> slots(slots_, slots_ + kernel_->entry.slots.size());
    for (size_t p = 0; p < kernel_->plan.params.size(); ++p) {
      if (kernel_->plan.params[p].constant) continue;
      slots[static_cast<size_t>(kernel_->layout.tensor_slots[p])] =
          static_cast<int64_t>(mirror_->address(c, p));
    }
    copies_.push_back(std::move(slots));
  }
  return Done{};
}

Result<std::unique_ptr<KernelCall>> KernelCall::create(std::shared_ptr<const KernelState> kernel,
                                                       const Fixture& fixture) {
  std::unique_ptr<KernelCall> c(new KernelCall(std::move(kernel), fixture));
  const KernelState& k = *c->kernel_;
  auto f = k.gpu ? c->place_on_gpu(fixture) : c->prepare();
  if (!f) return f.failure();
  if (k.gpu) return c;
  const int64_t bytes = k.workspace_bytes();
  if (bytes > 0) c->workspace_ = static_cast<std::byte*>(k.services->workspaces().take(bytes));
  if (bytes > 0 && !c->workspace_) {
    return Failure{ErrorCode::kMemory, fmt::format("{} bytes of workspace are too many", bytes)};
  }
  return c;
}

Result<Done> KernelCall::call() const {
  if (mirror_) {
    if (auto f = mirror_->upload(*fixture_); !f) return f.failure();
  }
  auto called = kernel_->call(refs_, {}, bound_.get());
  const bool there = called || called.failure().code == ErrorCode::kBounds;
  if (!mirror_ || !there) return called;
  auto copied = mirror_->download(*fixture_);
  if (!copied) return copied.failure();
  const auto overwritten = mirror_->overwritten(*fixture_);
  if (!overwritten) return overwritten.failure();
  if (overwritten->empty()) return called;
  return Failure{ErrorCode::kInternal,
                 "memory of the device around " + *overwritten + " was written"};
}

Result<Done> KernelCall::run_timed(int64_t n, double* us) const {
  Gpu& gpu = kernel_->gpu->gpu();
  const UseGpu use(gpu);
  Stopwatch watch(gpu);
  if (auto f = watch.start(); !f) return f.failure();
  for (int64_t i = 0; i < n; ++i) {
    const std::vector<int64_t>& slots = copies_[static_cast<size_t>(i) % copies_.size()];
    auto f = kernel_->enqueue_launches(slots.data(), gpu.stream());
    if (!f) return f.failure();
  }
  return watch.stop(us);
}

Result<Done> KernelCall::run(int64_t n) const {
  if (mirror_) {
    double us = 0;
    return run_timed(n, &us);
  }
  for (int64_t i = 0; i < n; ++i) {
    auto f = kernel_->run_all(slots_, workspace_, kernel_->pool);
    if (!f) return f.failure();
  }
  return Done{};
}

}  // namespace hone::runtime
