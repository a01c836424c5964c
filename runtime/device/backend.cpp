// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/backend.h"

#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "runtime/device/compiler.h"
#include "runtime/device/forms.h"
#include "runtime/device/gpu_program.h"

namespace hone::runtime {
namespace {

using ir::Reject;

class EmittedCuda final : public jit::Code {
 public:
  EmittedCuda(ir::Nest nest, jit::CudaSource s) : Code(std::move(nest)), source(std::move(s)) {}
  std::span<const int64_t> slot_align() const override { return source.slot_align; }
  const jit::CudaSource source;
};

Result<std::shared_ptr<const jit::Code>, Reject> emit(const ir::Program& scheduled,
                                                      const ir::Target& target,
                                                      const jit::EmitOptions&) {
  auto lowered = jit::lower(scheduled, target);
  if (!lowered) return lowered.failure();
  ir::Nest nest = jit::with_barriers(*std::move(lowered));
  const auto forms = cuda_forms();
  if (!forms) return Reject{Reject::kFailed, forms.failure()};
  auto source = jit::print_cuda(nest, target, *forms);
  if (!source) return source.failure();
  return std::shared_ptr<const jit::Code>(
      std::make_shared<EmittedCuda>(std::move(nest), *std::move(source)));
}

/// What asks more of a block than it can have is a matter of the schedule. A text that does not
/// compile is a bug of who wrote it.
Reject rejected(const Failure& failure) {
  switch (failure.code) {
    case ErrorCode::kSchedule:
      return {Reject::kRefused, failure};
    case ErrorCode::kInternal:
      return {Reject::kBug, failure};
    default:
      return {Reject::kFailed, failure};
  }
}

/// Compiles, loads, and keeps the machine code for the next run.
Result<std::shared_ptr<const jit::Executable>, Reject> load(std::shared_ptr<const jit::Code> code,
                                                            const ir::Target& target,
                                                            const jit::Place& given) {
  const auto& place = static_cast<const DevicePlace&>(given);
  if (!place.gpu) {
    return Reject{Reject::kFailed, {ErrorCode::kUnsupported, "there is no GPU to run this on"}};
  }
  if (place.gpu->lost()) return Reject{Reject::kFailed, place.gpu->why_lost()};
  const jit::CudaSource& source = *cuda_source(*code);
  GpuCompiler& compiler = *place.compiler;
  const int sm = place.gpu->facts().sm;
  auto binary = compiler.compile(source, sm, target.ptx);
  if (!binary) return rejected(binary.failure());
  auto program = GpuProgram::load(place.gpu, code->nest(), source, binary->binary);
  if (!program && binary->kept && !place.gpu->lost()) {
    // Kept code may be damaged, or of a machine whose driver took it.
    auto fresh = compiler.compile_anew(source, sm, target.ptx);
    if (!fresh) return rejected(program.failure());
    binary = std::move(fresh);
    program = GpuProgram::load(place.gpu, code->nest(), source, binary->binary);
  }
  if (!program) return rejected(program.failure());
  compiler.keep(source, sm, *binary);
  return std::shared_ptr<const jit::Executable>(*std::move(program));
}

void load_ahead(std::shared_ptr<const jit::Code> code, const ir::Target& target,
                const jit::Place& given) {
  const auto& place = static_cast<const DevicePlace&>(given);
  if (place.gpu) place.compiler->ahead(*cuda_source(*code), place.gpu->facts().sm, target.ptx);
}

}  // namespace

const jit::CudaSource* cuda_source(const jit::Code& code) {
  const auto* emitted = dynamic_cast<const EmittedCuda*>(&code);
  return emitted ? &emitted->source : nullptr;
}

const jit::Backend kCudaBackend = {
    "cuda", [](const ir::Target& target) { return target.is_cuda(); }, emit, load, load_ahead};

}  // namespace hone::runtime
