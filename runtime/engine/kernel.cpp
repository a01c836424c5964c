// SPDX-License-Identifier: Apache-2.0
// The public faces of kernels: thin members over KernelState.
#include <stdexcept>

#include "runtime/engine/failure.h"
#include "runtime/engine/kernel_state.h"

namespace hone {

using runtime::raise;

std::string_view name_of(Role role) {
  switch (role) {
    case Role::kInput:
      return "input";
    case Role::kOutput:
      return "output";
    case Role::kInOut:
      return "inout";
    case Role::kScalar:
      return "scalar";
  }
  return "";
}

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kGiven:
      return "given";
    case Source::kTuned:
      return "tuned";
    case Source::kTransferred:
      return "transferred";
    case Source::kDefault:
      return "default";
  }
  return "";
}

void Kernel::run(std::span<const Arg> args, const CallOptions& options) const {
  if (auto f = state_->call(args, options, nullptr); !f) raise(f.failure());
}

void Kernel::run_refs(std::span<const ArgRef> args) const {
  if (auto f = state_->call(args, {}, nullptr); !f) raise(f.failure());
}

Result<Done> Kernel::try_run(std::span<const Arg> args, const CallOptions& options) const {
  return state_->call(args, options, nullptr);
}

Result<Done> Kernel::try_run_refs(std::span<const ArgRef> args) const {
  return state_->call(args, {}, nullptr);
}

void Kernel::enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const {
  auto f = state_->enqueue(args, options, nullptr);
  if (!f) raise(f.failure());
}

Result<Done> Kernel::try_enqueue_refs(std::span<const ArgRef> args,
                                      const EnqueueOptions& options) const {
  return state_->enqueue(args, options, nullptr);
}

Result<Done> Kernel::try_enqueue_list(std::span<const Arg> args,
                                      const EnqueueOptions& options) const {
  return state_->enqueue(args, options, nullptr);
}

void Kernel::enqueue_list(std::span<const Arg> args, const EnqueueOptions& options) const {
  runtime::value_or_raise(try_enqueue_list(args, options));
}

void Kernel::wait(void* stream) const {
  if (auto f = state_->wait(stream); !f) raise(f.failure());
}

Result<Done> Kernel::try_wait(void* stream) const { return state_->wait(stream); }

Result<Bound> Kernel::try_bind(std::string_view name, const TensorRef& tensor) const {
  auto bound = runtime::bind_constant(state_, {}, name, tensor);
  if (!bound) return bound.failure();
  return Bound(*this, std::move(*bound));
}

Bound Kernel::bind(std::string_view name, const TensorRef& tensor) const {
  return runtime::value_or_raise(try_bind(name, tensor));
}

Result<Bound> Kernel::try_bind(const Bound& packed) const {
  auto bound = runtime::share_bound(*state_, *packed.kernel_.state_, *packed.state_);
  if (!bound) return bound.failure();
  return Bound(*this, std::move(*bound));
}

Bound Kernel::bind(const Bound& packed) const { return runtime::value_or_raise(try_bind(packed)); }

std::span<const Param> Kernel::params() const { return state_->params; }
KernelMemory Kernel::memory() const { return state_->memory(nullptr); }
const std::string& Kernel::problem() const { return state_->problem; }
const std::string& Kernel::target() const { return state_->target; }
const std::string& Kernel::schedule() const { return state_->schedule; }
Source Kernel::source() const { return state_->source; }
const std::string& Kernel::numerics() const { return state_->numerics; }
const Report& Kernel::report() const { return state_->report; }
std::span<const Launch> Kernel::launches() const { return state_->entry.launches; }
const Entry& Kernel::entry() const { return state_->entry; }
int64_t Kernel::workspace_size() const { return state_->workspace_bytes(); }

int64_t Kernel::extent(int index, const int64_t* args) const {
  const auto& dims = state_->layout.dim_slots;
  for (const auto* list : {&state_->launches, &state_->packs}) {
    for (const runtime::LaunchPlan& launch : *list) {
      if (launch.index != index) continue;
      if (launch.fixed_extent >= 0) return launch.fixed_extent;
      return runtime::evaluate(launch.extent, {args + (dims.empty() ? 0 : dims[0]), dims.size()});
    }
  }
  return 0;
}

void Bound::run(std::span<const Arg> args, const CallOptions& options) const {
  auto f = kernel_.state_->call(args, options, state_.get());
  if (!f) raise(f.failure());
}

void Bound::run_refs(std::span<const ArgRef> args) const {
  auto f = kernel_.state_->call(args, {}, state_.get());
  if (!f) raise(f.failure());
}

Result<Done> Bound::try_run(std::span<const Arg> args, const CallOptions& options) const {
  return kernel_.state_->call(args, options, state_.get());
}

Result<Done> Bound::try_run_refs(std::span<const ArgRef> args) const {
  return kernel_.state_->call(args, {}, state_.get());
}

void Bound::enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const {
  auto f = kernel_.state_->enqueue(args, options, state_.get());
  if (!f) raise(f.failure());
}

Result<Done> Bound::try_enqueue_refs(std::span<const ArgRef> args,
                                     const EnqueueOptions& options) const {
  return kernel_.state_->enqueue(args, options, state_.get());
}

Result<Done> Bound::try_enqueue_list(std::span<const Arg> args,
                                     const EnqueueOptions& options) const {
  return kernel_.state_->enqueue(args, options, state_.get());
}

void Bound::enqueue_list(std::span<const Arg> args, const EnqueueOptions& options) const {
  runtime::value_or_raise(try_enqueue_list(args, options));
}

Result<Bound> Bound::try_bind(std::string_view name, const TensorRef& tensor) const {
  auto bound = runtime::bind_constant(kernel_.state_, *state_, name, tensor);
  if (!bound) return bound.failure();
  return Bound(kernel_, std::move(*bound));
}

Bound Bound::bind(std::string_view name, const TensorRef& tensor) const {
  return runtime::value_or_raise(try_bind(name, tensor));
}

KernelMemory Bound::memory() const { return kernel_.state_->memory(state_.get()); }
const Kernel& Bound::kernel() const { return kernel_; }
int64_t Bound::bytes() const { return state_->bytes; }

void Bound::fill(int64_t* args) const {
  for (const auto& [slot, value] : state_->slots) args[slot] = value;
}

}  // namespace hone
