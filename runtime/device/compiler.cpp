// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/compiler.h"

#include <fmt/format.h>

#include <string>

#include "jit/cuda/sm90_rows.h"
#include "runtime/cache/text_hash.h"

namespace hone::runtime {
namespace {

/// Sources under way at a time; what nobody asked for stays among them.
/// Chosen: sources of a search's batch, with room (not measured).
constexpr size_t kMostBegun = 64;

/// Of kernels and of what stands before them.
std::string hash_of(const std::string& kernels) {
  return text_hash({jit::cuda_prelude(), jit::sm90_rows_for(kernels), kernels});
}

std::string version_of(const jit::Nvrtc& nvrtc) {
  return fmt::format("{}.{}", nvrtc.major(), nvrtc.minor());
}

}  // namespace

Result<const jit::Nvrtc*> GpuCompiler::nvrtc() {
  const std::lock_guard lock(mutex_);
  if (!nvrtc_) {
    auto opened = jit::Nvrtc::open();
    if (!opened) return opened.failure();
    nvrtc_.emplace(std::move(*opened));
  }
  return &*nvrtc_;
}

BinaryKey GpuCompiler::key_of(const jit::CudaSource& source, int sm,
                              const jit::Nvrtc* nvrtc) const {
  return {hash_of(source.kernels), jit::kCodeGeneration, nvrtc ? version_of(*nvrtc) : std::string(),
          sm};
}

void GpuCompiler::ahead(jit::CudaSource source, int sm, int ptx) {
  const std::string hash = hash_of(source.kernels);
  const std::lock_guard lock(mutex_);
  if (begun_.size() >= kMostBegun || begun_.contains(hash)) return;
  begun_.emplace(hash, std::async(std::launch::async, [this, sm, ptx, source = std::move(source)] {
                   return compile_now(source, sm, ptx);
                 }));
}

Result<GpuCode> GpuCompiler::compile(const jit::CudaSource& source, int sm, int ptx) {
  std::future<Result<GpuCode>> begun;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = begun_.extract(hash_of(source.kernels))) {
      begun = std::move(found.mapped());
    }
  }
  return begun.valid() ? begun.get() : compile_now(source, sm, ptx);
}

Result<GpuCode> GpuCompiler::compile_now(const jit::CudaSource& source, int sm, int ptx) {
  if (store_.find && ptx == 0) {
    const auto nvrtc = this->nvrtc();
    const BinaryKey key = key_of(source, sm, nvrtc ? *nvrtc : nullptr);
    if (auto kept = store_.find(key)) return GpuCode{{{}, std::move(*kept), {}}, true};
  }
  return compile_anew(source, sm, ptx);
}

Result<GpuCode> GpuCompiler::compile_anew(const jit::CudaSource& source, int sm, int ptx) {
  const auto nvrtc = this->nvrtc();
  if (!nvrtc) return nvrtc.failure();
  // A driver takes machine code and PTX of compilers up to its own major version.
  if (driver_version_ > 0 && (*nvrtc)->major() > driver_version_ / 1000) {
    return Failure{
        ErrorCode::kUnsupported,
        fmt::format("NVRTC {} makes code for newer drivers than this one, which "
                    "supports CUDA {}.{}; update the driver, or name an older NVRTC in "
                    "HONE_NVRTC",
                    version_of(**nvrtc), driver_version_ / 1000, driver_version_ % 1000 / 10)};
  }
  ++compiled_;
  // A GPU that is newer than the compiler takes PTX of an earlier one.
  auto binary = ptx != 0 || (*nvrtc)->knows(sm) ? (*nvrtc)->compile(source, sm, ptx)
                                                : (*nvrtc)->compile_for_later(source, sm);
  if (!binary) return binary.failure();
  return GpuCode{std::move(*binary), false};
}

void GpuCompiler::keep(const jit::CudaSource& source, int sm, const GpuCode& code) {
  if (!store_.keep || code.kept || code.binary.cubin.empty()) return;
  if (const auto nvrtc = this->nvrtc()) {
    store_.keep(key_of(source, sm, *nvrtc), code.binary.cubin);
  }
}

}  // namespace hone::runtime
