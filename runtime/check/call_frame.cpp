// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/call_frame.h"

#include "runtime/call/plan.h"
#include "runtime/fine.h"

namespace hone::runtime {

Result<CallFrame> CallFrame::create(const Candidate& candidate, const Operands& operands) {
  CallFrame f(candidate, operands);
  if (auto taken = f.take_all(); !taken) return taken.failure();
  for (int copy = 0; copy < operands.copies(); ++copy) {
    if (auto added = f.add_copy(copy); !added) return added.failure();
  }
  return f;
}

Result<void*> CallFrame::take(const char* what, int64_t bytes) {
  auto block = operands_->site().take(bytes, 1, operands_->fixture().guard());
  if (!block) return block.failure();
  blocks_.emplace_back(what, *std::move(block));
  return blocks_.back().second->data();
}

/// What all copies share.
Result<Done> CallFrame::take_all() {
  const ir::Nest& nest = candidate_->nest();
  const auto workspace = take("the workspace", nest.workspace_bytes);
  if (!workspace) return workspace.failure();
  workspace_ = *workspace;
  const auto status = take("the status word", sizeof(int64_t));
  if (!status) return status.failure();
  status_ = blocks_.back().second.get();
  for (int worker = 0; worker < operands_->site().workers(); ++worker) {
    const auto scratch = take("scratch", nest.worker_bytes);
    if (!scratch) return scratch.failure();
    scratch_.push_back(*scratch);
  }
  return Done{};
}

/// Slots and launches of one copy.
Result<Done> CallFrame::add_copy(int copy) {
  const ir::Nest& nest = candidate_->nest();
  const Fixture& fixture = operands_->fixture();
  FrameSlots slots(nest, fixture.dims(), fixture.scalars());
  slots.status(status_->data());
  slots.workspace(workspace_);
  for (size_t i = 0; i < fixture.params().size(); ++i) slots.tensor(i, operands_->address(copy, i));
  size_t number = 0;
  for (const int64_t bytes : bound_bytes(nest)) {
    const auto bound = take("a bound buffer", bytes);
    if (!bound) return bound.failure();
    slots.bound(number++, *bound);
    if (copy == 0) bound_.push_back({*bound, bytes});
  }
  bind_slots_.push_back(slots.at_bind(fixture.problem().program));
  slots_.push_back(std::move(slots));
  packs_.emplace_back();
  calls_.emplace_back();
  for (size_t i = 0; i < nest.launches.size(); ++i) {
    const ir::Launch& launch = nest.launches[i];
    const int64_t* const args = launch.at_bind ? bind_slots_.back().data() : slots_.back().data();
    (launch.at_bind ? packs_ : calls_)
        .back()
        .push_back({*candidate_->executable, i, args, evaluate(launch.extent, fixture.dims()),
                    launch.parallel && !launch.at_bind, scratch_});
  }
  return Done{};
}

Result<Done> CallFrame::run_all(const std::vector<SiteLaunch>& launches) {
  for (const SiteLaunch& launch : launches) {
    if (auto f = operands_->site().run(launch); !f) return f;
  }
  return Done{};
}

Result<Done> CallFrame::bind() {
  if (auto f = status_->write(&kFine); !f) return f;
  const auto took = operands_->site().timed([&] {
    Result<Done> f = Done{};
    for (size_t copy = 0; copy < packs_.size() && f; ++copy) f = run_all(packs_[copy]);
    return f;
  });
  return took ? fine() : took.failure();
}

Result<double> CallFrame::call() {
  if (auto f = bind(); !f) return f.failure();
  auto took = operands_->site().timed([&] { return run_all(calls_[0]); });
  if (!took) return took;
  if (auto f = status_->read(&found_, 0, sizeof found_); !f) return f.failure();
  return took;
}

Result<Done> CallFrame::run(int64_t n) {
  // Kernels may take no longer than a division.
  size_t copy = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (auto f = run_all(calls_[copy]); !f) return f;
    if (++copy == calls_.size()) copy = 0;
  }
  return Done{};
}

std::vector<MemorySpan> CallFrame::packed_of(const std::vector<bool>& params) const {
  const std::vector<bool> made = bound_of(candidate_->nest(), params);
  std::vector<MemorySpan> packed;
  for (size_t b = 0; b < bound_.size(); ++b) {
    if (made[b]) packed.push_back(bound_[b]);
  }
  return packed;
}

std::string CallFrame::misreported() const {
  return runtime::misreported(found_, operands_->fixture());
}

Result<std::string> CallFrame::overwritten() const {
  for (const auto& [what, block] : blocks_) {
    const auto changed = block->overwritten();
    if (!changed) return changed.failure();
    if (*changed) return std::string(what);
  }
  return std::string();
}

}  // namespace hone::runtime
