// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/on_gpu.h"

#include <dlfcn.h>

#include <cstdlib>

namespace hone::tests {
namespace {

std::string library(const char* name) {
  const char* folder = std::getenv("HONE_TEST_GPU");
  return std::string(folder ? folder : ".") + "/" + name;
}

}  // namespace

OnGpu::OnGpu(Settings settings) {
  const auto set = [&](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    set_.push_back(name);
  };
  set("HONE_CUDA", library("hone-emulated-cuda.so"));
  set("HONE_NVRTC", library("hone-emulated-nvrtc.so"));
  set("HONE_GPU_QUIET", "1");
  for (const auto& [name, value] : settings) set(name, value);
}

OnGpu::~OnGpu() {
  for (const char* name : set_) unsetenv(name);
}

long long OnGpu::calls() {
  long long all = 0;
#define HONE_CUDA_FUNCTION(member, symbol, parameters) all += count(#symbol);
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
  return all;
}

long long OnGpu::count(const char* what) {
  // The driver has it open already.
  void* const handle = dlopen(library("hone-emulated-cuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return -1;
  using Count = long long (*)(const char*);
  const auto count = reinterpret_cast<Count>(dlsym(handle, "hone_gpu_count"));
  return count ? count(what) : -1;
}

Engine gpu_engine(std::string target, std::string cache) {
  EngineOptions options;
  options.target = std::move(target);
  options.cache = std::move(cache);
  return Engine(options);
}

}  // namespace hone::tests
