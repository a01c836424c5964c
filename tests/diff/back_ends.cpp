// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/back_ends.h"

#include <string>

#include "jit/halide/backend.h"
#include "jit/interp/backend.h"
#include "jit/x86/compile.h"
#include "runtime/machine/host.h"
#include "tests/plain_c/backend.h"
#include "tests/support/effort.h"

namespace hone::tests {

const BackEnd kInterp = {"interp", &jit::kInterpBackend, "isa=avx512,vnni,bf16", true};
const BackEnd kAvx2 = {"avx2", &jit::kX86Backend, "isa=avx2"};
const BackEnd kAvx512 = {"avx512", &jit::kX86Backend, "isa=avx512,vnni,bf16"};
const BackEnd kAvxVnni = {"avxvnni", &jit::kX86Backend, "isa=avx2,avxvnni"};
const BackEnd kPlainC = {"plain_c", &kPlainCBackend, "isa=avx512,vnni,bf16", true, 16};

namespace {
const BackEnd kHalideRow = {"halide", &jit::kHalideBackend, "isa=avx2", false, 16, "halide"};
}  // namespace
const BackEnd* const kHalide = jit::has_halide() ? &kHalideRow : nullptr;

namespace {
constexpr const BackEnd* kBackEnds[] = {&kInterp, &kAvx2, &kAvx512, &kPlainC};
}  // namespace

std::vector<const BackEnd*> back_ends_for(uint64_t number) {
  std::vector<const BackEnd*> out;
  for (const BackEnd* b : kBackEnds) {
    const uint64_t sample = effort() == Effort::kLong ? 1 : b->sample;
    if (number % sample == 0 && can_run(*b)) out.push_back(b);
  }
  return out;
}

ir::Target target_of(const BackEnd& back_end) {
  ir::Target t =
      *ir::parse_target(std::string(back_end.kind) + " " + back_end.target, ir::Target());
  constexpr uint32_t kDots =
      static_cast<uint32_t>(ir::Isa::kVnni) | static_cast<uint32_t>(ir::Isa::kBf16);
  if (!back_end.everywhere) t.isa &= ~kDots | runtime::host_target().isa;
  return t;
}

bool can_run(const BackEnd& back_end) {
  if (back_end.everywhere) return true;
  const ir::Target host = runtime::host_target();
  return (target_of(back_end).isa & ~host.isa) == 0;
}

}  // namespace hone::tests
