// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/interp/backend.h"
#include "jit/ir/visit.h"
#include "runtime/device/backend.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/packing.h"
#include "runtime/engine/params.h"
#include "runtime/fine.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

using ir::Reject;

/// Which parameters and bound buffers a launch touches.
class Touches {
 public:
  Touches(const ir::Nest& nest, LaunchPlan* plan) : plan_(plan) {
    int param = 0, bound = 0;
    for (const ir::NestBuffer& b : nest.buffers) {
      params_.push_back(b.home == ir::Home::kArgument ? param++ : -1);
      bounds_.push_back(b.home == ir::Home::kBound ? bound++ : -1);
    }
  }

  void statement(const ir::Stmt& s) {
    ir::for_each_load(s, [&](const ir::Expr& x) { reads(static_cast<size_t>(x->id)); });
    if (const auto* store = ir::as<ir::StoreStmt>(s)) {
      reads(static_cast<size_t>(store->buffer));
      note(bounds_[static_cast<size_t>(store->buffer)], &plan_->writes_bound);
    }
    if (const auto* prefetch = ir::as<ir::PrefetchStmt>(s)) {
      reads(static_cast<size_t>(prefetch->buffer));
    }
    for (const ir::StmtRef& child : s.body) statement(*child);
  }

  /// What a launch writes is not among what must be there before it.
  void finish() {
    std::erase_if(plan_->reads_bound, [&](int b) {
      return std::find(plan_->writes_bound.begin(), plan_->writes_bound.end(), b) !=
             plan_->writes_bound.end();
    });
  }

 private:
  void reads(size_t buffer) {
    note(params_[buffer], &plan_->reads_params);
    note(bounds_[buffer], &plan_->reads_bound);
  }
  static void note(int index, std::vector<int>* list) {
    if (index >= 0 && std::find(list->begin(), list->end(), index) == list->end()) {
      list->push_back(index);
    }
  }

  LaunchPlan* plan_;
  std::vector<int> params_, bounds_;
};

LaunchPlan plan_launch(const ir::Nest& nest, size_t index) {
  const ir::Launch& launch = nest.launches[index];
  LaunchPlan plan;
  plan.index = static_cast<int>(index);
  plan.parallel = launch.parallel;
  plan.extent = number_dims(launch.extent, nest.dims);
  if (!ir::is_const(plan.extent, &plan.fixed_extent)) plan.fixed_extent = -1;
  Touches touches(nest, &plan);
  if (launch.body) touches.statement(*launch.body);
  touches.finish();
  return plan;
}

std::vector<Slot> slots_of(const ir::Nest& nest, const CallPlan& plan,
                           const ir::ArgsLayout& layout) {
  std::vector<Slot> slots(static_cast<size_t>(nest.slots));
  slots[ir::ArgsLayout::kStatus] = {Slot::kStatus, "status", DType::kI64};
  slots[ir::ArgsLayout::kWorkspace] = {Slot::kWorkspace, "workspace", DType::kI64};
  const auto at = [&](int slot) -> Slot& { return slots[static_cast<size_t>(slot)]; };
  size_t bound = 0;
  for (const ir::NestBuffer& b : nest.buffers) {
    if (b.home == ir::Home::kBound) {
      at(layout.bound_slots[bound++]) = {Slot::kBound, b.name, b.type};
    }
  }
  for (size_t i = 0; i < plan.params.size(); ++i) {
    at(layout.tensor_slots[i]) = {Slot::kTensor, plan.params[i].name, plan.params[i].type};
  }
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    const Slot::Kind kind = plan.dim_is_stride[i] ? Slot::kStride : Slot::kDim;
    at(layout.dim_slots[i]) = {kind, plan.dims[i].name, DType::kI64};
  }
  for (size_t i = 0; i < plan.scalars.size(); ++i) {
    at(layout.scalar_slots[i]) = {Slot::kScalar, plan.scalars[i].name, plan.scalars[i].type};
  }
  return slots;
}

void fill_launches(KernelState* k, const ir::Nest& nest) {
  k->call_reads.assign(k->plan.params.size(), false);
  for (size_t i = 0; i < nest.launches.size(); ++i) {
    const ir::Launch& launch = nest.launches[i];
    LaunchPlan plan = plan_launch(nest, i);
    k->entry.launches.push_back(
        {launch.name, nullptr, plan.fixed_extent, launch.parallel, launch.at_bind});
    if (!launch.at_bind) {
      for (int p : plan.reads_params) k->call_reads[static_cast<size_t>(p)] = true;
      for (int b : plan.reads_bound) k->bound[static_cast<size_t>(b)].call_reads = true;
    }
    (launch.at_bind ? k->packs : k->launches).push_back(std::move(plan));
  }
}

/// Calls are held to what the kernels count on.
void raise_alignment(CallPlan* plan, const ir::ArgsLayout& layout,
                     std::span<const int64_t> slot_align) {
  for (size_t i = 0; i < plan->params.size(); ++i) {
    const auto slot = static_cast<size_t>(layout.tensor_slots[i]);
    if (slot >= slot_align.size()) continue;
    plan->params[i].align = std::max(plan->params[i].align, slot_align[slot]);
  }
}

/// Everything of a kernel that does not depend on machine code.
Result<std::shared_ptr<KernelState>> frame(const std::shared_ptr<Services>& services,
                                           const BuildInput& input, const Compiled& compiled) {
  const ir::Nest& nest = compiled.nest();
  auto k = std::make_shared<KernelState>();
  auto plan = plan_call(input.problem->program);
  if (!plan) return plan.failure();
  if (nest.slots > kMaxSlots) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("{} argument slots are more than a call takes", nest.slots)};
  }
  k->plan = std::move(*plan);
  k->params = params_of(*input.problem, k->plan);
  k->problem = input.problem->text;
  if (!k->plan.checked.empty()) k->definition = input.problem->definition;
  k->target = ir::print(*input.target);
  k->source = input.source;
  k->services = services;
  k->layout = ir::args_layout(nest);
  if (services->gpu()) raise_alignment(&k->plan, k->layout, compiled.code->slot_align());
  k->quick = QuickChecks(k->plan, k->layout);
  for (const ParamPlan& p : k->plan.params) k->has_constants = k->has_constants || p.constant;
  for (const ir::NestBuffer& b : nest.buffers) {
    if (b.home != ir::Home::kBound) continue;
    k->bound.push_back({b.slot, b.max_bytes, packing_text(compiled.scheduled, b.name)});
  }
  fill_launches(k.get(), nest);
  k->launch_workspace_bytes = (nest.workspace_bytes + 127) / 128 * 128;
  k->worker_bytes = (nest.worker_bytes + 127) / 128 * 128;
  bool parallel = false;
  for (const ir::Launch& launch : nest.launches) parallel = parallel || launch.parallel;
  if (parallel && !services->gpu()) {
    k->pool = services->pool();
    k->workers = services->workers();
  }
  k->entry.slots = slots_of(nest, k->plan, k->layout);
  k->entry.workspace_bytes = nest.workspace_bytes;
  k->entry.scratch_bytes = nest.worker_bytes;
  return k;
}

/// Makes the code callable. Where the system has no place for it, the interpreter serves, and the
/// host is told.
Result<std::shared_ptr<const jit::Executable>, Reject> load_or_interpret(KernelState* k,
                                                                         const BuildInput& input,
                                                                         Compiled* compiled) {
  Services& services = *k->services;
  const DevicePlace place(&services.code(), services.gpu(), input.compiler);
  auto loaded = load(*compiled, *input.target, place);
  const bool nowhere = !loaded && loaded.failure().code == ErrorCode::kUnsupported;
  if (!nowhere || services.gpu()) return loaded;
  if (!input.target->is_cuda()) {
    services.tell_once(Event::kNotice, "the interpreter serves: " + loaded.failure().text());
  }
  compiled->backend = &jit::kInterpBackend;
  return load(*compiled, *input.target, place);
}

/// Points the launches at the loaded code.
void install(KernelState* k, std::shared_ptr<const jit::Executable> executable) {
  for (auto* list : {&k->launches, &k->packs}) {
    for (LaunchPlan& launch : *list) {
      const auto index = static_cast<size_t>(launch.index);
      launch.function = executable->function(index);
      k->entry.launches[index].function = launch.function;
    }
  }
  const std::span<const uint8_t> bytes = executable->bytes();
  if (!bytes.empty()) k->services->name_code(bytes.data(), bytes.size(), "hone " + k->problem);
  const jit::Report& report = executable->report();
  k->report.instructions = report.instructions;
  k->report.spills = report.spills;
  k->report.inner_spills = report.inner_spills;
  k->report.code_bytes = report.code_bytes;
  k->report.schedule_us = report.schedule_us;
  k->report.compile_us = report.compile_us;
  k->executable = std::move(executable);
}

/// A kernel's side on a GPU, where that is what its code runs on.
Result<Done> install_on_gpu(KernelState* k, const ir::Nest& nest) {
  auto program = std::dynamic_pointer_cast<const GpuProgram>(k->executable);
  if (!program) return Done{};
  auto gpu = GpuKernel::create(std::move(program), nest);
  if (!gpu) return gpu.failure();
  k->gpu = *std::move(gpu);
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const KernelState>, Reject> build_kernel(
    const std::shared_ptr<Services>& services, const BuildInput& input) {
  const auto reject = [&](const Reject& why) {
    if (why.kind == Reject::kBug) {
      services->tell(Event::kBug, [&] {
        return fmt::format("{}\n  {} | {} | {}", why.text(), input.problem->text,
                           ir::print(*input.target), input.schedule);
      });
    }
    return why;
  };
  BuildOptions options = input.options;
  options.backend = services->backend();
  auto compiled = input.scheduled ? compile_scheduled(*input.scheduled, *input.target, options)
                                  : compile_schedule(input.problem->program, *input.target,
                                                     input.schedule, options);
  if (!compiled) return reject(compiled.failure());
  auto made = frame(services, input, *compiled);
  if (!made) return Reject{Reject::kFailed, made.failure()};
  KernelState& k = **made;
  k.schedule = compiled->schedule;
  k.numerics = schedules::numerics_class(input.problem->program, compiled->scheduled);
  auto executable = load_or_interpret(&k, input, &*compiled);
  if (!executable) return reject(executable.failure());
  install(&k, *std::move(executable));
  if (auto f = install_on_gpu(&k, compiled->nest()); !f) {
    return Reject{Reject::kFailed, f.failure()};
  }
  k.report.interpreted = compiled->backend == &jit::kInterpBackend;
  const std::chrono::duration<double, std::micro> spent =
      std::chrono::steady_clock::now() - input.begun;
  k.report.build_us = spent.count();
  return std::shared_ptr<const KernelState>(*std::move(made));
}

}  // namespace hone::runtime
