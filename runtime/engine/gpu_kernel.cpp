// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/gpu_kernel.h"

#include <fmt/format.h>

namespace hone::runtime {
namespace {

bool has_check(const ir::Stmt& s) {
  if (s.kind == ir::Stmt::kCheck) return true;
  for (const ir::StmtRef& child : s.body) {
    if (has_check(*child)) return true;
  }
  return false;
}

/// Compiles, loads, and keeps the machine code for the next run.
Result<std::shared_ptr<const GpuProgram>> load(const std::shared_ptr<Gpu>& gpu,
                                               GpuCompiler& compiler,
                                               const jit::CudaSource& source) {
  const int sm = gpu->facts().sm;
  auto code = compiler.compile(source, sm);
  if (!code) return code.failure();
  auto program = GpuProgram::load(gpu, source, code->binary);
  if (!program && code->kept && !gpu->lost()) {
    // Kept code may be damaged, or of a machine whose driver took it.
    auto fresh = compiler.compile_anew(source, sm);
    if (!fresh) return program.failure();
    code = std::move(fresh);
    program = GpuProgram::load(gpu, source, code->binary);
  }
  if (program) compiler.keep(source, sm, *code);
  return program;
}

}  // namespace

Result<std::shared_ptr<const GpuKernel>> GpuKernel::build(const Services& services,
                                                          GpuCompiler& compiler,
                                                          const Compiled& compiled) {
  const std::shared_ptr<Gpu>& gpu = services.gpu();
  if (gpu->lost()) return gpu->why_lost();
  auto program = load(gpu, compiler, *compiled.cuda);
  if (!program) return program.failure();
  auto k = std::make_shared<GpuKernel>();
  k->program = std::move(*program);
  k->status = gpu->fine();
  for (const ir::Launch& l : compiled.nest.launches) {
    k->checks = k->checks || (l.body && has_check(*l.body));
  }
  if (!k->checks) return std::shared_ptr<const GpuKernel>(std::move(k));
  auto status = gpu->memory().hold(sizeof(int64_t));
  if (!status) {
    k->checks = false;
    return status.failure();
  }
  k->status = *status;
  const UseGpu use(*gpu);
  const jit::CudaDriver& driver = gpu->driver();
  int error = driver.copy_on(k->status, gpu->fine(), sizeof(int64_t), gpu->stream());
  if (error == 0) error = driver.stream_synchronize(gpu->stream());
  if (error != 0) return gpu->failed(error, "clearing a status word");
  return std::shared_ptr<const GpuKernel>(std::move(k));
}

GpuKernel::~GpuKernel() {
  if (checks) gpu().memory().release(status, sizeof(int64_t));
}

}  // namespace hone::runtime
