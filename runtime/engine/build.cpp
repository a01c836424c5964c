// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "runtime/device/forms.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/packing.h"
#include "schedules/numerics.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

BuildFailure rejected(std::string message) {
  return {true, {ErrorCode::kSchedule, std::move(message)}};
}

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
    for (const ir::Expr* e : {&s.begin, &s.end, &s.condition, &s.offset, &s.value}) {
      ir::visit(*e, [&](const ir::Expr& x) {
        if (x->op == ir::Op::kLoad) reads(static_cast<size_t>(x->id));
      });
    }
    if (s.kind == ir::Stmt::kStore) {
      reads(static_cast<size_t>(s.id));
      note(bounds_[static_cast<size_t>(s.id)], &plan_->writes_bound);
    }
    if (s.kind == ir::Stmt::kPrefetch) reads(static_cast<size_t>(s.id));
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
    }
    (launch.at_bind ? k->packs : k->launches).push_back(std::move(plan));
  }
}

/// Calls are held to what the kernels count on.
void raise_alignment(CallPlan* plan, const ir::ArgsLayout& layout, const jit::CudaSource& source) {
  for (size_t i = 0; i < plan->params.size(); ++i) {
    const auto slot = static_cast<size_t>(layout.tensor_slots[i]);
    if (slot >= source.slot_align.size()) continue;
    plan->params[i].align = std::max(plan->params[i].align, source.slot_align[slot]);
  }
}

/// Everything of a kernel that does not depend on machine code.
Result<std::shared_ptr<KernelState>> frame(const std::shared_ptr<Services>& services,
                                           const BuildInput& input, const Compiled& compiled) {
  const ir::Nest& nest = compiled.nest;
  auto k = std::make_shared<KernelState>();
  auto plan = plan_call(input.problem->program);
  if (!plan) return plan.failure();
  if (nest.slots > kMaxSlots) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("{} argument slots are more than a call takes", nest.slots)};
  }
  k->plan = std::move(*plan);
  k->problem = input.problem->text;
  if (!k->plan.checked.empty()) k->definition = input.problem->program;
  k->target = ir::print(*input.target);
  k->source = input.source;
  k->services = services;
  k->layout = ir::args_layout(nest);
  if (compiled.cuda && services->gpu()) raise_alignment(&k->plan, k->layout, *compiled.cuda);
  k->quick = QuickChecks(k->plan, k->layout);
  for (const ParamPlan& p : k->plan.params) k->has_constants = k->has_constants || p.constant;
  fill_launches(k.get(), nest);
  for (const ir::NestBuffer& b : nest.buffers) {
    if (b.home != ir::Home::kBound) continue;
    k->bound.push_back({b.slot, b.max_bytes, packing_text(compiled.scheduled, b.name)});
  }
  k->shared_bytes = (nest.shared_bytes + 127) / 128 * 128;
  k->worker_bytes = (nest.worker_bytes + 127) / 128 * 128;
  bool parallel = false;
  for (const ir::Launch& launch : nest.launches) parallel = parallel || launch.parallel;
  if (parallel && !services->gpu()) {
    k->pool = services->pool();
    k->workers = services->workers();
  }
  k->entry.slots = slots_of(nest, k->plan, k->layout);
  k->entry.workspace_bytes = nest.shared_bytes;
  k->entry.scratch_bytes = nest.worker_bytes;
  k->report.workspace_bytes = k->workspace_bytes();
  return k;
}

/// Moves code into executable memory and points the launches at it; false where that is forbidden.
Result<bool> install(KernelState* k, const jit::Code& code) {
  auto span = k->services->code().add(code.bytes);
  if (!span && span.failure().code == ErrorCode::kUnsupported) {
    k->services->tell_once(Event::kNotice, "the interpreter serves: " + span.failure().message);
    return false;
  }
  if (!span) return span.failure();
  k->code = *span;
  k->services->name_code(span->data, span->size, "hone " + k->problem);
  for (auto* list : {&k->launches, &k->packs}) {
    for (LaunchPlan& launch : *list) {
      const size_t index = static_cast<size_t>(launch.index);
      launch.function = reinterpret_cast<Launch::Function>(
          reinterpret_cast<uintptr_t>(span->data + code.launches[index].entry));
      k->entry.launches[index].function = launch.function;
    }
  }
  k->report.instructions = code.report.instructions;
  k->report.spills = code.report.spills;
  k->report.inner_spills = code.report.inner_spills;
  k->report.code_bytes = static_cast<int64_t>(code.bytes.size());
  return true;
}

/// Puts the kernels on the GPU. What does not compile, or asks more of a block than it can have, is
/// a matter of the schedule.
std::optional<BuildFailure> install_on_gpu(KernelState* k, const Compiled& compiled,
                                           GpuCompiler& compiler, int ptx) {
  auto built = GpuKernel::build(*k->services, compiler, compiled, ptx);
  if (!built) {
    const ErrorCode code = built.failure().code;
    return BuildFailure{code == ErrorCode::kSchedule || code == ErrorCode::kInternal,
                        built.failure()};
  }
  k->gpu = std::move(*built);
  k->report.code_bytes = k->gpu->program->code_bytes();
  for (const GpuLaunch& l : k->gpu->program->launches()) {
    k->report.spills = std::max(k->report.spills, static_cast<int>(l.local_bytes / 4));
  }
  k->report.workspace_bytes = k->workspace_bytes();
  return std::nullopt;
}

/// The backend's word; what it throws is a bug of its own, and no reason for the host to fall.
Result<jit::Code, jit::Refusal> emit(const ir::Nest& nest, const ir::Target& target,
                                     const BuildOptions& options) {
  try {
    return jit::compile_x86(nest, target, {options.keep_lir, options.debug});
  } catch (const InternalError& bug) {
    return jit::Refusal{std::string("a bug of the backend: ") + bug.what()};
  }
}

}  // namespace

Result<Compiled, BuildFailure> compile_schedule(const ir::Program& program,
                                                const ir::Target& target,
                                                const std::string& schedule,
                                                const BuildOptions& options) {
  const auto steps = schedules::Schedule::parse(schedule);
  if (!steps) return BuildFailure{true, steps.failure()};
  auto scheduled = schedules::apply(program, *steps);
  if (!scheduled) return rejected(schedules::objections(program, *steps));
  auto nest = jit::lower(*scheduled, target);
  if (!nest) return rejected(nest.failure().message);
  Compiled compiled{steps->text(), std::move(*scheduled), std::move(*nest), std::nullopt, {}, {}};
  if (target.is_cuda()) {
    compiled.nest = jit::with_barriers(std::move(compiled.nest));
    const auto forms = cuda_forms();
    if (!forms) return BuildFailure{false, forms.failure()};
    auto source = jit::print_cuda(compiled.nest, target, *forms);
    if (!source) return rejected(source.failure().message);
    compiled.cuda = *std::move(source);
    return compiled;
  }
  if (target.vector_bytes() == 0 || options.interpret) return compiled;
  auto code = emit(compiled.nest, target, options);
  if (code) {
    compiled.code = std::move(*code);
  } else if (options.refusal_rejects) {
    return rejected(code.failure().message);
  } else {
    compiled.refusal = code.failure().message;
  }
  return compiled;
}

Result<std::shared_ptr<const KernelState>, BuildFailure> build_kernel(
    const std::shared_ptr<Services>& services, const BuildInput& input) {
  auto compiled =
      compile_schedule(input.problem->program, *input.target, input.schedule, input.options);
  if (!compiled) return compiled.failure();
  auto k = frame(services, input, *compiled);
  if (!k) return BuildFailure{false, k.failure()};
  (*k)->schedule = compiled->schedule;
  (*k)->numerics = schedules::numerics_class(input.problem->program, compiled->scheduled);
  bool installed = false;
  if (compiled->cuda && services->gpu() && input.compiler) {
    auto failure = install_on_gpu(k->get(), *compiled, *input.compiler, input.target->ptx);
    if (failure) return *failure;
    installed = true;
  } else if (compiled->code) {
    const auto done = install(k->get(), *compiled->code);
    if (!done) return BuildFailure{false, done.failure()};
    installed = *done;
  }
  if (!installed) {
    (*k)->report.interpreted = true;
    (*k)->interpreter.emplace(std::move(compiled->nest));
  }
  const std::chrono::duration<double, std::micro> spent =
      std::chrono::steady_clock::now() - input.begun;
  (*k)->report.build_us = spent.count();
  return std::shared_ptr<const KernelState>(std::move(*k));
}

}  // namespace hone::runtime
