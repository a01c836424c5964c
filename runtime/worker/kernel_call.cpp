// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/kernel_call.h"

#include <fmt/format.h>

namespace hone::runtime {

KernelCall::KernelCall(std::shared_ptr<const KernelState> kernel, const Fixture& fixture)
    : kernel_(std::move(kernel)) {
  size_t p = 0;
  for (const ir::Buffer& b : fixture.problem().program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const jit::TensorView& v = fixture.params()[p++];
    const TensorRef ref(v.data, v.type, v.shape, v.strides);
    if (b.constant) {
      constants_.emplace_back(b.name, ref);
    } else {
      args_.emplace_back(ref);
    }
  }
  for (double s : fixture.scalars()) args_.emplace_back(ScalarArg(s));
  refs_.resize(args_.size());
  refer(args_, refs_);
}

KernelCall::~KernelCall() {
  if (workspace_) kernel_->services->workspaces().give(workspace_, kernel_->workspace_bytes());
}

Result<std::unique_ptr<KernelCall>> KernelCall::create(std::shared_ptr<const KernelState> kernel,
                                                       const Fixture& fixture) {
  std::unique_ptr<KernelCall> c(new KernelCall(std::move(kernel), fixture));
  c->bound_ = std::make_shared<BoundState>();
  for (const auto& [name, ref] : c->constants_) {
    auto more = bind_constant(c->kernel_, *c->bound_, name, ref);
    if (!more) return more.failure();
    c->bound_ = *more;
  }
  const KernelState& k = *c->kernel_;
  if (Failure f = k.fill(c->refs_, c->bound_.get(), c->slots_); f.code != ErrorCode::kOk) return f;
  const int64_t bytes = k.workspace_bytes();
  if (bytes > 0) c->workspace_ = static_cast<std::byte*>(k.services->workspaces().take(bytes));
  if (bytes > 0 && !c->workspace_) {
    return Failure{ErrorCode::kMemory, fmt::format("{} bytes of workspace are too many", bytes)};
  }
  return c;
}

Failure KernelCall::run(int64_t n) const {
  for (int64_t i = 0; i < n; ++i) {
    Failure f = kernel_->run_all(slots_, workspace_, kernel_->pool);
    if (f.code != ErrorCode::kOk) return f;
  }
  return {ErrorCode::kOk, {}};
}

}  // namespace hone::runtime
