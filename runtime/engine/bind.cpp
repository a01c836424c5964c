// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "jit/ir/integers.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/engine/large_pages.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// What memory is aligned to where nothing asks for more.
/// Fixed by: a cache line.
constexpr int64_t kLine = 64;

Result<std::shared_ptr<const BoundBlock>> allocate(const KernelState& k, int64_t bytes,
                                                   int64_t align = kLine) {
  const int64_t size = std::max(ir::round_up(bytes, align), align);
  if (k.gpu) {
    auto block = k.gpu->gpu().memory().hold(size);
    if (!block) return block.failure();
    return std::shared_ptr<const BoundBlock>(
        std::make_shared<const BoundBlock>(k.services, size, reinterpret_cast<void*>(*block)));
  }
  WorkspacePool& pool = k.services->workspaces();
  const auto fail = [&] {
    return Failure{ErrorCode::kMemory,
                   fmt::format("binding a constant of `{}` takes {} bytes; {} of {} allowed are in "
                               "use",
                               k.problem, size, pool.used(), pool.ceiling())};
  };
  if (!pool.reserve(size)) return fail();
  void* data = allocate_in_pages(align, size);
  if (!data) {
    pool.unreserve(size);
    return fail();
  }
  return std::shared_ptr<const BoundBlock>(
      std::make_shared<const BoundBlock>(k.services, size, data));
}

/// What bind does to memory: at once on the host, in the engine's stream on a GPU.
class Memory {
 public:
  explicit Memory(const KernelState& k) : gpu_(k.gpu ? &k.gpu->gpu() : nullptr) {
    if (gpu_) use_.emplace(*gpu_);
  }

  Result<Done> copy(void* to, const void* from, int64_t bytes) {
    if (gpu_) {
      return said(gpu_->driver().copy_on(reinterpret_cast<uint64_t>(to),
                                         reinterpret_cast<uint64_t>(from),
                                         static_cast<size_t>(bytes), gpu_->stream()));
    }
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return Done{};
  }
  Result<Done> clear(void* at, int64_t bytes) {
    if (gpu_) {
      return said(gpu_->driver().fill_on(reinterpret_cast<uint64_t>(at), 0,
                                         static_cast<size_t>(bytes), gpu_->stream()));
    }
    std::memset(at, 0, static_cast<size_t>(bytes));
    return Done{};
  }
  /// Waits for all of it.
  Result<Done> finish() {
    if (!gpu_) return Done{};
    return said(gpu_->driver().stream_synchronize(gpu_->stream()));
  }

 private:
  Result<Done> said(int error) {
    return error == 0 ? fine() : gpu_->failed(error, "binding a constant");
  }

  Gpu* gpu_;
  std::optional<UseGpu> use_;
};

/// One bind under way.
class Binder {
 public:
  Binder(const KernelState& k, BoundState state) : k_(k), memory_(k), state_(std::move(state)) {
    std::fill(std::begin(slots_), std::end(slots_), 0);
    for (const auto& [slot, value] : state_.slots) slots_[slot] = value;
  }

  Result<std::shared_ptr<const BoundState>> run(size_t param, const TensorRef& tensor) {
    state_.params[param] = true;
    if (auto f = place(param, tensor); !f) return f.failure();
    for (size_t i = 0; i < k_.packs.size(); ++i) {
      if (state_.packed[i] || !ready(k_.packs[i])) continue;
      if (auto f = pack(k_.packs[i]); !f) return f.failure();
      state_.packed[i] = true;
    }
    if (auto f = memory_.finish(); !f) return f.failure();
    state_.complete = true;
    for (size_t i = 0; i < k_.plan.params.size(); ++i) {
      if (k_.plan.params[i].constant && !state_.params[i]) state_.complete = false;
    }
    if (state_.complete) release();
    return std::shared_ptr<const BoundState>(std::make_shared<BoundState>(std::move(state_)));
  }

 private:
  /// Points the parameter's slot at the tensor; at a copy where it is read after this bind.
  Result<Done> place(size_t param, const TensorRef& tensor) {
    const Sizes& sizes = k_.plan.params[param].sizes;
    const int slot = k_.layout.tensor_slots[param];
    bool keep = k_.call_reads[param];
    for (const LaunchPlan& pack : k_.packs) {
      const auto& reads = pack.reads_params;
      const bool mine = std::find(reads.begin(), reads.end(), param) != reads.end();
      keep = keep || (mine && !ready(pack));
    }
    slots_[slot] = reinterpret_cast<int64_t>(tensor.data());
    if (!keep) return Done{};
    // The promise of alignment is about the first element, before which a negative stride reaches.
    const int64_t align = std::max(k_.plan.params[param].align, kLine);
    const int64_t first = ir::round_up(-sizes.begin, align);
    auto block = allocate(k_, first + sizes.end, align);
    if (!block) return block.failure();
    char* to = static_cast<char*>((*block)->data()) + first;
    if (sizes.end > sizes.begin) {
      const char* from = static_cast<const char*>(tensor.data()) + sizes.begin;
      auto f = memory_.copy(to + sizes.begin, from, sizes.end - sizes.begin);
      if (!f) return f.failure();
    }
    own(slot, to, *block);
    return Done{};
  }

  bool ready(const LaunchPlan& pack) const {
    const auto& reads = pack.reads_params;
    const auto& bound = pack.reads_bound;
    return std::all_of(reads.begin(), reads.end(),
                       [&](int p) { return bool{state_.params[static_cast<size_t>(p)]}; }) &&
           std::all_of(bound.begin(), bound.end(),
                       [&](int b) { return bool{state_.buffers[static_cast<size_t>(b)]}; });
  }

  Result<Done> pack(const LaunchPlan& launch) {
    for (int b : launch.writes_bound) {
      if (state_.buffers[static_cast<size_t>(b)]) continue;
      const BoundBuffer& buffer = k_.bound[static_cast<size_t>(b)];
      auto block = allocate(k_, buffer.bytes);
      if (!block) return block.failure();
      auto f = memory_.clear((*block)->data(), (*block)->bytes());
      if (!f) return f.failure();
      own(buffer.slot, (*block)->data(), *block);
      state_.buffers[static_cast<size_t>(b)] = true;
    }
    auto workspace = allocate(k_, k_.workspace_bytes());
    if (!workspace) return workspace.failure();
    int64_t status = std::numeric_limits<int64_t>::max();
    auto* base = static_cast<std::byte*>((*workspace)->data());
    slots_[ir::ArgsLayout::kStatus] = reinterpret_cast<int64_t>(&status);
    slots_[ir::ArgsLayout::kWorkspace] = reinterpret_cast<int64_t>(base);
    if (k_.gpu) {
      Gpu& gpu = k_.gpu->gpu();
      slots_[ir::ArgsLayout::kStatus] = static_cast<int64_t>(gpu.fine());
      auto f =
          k_.executable->run(static_cast<size_t>(launch.index), slots_, {.stream = gpu.stream()});
      return f ? memory_.finish() : f;
    }
    return k_.run(launch, slots_, base + k_.launch_workspace_bytes, k_.pool);
  }

  /// Gives back what packing alone reads, now that all is packed.
  void release() {
    for (size_t i = 0; i < k_.plan.params.size(); ++i) {
      if (k_.plan.params[i].constant && !k_.call_reads[i]) disown(k_.layout.tensor_slots[i]);
    }
    for (const BoundBuffer& b : k_.bound) {
      if (!b.call_reads) disown(b.slot);
    }
  }

  void disown(int slot) {
    for (size_t i = 0; i < state_.slots.size(); ++i) {
      if (state_.slots[i].first != slot) continue;
      const auto at = static_cast<std::ptrdiff_t>(i);
      state_.bytes -= state_.blocks[i]->bytes();
      state_.slots.erase(state_.slots.begin() + at);
      state_.blocks.erase(state_.blocks.begin() + at);
      return;
    }
  }

  void own(int slot, void* data, const std::shared_ptr<const BoundBlock>& block) {
    slots_[slot] = reinterpret_cast<int64_t>(data);
    state_.slots.emplace_back(slot, slots_[slot]);
    state_.bytes += block->bytes();
    state_.blocks.push_back(block);
  }

  const KernelState& k_;
  Memory memory_;
  BoundState state_;
  int64_t slots_[kMaxSlots];
};

Failure no_such_constant(const KernelState& k, std::string_view name) {
  std::string names;
  for (const ParamPlan& p : k.plan.params) {
    if (p.constant) names += (names.empty() ? "" : ", ") + p.name;
  }
  return Failure{ErrorCode::kArgument,
                 fmt::format("`{}` has no constant {}; {}", k.problem, name,
                             names.empty() ? "it says const= of none" : "it has " + names)};
}

/// Takes over, slot by slot, what was packed for another kernel.
class Sharer {
 public:
  Sharer(const KernelState& k, const KernelState& owner, const BoundState& bound)
      : k_(k), owner_(owner), bound_(bound) {}

  Result<std::shared_ptr<const BoundState>> run() {
    if (!bound_.complete) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("not all constants of `{}` are bound yet", owner_.problem)};
    }
    state_.params.resize(k_.plan.params.size());
    for (size_t i = 0; i < k_.plan.params.size(); ++i) {
      if (!k_.plan.params[i].constant) continue;
      if (!take(i)) return mismatch(k_.plan.params[i].text);
      state_.params[i] = true;
    }
    for (const BoundBuffer& wanted : k_.bound) {
      if (wanted.call_reads && !take(wanted)) return mismatch(wanted.content);
    }
    state_.buffers.assign(k_.bound.size(), true);
    state_.packed.assign(k_.packs.size(), true);
    state_.blocks = bound_.blocks;
    state_.bytes = bound_.bytes;
    state_.complete = true;
    return std::shared_ptr<const BoundState>(std::make_shared<BoundState>(std::move(state_)));
  }

 private:
  /// A constant of the same shape, and its copy where calls read it as it is.
  bool take(size_t param) {
    const ParamPlan& wanted = k_.plan.params[param];
    for (size_t j = 0; j < owner_.plan.params.size(); ++j) {
      const ParamPlan& p = owner_.plan.params[j];
      if (!p.constant || p.text != wanted.text) continue;
      if (!std::equal(p.sizes.strides, p.sizes.strides + p.sizes.rank, wanted.sizes.strides)) break;
      return !k_.call_reads[param] ||
             copy(owner_.layout.tensor_slots[j], k_.layout.tensor_slots[param]);
    }
    return false;
  }

  bool take(const BoundBuffer& wanted) {
    for (const BoundBuffer& b : owner_.bound) {
      if (b.content == wanted.content && b.bytes >= wanted.bytes) return copy(b.slot, wanted.slot);
    }
    return false;
  }

  bool copy(int from, int to) {
    for (const auto& [slot, value] : bound_.slots) {
      if (slot != from) continue;
      state_.slots.emplace_back(to, value);
      return true;
    }
    return false;
  }

  Failure mismatch(const std::string& wanted) const {
    std::string has;
    for (const BoundBuffer& b : owner_.bound) has += (has.empty() ? "" : ", ") + b.content;
    return {
        ErrorCode::kArgument,
        fmt::format("`{}` takes {}, and `{}` was bound with {}; bind the tensor itself, or "
                    "compile both with one schedule",
                    k_.problem, wanted, owner_.problem, has.empty() ? "tensors as they are" : has)};
  }

  const KernelState& k_;
  const KernelState& owner_;
  const BoundState& bound_;
  BoundState state_;
};

}  // namespace

Result<std::shared_ptr<const BoundState>> share_bound(const KernelState& k,
                                                      const KernelState& owner,
                                                      const BoundState& bound) {
  return Sharer(k, owner, bound).run();
}

BoundBlock::~BoundBlock() {
  if (const auto& gpu = services_->gpu()) {
    gpu->memory().release(reinterpret_cast<uint64_t>(data_), bytes_);
    return;
  }
  std::free(data_);
  services_->workspaces().unreserve(bytes_);
}

Result<std::shared_ptr<const BoundState>> bind_constant(const std::shared_ptr<const KernelState>& k,
                                                        const BoundState& base,
                                                        std::string_view name,
                                                        const TensorRef& tensor) {
  BoundState state = base;
  state.params.resize(k->plan.params.size());
  state.buffers.resize(k->bound.size());
  state.packed.resize(k->packs.size());
  for (size_t i = 0; i < k->plan.params.size(); ++i) {
    const ParamPlan& p = k->plan.params[i];
    if (!p.constant || p.name != name) continue;
    if (state.params[i]) {
      return Failure{ErrorCode::kArgument, fmt::format("{} is bound already", name)};
    }
    if (auto f = check_constant(p, tensor); !f) return f.failure();
    if (k->gpu && k->gpu->gpu().lost()) return k->gpu->gpu().why_lost();
    if (k->gpu && tensor.data()) {
      const UseGpu use(k->gpu->gpu());
      auto f = check_on_device(k->gpu->gpu(), p.text, tensor.data());
      if (!f) return f.failure();
    }
    return Binder(*k, std::move(state)).run(i, tensor);
  }
  return no_such_constant(*k, name);
}

}  // namespace hone::runtime
