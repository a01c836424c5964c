// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/backends.h"

#include "jit/halide/backend.h"
#include "jit/interp/backend.h"
#include "jit/x86/compile.h"
#include "runtime/device/backend.h"

namespace hone::runtime {
namespace {

constexpr const jit::Backend* kBackends[] = {
    &kCudaBackend,
    &jit::kHalideBackend,
    &jit::kX86Backend,
    &jit::kInterpBackend,
};

}  // namespace

std::span<const jit::Backend* const> backends() { return kBackends; }

const jit::Backend& backend_of(const ir::Target& target) {
  for (const jit::Backend* b : kBackends) {
    if (b->takes(target)) return *b;
  }
  return jit::kInterpBackend;
}

}  // namespace hone::runtime
