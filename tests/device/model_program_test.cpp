// SPDX-License-Identifier: Apache-2.0
// The program's verbs for models, on the emulated GPU.
#include <doctest/doctest.h>

#include "tests/cli/program.h"
#include "tests/device/raw_driver.h"

using hone::tests::emulated_library;
using hone::tests::Hone;
using hone::tests::Ran;

namespace {

constexpr const char* kSmallOnGpu =
    "graph g(x: f32[B,12], const w: f32[12,7], const v: f32[7,5]) -> (y: f32[B,5]) {\n"
    "  a = matmul(x, w)\n"
    "  b = softmax(a)\n"
    "  y = matmul(b, v)\n"
    "}\n";

std::string emulated() {
  return "HONE_GPU_QUIET=1 HONE_CUDA=" + emulated_library("cuda") +
         " HONE_NVRTC=" + emulated_library("nvrtc") + " ";
}

}  // namespace

TEST_CASE("device program: a model is checked, timed and shown") {
  const Hone hone;
  const std::string file = hone.write("g.graph", kSmallOnGpu);
  const Ran run = hone("run " + file + " B=1..3 --target cuda", emulated());
  CHECK(run.code == 0);
  CHECK(run.has("target    cuda sm=90 gpu="));
  CHECK(run.has("right     at most"));
  CHECK(run.has("; kernels by themselves"));
  const Ran shown = hone("show " + file + " B=3 --target cuda", emulated());
  CHECK(shown.code == 0);
  CHECK(shown.has("block.x"));
}

TEST_CASE("device program: the bench says that it times models on CPUs") {
  const Hone hone;
  hone.write("g.graph", kSmallOnGpu);
  const Ran run = hone("bench --models " + hone.file("") + " --target cuda", emulated());
  CHECK(run.code == 2);
  CHECK(run.has("`hone run FILE --target cuda` times one"));
}
