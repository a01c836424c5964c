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
                                               GpuCompiler& compiler, const jit::CudaSource& source,
                                               int ptx) {
  const int sm = gpu->facts().sm;
  auto code = compiler.compile(source, sm, ptx);
  if (!code) return code.failure();
  auto program = GpuProgram::load(gpu, source, code->binary);
  if (!program && code->kept && !gpu->lost()) {
    // Kept code may be damaged, or of a machine whose driver took it.
    auto fresh = compiler.compile_anew(source, sm, ptx);
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
                                                          const Compiled& compiled, int ptx) {
  const std::shared_ptr<Gpu>& gpu = services.gpu();
  if (gpu->lost()) return gpu->why_lost();
  auto program = load(gpu, compiler, *compiled.cuda, ptx);
  if (!program) return program.failure();
  auto k = std::make_shared<GpuKernel>();
  k->program = std::move(*program);
  bool checks = false;
  for (const ir::Launch& l : compiled.nest.launches) {
    checks = checks || (l.body && has_check(*l.body));
  }
  if (checks) {
    auto words = StatusWords::create(*gpu);
    if (!words) return words.failure();
    k->words = std::move(*words);
  }
  return std::shared_ptr<const GpuKernel>(std::move(k));
}

}  // namespace hone::runtime
