// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel_check/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine/gpu_kernel.h"
#include "runtime/fine.h"

namespace hone::runtime {

KernelCall::~KernelCall() {
  if (workspace_) kernel_->services->workspaces().give(workspace_, kernel_->workspace_bytes());
}

/// Points arguments and constants at the operands.
Result<Done> KernelCall::prepare(const Fixture& fixture) {
  site_ = kernel_->gpu ? device_site(kernel_->services->gpu()) : host_site(kernel_->pool);
  auto operands = Operands::create(*site_, fixture, Operands::copies_past_cache(*site_, fixture));
  if (!operands) return operands.failure();
  operands_.emplace(*std::move(operands));
  for (size_t p = 0; p < fixture.params().size(); ++p) {
    const jit::TensorView& v = fixture.params()[p];
    const TensorRef ref(operands_->address(0, p), v.type, v.shape, v.strides);
    if (fixture.buffer(p).constant) {
      constants_.emplace_back(fixture.buffer(p).name, ref);
    } else {
      args_.emplace_back(ref);
    }
  }
  for (double s : fixture.scalars()) args_.emplace_back(ScalarArg(s));
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

Result<Done> KernelCall::take_workspace() {
  const int64_t bytes = kernel_->workspace_bytes();
  if (bytes == 0) return Done{};
  if (kernel_->gpu) {
    auto block = site_->take(bytes, 1, Guard::kFar);
    if (!block) return block.failure();
    device_workspace_ = *std::move(block);
    return Done{};
  }
  workspace_ = static_cast<std::byte*>(kernel_->services->workspaces().take(bytes));
  if (workspace_) return Done{};
  return Failure{ErrorCode::kMemory, fmt::format("{} bytes of workspace are too many", bytes)};
}

/// The slots of raw calls on a GPU, per copy of the operands.
void KernelCall::fill_copies() {
  if (!kernel_->gpu) return;
  const auto set = [](int64_t& slot, const void* at) { slot = reinterpret_cast<int64_t>(at); };
  void* const stream = kernel_->gpu->gpu().stream();
  slots_[ir::ArgsLayout::kStatus] = static_cast<int64_t>(kernel_->gpu->status(stream));
  if (device_workspace_) set(slots_[ir::ArgsLayout::kWorkspace], device_workspace_->data());
  for (int c = 0; c < operands_->copies(); ++c) {
    std::vector<int64_t> slots(slots_, slots_ + kernel_->entry.slots.size());
    for (size_t p = 0; p < kernel_->plan.params.size(); ++p) {
      if (kernel_->plan.params[p].constant) continue;
      set(slots[static_cast<size_t>(kernel_->layout.tensor_slots[p])], operands_->address(c, p));
    }
    copies_.push_back(std::move(slots));
  }
}

Result<std::unique_ptr<KernelCall>> KernelCall::create(std::shared_ptr<const KernelState> kernel,
                                                       const Fixture& fixture) {
  std::unique_ptr<KernelCall> c(new KernelCall(std::move(kernel)));
  if (auto f = c->prepare(fixture); !f) return f.failure();
  if (auto f = c->take_workspace(); !f) return f.failure();
  c->fill_copies();
  return c;
}

Result<Done> KernelCall::call() const {
  if (!kernel_->gpu) return kernel_->call(refs_, {}, bound_.get());
  if (auto f = operands_->upload(); !f) return f;
  auto called = kernel_->call(refs_, {}, bound_.get());
  if (!called && called.failure().code != ErrorCode::kBounds) return called;
  if (auto f = operands_->download(); !f) return f;
  const auto overwritten = operands_->overwritten();
  if (!overwritten) return overwritten.failure();
  if (overwritten->empty()) return called;
  return Failure{ErrorCode::kInternal,
                 "memory of the device around " + *overwritten + " was written"};
}

Result<Done> KernelCall::begin(int64_t n) const {
  Result<Done> f = Done{};
  for (int64_t i = 0; i < n && f; ++i) {
    if (kernel_->gpu) {
      const std::vector<int64_t>& slots = copies_[static_cast<size_t>(i) % copies_.size()];
      f = kernel_->enqueue_launches(slots.data(), kernel_->gpu->gpu().stream());
    } else {
      f = kernel_->run_all(slots_, workspace_, kernel_->pool);
    }
  }
  return f;
}

Result<Done> KernelCall::run(int64_t n) const {
  if (!kernel_->gpu) return begin(n);
  const auto took = site_->timed([&] { return begin(n); });
  return took ? fine() : took.failure();
}

std::vector<RawLaunch> KernelCall::raw_launches(int64_t* status) {
  std::vector<RawLaunch> all;
  if (kernel_->gpu || kernel_->pool) return all;
  slots_[ir::ArgsLayout::kStatus] = reinterpret_cast<int64_t>(status);
  slots_[ir::ArgsLayout::kWorkspace] = reinterpret_cast<int64_t>(workspace_);
  for (const LaunchPlan& launch : kernel_->launches) {
    // An extent that a dim of the call decides is left to others.
    if (!launch.function || launch.fixed_extent < 0) return {};
    if (launch.fixed_extent == 0) continue;
    all.push_back({launch.function, slots_, launch.fixed_extent,
                   workspace_ + kernel_->launch_workspace_bytes});
  }
  return all;
}

std::vector<RawLaunch> KernelCall::raw_launches(int64_t* status,
                                                std::span<const jit::TensorView> params,
                                                std::vector<int64_t>* slots) {
  std::vector<RawLaunch> all = raw_launches(status);
  slots->assign(slots_, slots_ + kernel_->entry.slots.size());
  for (size_t p = 0; p < kernel_->plan.params.size(); ++p) {
    if (kernel_->plan.params[p].constant) continue;
    (*slots)[static_cast<size_t>(kernel_->layout.tensor_slots[p])] =
        reinterpret_cast<int64_t>(params[p].data);
  }
  for (RawLaunch& launch : all) launch.slots = slots->data();
  return all;
}

std::vector<MemorySpan> KernelCall::packed_of(const std::vector<bool>& params) const {
  std::vector<MemorySpan> packed;
  const KernelState& k = *kernel_;
  for (size_t p = 0; p < params.size(); ++p) {
    // A constant that is packed is not there any more.
    if (!params[p] || !k.plan.params[p].constant || !k.call_reads[p]) continue;
    const Sizes& sizes = k.plan.params[p].sizes;
    const int64_t at = slots_[k.layout.tensor_slots[p]];
    packed.push_back({reinterpret_cast<const void*>(at + sizes.begin), sizes.end - sizes.begin});
  }
  std::vector<bool> made(k.bound.size());
  for (const LaunchPlan& pack : k.packs) {
    const auto marked = [](const std::vector<bool>& of) {
      return [&of](int i) { return bool{of[static_cast<size_t>(i)]}; };
    };
    const bool reads =
        std::any_of(pack.reads_params.begin(), pack.reads_params.end(), marked(params)) ||
        std::any_of(pack.reads_bound.begin(), pack.reads_bound.end(), marked(made));
    for (const int b : pack.writes_bound) {
      if (reads) made[static_cast<size_t>(b)] = true;
    }
  }
  for (size_t b = 0; b < made.size(); ++b) {
    if (!made[b] || !k.bound[b].call_reads) continue;
    const auto at = slots_[k.bound[b].slot];
    packed.push_back({reinterpret_cast<const void*>(at), k.bound[b].bytes});
  }
  return packed;
}

Result<Samples> KernelCall::sample(const SampleOptions& options,
                                   const std::function<void()>& between) const {
  const auto calls = [this](int64_t n) { return begin(n); };
  return site_->sample(calls, kernel_->pool != nullptr, options, between);
}

}  // namespace hone::runtime
