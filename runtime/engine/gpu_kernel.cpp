// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/gpu_kernel.h"

namespace hone::runtime {
namespace {

bool has_check(const ir::Stmt& s) {
  if (s.kind == ir::Stmt::kCheck) return true;
  for (const ir::StmtRef& child : s.body) {
    if (has_check(*child)) return true;
  }
  return false;
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
