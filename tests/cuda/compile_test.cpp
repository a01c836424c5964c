// SPDX-License-Identifier: Apache-2.0
//
// Default kernels of every case of the library through NVRTC, for the GPUs that it knows: they
// compile, and registers do, without memory in their place.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>

#include "jit/cuda/another_block.h"
#include "jit/cuda/nvrtc.h"
#include "jit/cuda/resources.h"
#include "jit/ir/device_limits.h"
#include "ops/op.h"
#include "tests/cuda/by_hand.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr int kArchitectures[] = {90, 80, 75, 86, 89, 100};

/// Local memory that the compiler's own functions take: angles far from 0 are reduced in it.
int least_local(const std::string& kernels) {
  bool angles = false;
  for (const char* call : {"fn_sin(", "fn_cos(", "fn_tan("}) {
    angles = angles || kernels.find(call) != std::string::npos;
  }
  return angles ? 32 : 0;
}

/// What is wrong with a problem's default kernels on a GPU, or "".
std::string compiled(const jit::Nvrtc& nvrtc, const std::string& text, int sm) {
  ir::Target target = gpu();
  target.sm = sm;
  const auto problem = ops::parse_problem(text);
  if (!problem) return "does not parse";
  const auto made = print_default(problem->program, target);
  if (!made) return made.failure();
  const auto binary = nvrtc.compile(made->source, sm);
  if (!binary) return binary.failure().message;
  const auto all = jit::resources_in(binary->log);
  std::string wrong;
  // Products that the compiler waits for by itself do not go on beside the threads, and registers
  // that it does not count on stay where they are.
  for (const char* word : {"injected", "serialized", "ignored"}) {
    if (binary->log.find(word) != std::string::npos)
      wrong += std::string(word) + ":\n" + binary->log;
  }
  for (const jit::CudaLaunch& l : made->source.launches) {
    const jit::KernelResources* k = jit::resources_of(all, l.symbol);
    if (!k) return "the compiler says nothing of " + l.symbol + ":\n" + binary->log;
    if (k->spill_bytes > 0)
      wrong += l.name + " spills " + std::to_string(k->spill_bytes) + " bytes; ";
    if (k->local_bytes > least_local(made->source.kernels)) {
      wrong += l.name + " has " + std::to_string(k->local_bytes) + " bytes of local memory; ";
    }
    const int threads = l.block[0] * l.block[1] * l.block[2];
    if (k->registers * threads > ir::device_limits(sm).registers) {
      wrong += l.name + " needs " + std::to_string(k->registers) + " registers a thread; ";
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("cuda: products of a warpgroup compile and go on beside its threads") {
  const auto nvrtc = compiler_for(90);
  if (!nvrtc) return;
  for (const char* text :
       {"matmul M=4096 N=4096 K=4096 T=bf16", "matmul M=1024 N=1024 K=1024 T=f16 B@N,K",
        "matmul_i8 M=2048 N=2048 K=2048 B@N,K", "fc_gelu M=4096 N=4096 K=1024 const=W T=bf16",
        "matmul M=16 N=4096 K=4096 T=bf16", "matmul M=9 N=65536 K=4096 T=f16",
        "batched_matmul B=16 M=512 N=512 K=64 T=f16",
        // Sums of few steps, whose loop the compiler would unroll.
        "matmul M=8192 N=8192 K=512 T=bf16", "matmul M=4096 N=1024 K=512 T=f16",
        "batched_matmul B=64 M=256 N=1024 K=384 T=f16", "matmul M=8192 N=8192 K=128 T=bf16",
        "batched_matmul B=1000 M=56 N=64 K=64 T=bf16",
        ("op windows(X: bf16[N,H+R,W+Q,C], F: bf16[R,Q,C,O]) -> (Y: bf16[N,H,W,O]) { Y[n,h,w,o] = "
         "sum[r,q,c](X[n,h+r,w+q,c] * F[r,q,c,o]) } N=32 H=56 W=56 C=32 O=256 R=3 Q=3")}) {
    const std::string wrong = compiled(*nvrtc, text, 90);
    CHECK_MESSAGE(wrong.empty(), std::string(text) << ": " << wrong);
  }
}

TEST_CASE("cuda: a few registers too many for another block are given up, and not more") {
  const auto held = [](int registers, int spilled, int64_t dynamic) {
    jit::CudaSource source;
    source.kernels = "HONE_KERNEL(256) hone_0(const Args args) {}\n";
    source.launches.resize(1);
    source.launches[0].symbol = "hone_0";
    source.launches[0].block = {16, 16, 1};
    source.launches[0].dynamic_bytes = dynamic;
    const std::string log = fmt::format(
        "ptxas info    : Compiling entry function 'hone_0' for 'sm_90'\n"
        "    0 bytes stack frame, {} bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used {} registers, used 1 barriers\n",
        spilled, registers);
    const auto out = jit::with_another_block(source, log, 90);
    return out ? out->kernels : std::string();
  };
  CHECK(held(130, 0, 0).starts_with("HONE_KERNEL_BLOCKS(256, 2) hone_0("));
  CHECK(held(84, 0, 0).starts_with("HONE_KERNEL_BLOCKS(256, 3) hone_0("));
  CHECK(held(128, 0, 0).empty());       // two blocks fit
  CHECK(held(150, 0, 0).empty());       // too many
  CHECK(held(130, 8, 0).empty());       // it spills as it is
  CHECK(held(130, 0, 150000).empty());  // shared memory has room for one
  CHECK(held(40, 0, 0).empty());        // six blocks are enough
}

TEST_CASE("cuda: default kernels compile without spills and local memory") {
  const auto nvrtc = compiler_at_hand();
  if (!nvrtc) return;
  const std::vector<ops::Case>& cases = ops::stock_library().cases;
  // Of the first GPU more than of the others; a compilation takes tens of milliseconds.
  const auto every = static_cast<size_t>(by_effort(100, 60, 40, 1));
  const auto first = static_cast<size_t>(by_effort(12, 8, 5, 1));
  int count = 0;
  for (int sm : kArchitectures) {
    if (!compiles_for(*nvrtc, sm)) continue;
    const size_t step = sm == kArchitectures[0] ? first : every;
    for (size_t i = static_cast<size_t>(sm) % step; i < cases.size(); i += step) {
      const std::string wrong = compiled(*nvrtc, cases[i].problem, sm);
      CHECK_MESSAGE(wrong.empty(), cases[i].problem << " for sm_" << sm << ": " << wrong);
      ++count;
    }
  }
  std::printf("%d sources compiled by NVRTC %d.%d\n", count, nvrtc->major(), nvrtc->minor());
}
