// SPDX-License-Identifier: Apache-2.0
// What the compiler of an engine keeps between runs, and what it finds again.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>

#include "runtime/device/compiler.h"
#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::runtime;
using namespace hone::tests;

namespace {

/// A store in memory that counts what is written to it.
class Kept {
 public:
  BinaryStore store() {
    return {[this](const BinaryKey& key) -> std::optional<Bytes> {
              const auto found = code_.find(name(key));
              if (found == code_.end()) return std::nullopt;
              return found->second;
            },
            [this](const BinaryKey& key, const Bytes& bytes) {
              ++written;
              code_[name(key)] = bytes;
            }};
  }
  int written = 0;

 private:
  using Name = std::tuple<std::string, int, std::string, int>;
  static Name name(const BinaryKey& key) { return {key.source, key.generation, key.nvrtc, key.sm}; }
  std::map<Name, Bytes> code_;
};

jit::CudaSource nothing() {
  jit::CudaSource source;
  source.kernels = "HONE_KERNEL(1) nothing(int) {}\n";
  return source;
}

}  // namespace

TEST_CASE("device compiler: what is new is kept, once, and found by the next run") {
  const OnGpu gpu;
  Kept kept;
  const jit::CudaSource source = nothing();
  for (int run = 0; run < 2; ++run) {
    GpuCompiler compiler(kept.store(), 13000);
    const auto code = compiler.compile(source, 90);
    REQUIRE_MESSAGE(static_cast<bool>(code), code.failure().message);
    CHECK(code->kept == (run == 1));
    CHECK(compiler.compiled() == (run == 0 ? 1 : 0));
    compiler.keep(source, 90, *code);
    CHECK(kept.written == 1);
  }
  // Of another GPU, and past what is kept, it is new again.
  GpuCompiler compiler(kept.store(), 13000);
  const auto other = compiler.compile(source, 80);
  const auto anew = compiler.compile_anew(source, 90);
  REQUIRE(static_cast<bool>(other));
  REQUIRE(static_cast<bool>(anew));
  CHECK_FALSE(other->kept);
  CHECK_FALSE(anew->kept);
  CHECK(compiler.compiled() == 2);
}

TEST_CASE("device compiler: PTX for a GPU that is not known is not kept as machine code") {
  const OnGpu gpu({{"HONE_GPU_NVRTC", "12.4"}});
  Kept kept;
  GpuCompiler compiler(kept.store(), 13000);
  const auto code = compiler.compile(nothing(), 100);
  REQUIRE_MESSAGE(static_cast<bool>(code), code.failure().message);
  compiler.keep(nothing(), 100, *code);
  CHECK(kept.written == 0);
}

TEST_CASE("device compiler: a target of PTX gets PTX, past what is kept for the GPU") {
  const OnGpu gpu;
  Kept kept;
  GpuCompiler compiler(kept.store(), 13000);
  compiler.keep(nothing(), 90, *compiler.compile(nothing(), 90));
  const auto code = compiler.compile(nothing(), 90, 80);
  REQUIRE_MESSAGE(static_cast<bool>(code), code.failure().message);
  CHECK_FALSE(code->kept);
  CHECK(code->binary.cubin.empty());
  CHECK(code->binary.ptx.find(".target sm_80") != std::string::npos);
}

TEST_CASE("device compiler: sources compile ahead, several at a time") {
  const OnGpu gpu;
  GpuCompiler compiler({}, 13000);
  const auto source = [](int i) {
    jit::CudaSource s = nothing();
    s.kernels += "// " + std::to_string(i) + "\n";
    return s;
  };
  for (int i = 0; i < 3; ++i) compiler.ahead(source(i), 90);
  for (int i = 0; i < 3; ++i) CHECK(static_cast<bool>(compiler.compile(source(i), 90)));
  CHECK(compiler.compiled() == 3);
}

TEST_CASE("device: an upload waits until the device has what it was given") {
  const OnGpu gpu;
  Engine engine = gpu_engine();
  const DeviceBuffer buffer = engine.device().allocate(4000);
  const std::vector<char> bytes(4000, 'x');
  const long long waits = OnGpu::count("cuStreamSynchronize");
  buffer.upload(bytes.data(), 4000);
  CHECK(OnGpu::count("cuStreamSynchronize") == waits + 1);
  buffer.upload(bytes.data(), 0);
  CHECK(OnGpu::count("cuStreamSynchronize") == waits + 1);
}
