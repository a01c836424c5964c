// SPDX-License-Identifier: Apache-2.0
// The steady state: nothing here allocates, locks or calls the system on one thread.
#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "jit/interp/reference.h"
#include "runtime/call/float_control.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// One launch under way, for the pool's workers.
struct Running {
  const KernelState* kernel;
  const LaunchPlan* launch;
  const int64_t* slots;
  std::byte* scratch;
  unsigned floats;
  int64_t extent;
  std::atomic<const std::string*> fault{nullptr};
  std::atomic<bool> stray{false};  ///< the pool asked for what there is not

  void run(int64_t begin, int64_t end, int worker) {
    std::byte* own = scratch + worker * kernel->worker_bytes;
    if (launch->function) {
      launch->function(slots, begin, end, own);
      return;
    }
    auto bad = kernel->executable->run(static_cast<size_t>(launch->index), slots,
                                       {begin, end, own, nullptr});
    if (bad) return;
    const std::string* none = nullptr;
    auto text = std::make_unique<std::string>(bad.failure().message);
    if (fault.compare_exchange_strong(none, text.get())) static_cast<void>(text.release());
  }

  /// Rounding and denormals are the caller's on every worker.
  static void task(void* context, int64_t begin, int64_t end, int worker) {
    auto* self = static_cast<Running*>(context);
    if (worker < 0 || worker >= self->kernel->workers || begin < 0 || end > self->extent) {
      self->stray = true;
      return;
    }
    const CallersFloats floats(self->floats);
    self->run(begin, end, worker);
  }
};

/// A workspace for one call: the caller's, or one from the pool.
class Workspace {
 public:
  Workspace(WorkspacePool* pool, int64_t bytes, std::span<std::byte> given)
      : pool_(pool), bytes_(bytes) {
    if (bytes == 0) return;
    owned_ = given.empty();
    data_ = owned_ ? static_cast<std::byte*>(pool->take(bytes)) : given.data();
  }
  ~Workspace() {
    if (owned_ && data_) pool_->give(data_, bytes_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  std::byte* data() const { return data_; }
  bool missing() const { return bytes_ > 0 && !data_; }

 private:
  WorkspacePool* pool_;
  int64_t bytes_;
  std::byte* data_ = nullptr;
  bool owned_ = false;
};

Failure unbound(const KernelState& k, const BoundState* bound) {
  std::string names;
  for (size_t i = 0; i < k.plan.params.size(); ++i) {
    const ParamPlan& p = k.plan.params[i];
    if (p.constant && (!bound || !bound->params[i])) names += (names.empty() ? "" : ", ") + p.name;
  }
  return Failure{
      ErrorCode::kArgument,
      fmt::format("{} of `{}` is constant and not bound yet; bind it, then call the Bound", names,
                  k.problem)};
}

Failure bad_workspace(int64_t bytes, std::span<std::byte> given) {
  return Failure{ErrorCode::kArgument,
                 fmt::format("the workspace has {} bytes at {}; {} are taken, at a multiple of 64",
                             given.size(), static_cast<void*>(given.data()), bytes)};
}

Failure out_of_memory(const KernelState& k, int64_t bytes) {
  const WorkspacePool& pool = k.services->workspaces();
  return Failure{ErrorCode::kMemory,
                 fmt::format("`{}` takes {} bytes of workspace; {} of {} allowed are in use",
                             k.problem, bytes, pool.used(), pool.ceiling())};
}

/// Explains the bad element `position`: its tensor and why. The kernel reports the position alone,
/// so the checks run again on the call's arguments. Where they cannot, all possible reasons are
/// given.
std::string bad_element(const KernelState& k, int64_t position, const int64_t* slots) {
  const std::string all = fmt::format("{} is out of range, or decreases where offsets must not",
                                      fmt::join(k.plan.checked, " or "));
  if (!k.definition || k.has_constants) return all;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < k.plan.dims.size(); ++i) dims.push_back(slots[k.layout.dim_slots[i]]);
  std::vector<jit::TensorView> views = jit::parameter_views(*k.definition, dims);
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].data = reinterpret_cast<void*>(slots[k.layout.tensor_slots[i]]);
  }
  return jit::bad_element(*k.definition, views, dims, position).value_or(all);
}

Failure bad_data(const KernelState& k, int64_t position, const int64_t* slots) {
  return Failure{ErrorCode::kBounds,
                 fmt::format("`{}`: element {} of {}; what depends on it was not written",
                             k.problem, position, bad_element(k, position, slots))};
}

Failure bad_pool(const KernelState& k, int64_t extent) {
  return Failure{
      ErrorCode::kArgument,
      fmt::format("EngineOptions::pool: a task is outside of workers [0, {}) or of the range "
                  "[0, {})",
                  k.workers, extent)};
}

bool usable(std::span<std::byte> given, int64_t bytes) {
  return static_cast<int64_t>(given.size()) >= bytes &&
         reinterpret_cast<uintptr_t>(given.data()) % 64 == 0;
}

}  // namespace

int64_t KernelState::workspace_bytes() const {
  if (gpu) return launch_workspace_bytes;
  return launch_workspace_bytes + workers * worker_bytes;
}

int64_t KernelState::serial_workspace_bytes() const {
  return launch_workspace_bytes + (gpu ? 0 : worker_bytes);
}

Failure too_many_arguments(size_t count) {
  return Failure{ErrorCode::kArgument,
                 fmt::format("{} arguments are more than a call takes", count)};
}

KernelMemory KernelState::memory(const BoundState* bound_state) const {
  KernelMemory m;
  m.code = report.code_bytes;
  m.constants = bound_state ? bound_state->bytes : 0;
  m.workspace = launch_workspace_bytes;
  m.worker = gpu ? 0 : worker_bytes;
  m.call = workspace_bytes();
  return m;
}

Result<Done> KernelState::run(const LaunchPlan& launch, const int64_t* slots, std::byte* scratch,
                              ThreadPool* threads) const {
  const int64_t extent =
      launch.fixed_extent >= 0
          ? launch.fixed_extent
          : evaluate(launch.extent, {slots + (layout.dim_slots.empty() ? 0 : layout.dim_slots[0]),
                                     plan.dims.size()});
  if (extent <= 0) return Done{};
  const bool forks = threads && launch.parallel && extent > 1;
  if (launch.function && !forks) {
    launch.function(slots, 0, extent, scratch);
    return Done{};
  }
  Running running{this, &launch, slots, scratch, float_control(), extent};
  if (forks) {
    auto f = guard_pool([&] { threads->parallel_for(extent, Running::task, &running); });
    if (!f) return f.failure();
  } else {
    running.run(0, extent, 0);
  }
  if (running.stray) return bad_pool(*this, extent);
  const std::unique_ptr<const std::string> fault(running.fault.load());
  if (!fault) return Done{};
  return Failure{ErrorCode::kInternal, fmt::format("{}\n  {}", *fault, repro())};
}

Result<Done> KernelState::fill(std::span<const ArgRef> args, const BoundState* bound_state,
                               int64_t* slots) const {
  if (has_constants && (!bound_state || !bound_state->complete)) return unbound(*this, bound_state);
  if (bound_state) {
    for (const auto& [slot, value] : bound_state->slots) slots[slot] = value;
  }
  return quick.fill(args, slots) ? fine() : fill_slowly(args, slots);
}

Result<Done> KernelState::fill_slowly(std::span<const ArgRef> args, int64_t* slots) const {
  Bindings bindings;
  if (auto f = bind_arguments(plan, args, &bindings); !f) return f.failure();
  for (size_t i = 0; i < plan.params.size(); ++i) {
    if (plan.params[i].constant) continue;
    slots[layout.tensor_slots[i]] = reinterpret_cast<int64_t>(bindings.tensors[i]);
  }
  for (size_t i = 0; i < plan.dims.size(); ++i) slots[layout.dim_slots[i]] = bindings.dims[i];
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    slots[layout.scalar_slots[i]] = bindings.scalars[i];
  }
  return Done{};
}

Result<Done> KernelState::run_all(int64_t* slots, std::byte* workspace, ThreadPool* threads) const {
  int64_t status = kFine;
  slots[ir::ArgsLayout::kStatus] = reinterpret_cast<int64_t>(&status);
  slots[ir::ArgsLayout::kWorkspace] = reinterpret_cast<int64_t>(workspace);
  for (const LaunchPlan& launch : launches) {
    auto f = run(launch, slots, workspace + launch_workspace_bytes, threads);
    if (!f) return f.failure();
  }
  return status == kFine ? fine() : bad_data(*this, status, slots);
}

Result<Done> KernelState::call(std::span<const Arg> args, const CallOptions& options,
                               const BoundState* bound_state) const {
  if (args.size() > kMaxSlots) return too_many_arguments(args.size());
  std::array<ArgRef, kMaxSlots> refs;
  return call(refer(args, refs), options, bound_state);
}

Result<Done> KernelState::call(std::span<const ArgRef> args, const CallOptions& options,
                               const BoundState* bound_state) const {
  int64_t slots[kMaxSlots];
  if (auto f = fill(args, bound_state, slots); !f) return f.failure();
  if (gpu) return call_on_gpu(slots, options.workspace);
  const int64_t bytes = options.serial ? serial_workspace_bytes() : workspace_bytes();
  if (!options.workspace.empty() && !usable(options.workspace, bytes)) {
    return bad_workspace(bytes, options.workspace);
  }
  const Workspace workspace(&services->workspaces(), bytes, options.workspace);
  if (workspace.missing()) return out_of_memory(*this, bytes);
  return run_all(slots, workspace.data(), options.serial ? nullptr : pool);
}

}  // namespace hone::runtime
