// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/gpu_kernel.h"

#include "jit/ir/visit.h"

namespace hone::runtime {
namespace {

bool has_check(const ir::Stmt& s) {
  return ir::any_of(s, [](const ir::Stmt& x) { return ir::is<ir::CheckStmt>(x); });
}

}  // namespace

Result<std::shared_ptr<const GpuKernel>> GpuKernel::create(
    std::shared_ptr<const GpuProgram> program, const ir::Nest& nest) {
  auto k = std::make_shared<GpuKernel>();
  k->program = std::move(program);
  bool checks = false;
  for (const ir::Launch& l : nest.launches) checks = checks || (l.body && has_check(*l.body));
  if (checks) {
    auto words = StatusWords::create(k->gpu());
    if (!words) return words.failure();
    k->words = std::move(*words);
  }
  return std::shared_ptr<const GpuKernel>(std::move(k));
}

}  // namespace hone::runtime
