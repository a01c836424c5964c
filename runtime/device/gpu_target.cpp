// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu_target.h"

#include <fmt/format.h>

#include "jit/cuda/nvrtc.h"
#include "jit/cuda/source.h"

namespace hone::runtime {
namespace {

/// Facts of the device that the options name, without opening it.
Result<GpuFacts> look_at(const EngineOptions& options) {
  auto driver = jit::CudaDriver::open();
  if (!driver) return driver.failure();
  auto all = list_gpus(**driver);
  if (!all) return all.failure();
  if (options.gpu < 0 || static_cast<size_t>(options.gpu) >= all->size()) {
    return Failure{ErrorCode::kArgument, fmt::format("there is no GPU {}; the driver knows {}",
                                                     options.gpu, all->size())};
  }
  return (*all)[static_cast<size_t>(options.gpu)];
}

/// A compiler that does not know the target's GPU makes PTX of an earlier one.
void state_compiler(GpuPlace* place) {
  const auto nvrtc = jit::Nvrtc::open();
  if (!nvrtc) return;
  const int asked = place->target.generation(), known = nvrtc->latest(asked);
  if (known == 0 || known == asked) return;
  place->target.ptx = known;
  place->older = fmt::format(
      "NVRTC {}.{} does not know sm_{}: kernels are PTX for sm_{}, which the driver translates, "
      "and do without what is newer; install one that does, or name it in HONE_NVRTC",
      nvrtc->major(), nvrtc->minor(), asked, known);
}

}  // namespace

bool names_gpu(std::string_view target) {
  const size_t at = std::min(target.find_first_not_of(' '), target.size());
  const size_t end = std::min(target.find(' ', at), target.size());
  return target.substr(at, end - at) == "cuda";
}

bool runs(const GpuFacts& facts, const ir::Target& target) {
  // Machine code serves its own major version, from its minor version up.
  const bool compatible = facts.sm / 10 == target.sm / 10 && facts.sm >= target.sm;
  return compatible && (target.gpu.empty() || target.gpu == target_of(facts).gpu);
}

Result<GpuPlace> find_gpu(const EngineOptions& options) {
  if (!jit::has_cuda()) {
    return Failure{ErrorCode::kUnsupported, fmt::format("target `{}`: this hone was built without "
                                                        "CUDA, as by -Dcuda=disabled",
                                                        options.target)};
  }
  const auto facts = look_at(options);
  auto target = ir::parse_target(options.target, facts ? target_of(*facts) : ir::Target{});
  const bool wants_any = options.target.find("sm=") == std::string::npos;
  if (!facts && (wants_any || facts.failure().code == ErrorCode::kArgument)) {
    return Failure{facts.failure().code,
                   "target `cuda` is this machine's GPU: " + facts.failure().message};
  }
  if (!target) return target.failure();
  GpuPlace place{*target, nullptr, {}, {}};
  state_compiler(&place);
  if (!facts) {
    place.why_not = facts.failure().message;
    return place;
  }
  if (!runs(*facts, *target)) {
    place.why_not = fmt::format("this machine's GPU is `{}`", ir::print(target_of(*facts)));
    return place;
  }
  auto gpu = Gpu::open(options.gpu, options.memory_ceiling);
  if (!gpu) return gpu.failure();
  place.gpu = std::move(*gpu);
  return place;
}

BinaryStore store_in(Cache& cache) {
  return {[&cache](const BinaryKey& key) { return cache.binary(key); },
          [&cache](const BinaryKey& key, const Bytes& bytes) { cache.keep_binary(key, bytes); }};
}

}  // namespace hone::runtime
