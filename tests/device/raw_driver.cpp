// SPDX-License-Identifier: Apache-2.0
#include "tests/device/raw_driver.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdlib>

namespace hone::tests {

std::string emulated_library(const char* which) {
  const char* folder = std::getenv("HONE_TEST_GPU");
  REQUIRE_MESSAGE(folder, "HONE_TEST_GPU names the folder of the emulated libraries");
  return std::string(folder) + "/hone-emulated-" + which + ".so";
}

namespace {

/// False where a function is missing.
bool find_functions(void* library, RawDriver& out) {
  bool all = true;
#define HONE_CUDA_OPTIONAL(member, symbol, parameters) \
  out.member = reinterpret_cast<decltype(out.member)>(dlsym(library, #symbol));
#define HONE_CUDA_FUNCTION(member, symbol, parameters) \
  HONE_CUDA_OPTIONAL(member, symbol, parameters)       \
  all = all && out.member;
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
  out.count = reinterpret_cast<decltype(out.count)>(dlsym(library, "hone_gpu_count"));
  return all;
}

}  // namespace

RawDriver raw_driver() {
  void* const library = dlopen(emulated_library("cuda").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library, dlerror());
  RawDriver out;
  REQUIRE(find_functions(library, out));
  REQUIRE(static_cast<bool>(out.count));
  return out;
}

std::optional<RawDriver> device_driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  RawDriver out;
  if (!library || !find_functions(library, out) || out.init(0) != 0) return std::nullopt;
  return out;
}

WithEnvironment::WithEnvironment(const std::vector<std::string>& variables) {
  for (const std::string& v : variables) {
    const std::string name = v.substr(0, v.find('=')), value = v.substr(v.find('=') + 1);
    if (const char* old = std::getenv(name.c_str())) {
      before_[name] = old;
    } else {
      fresh_.push_back(name);
    }
    setenv(name.c_str(), value.c_str(), 1);
  }
}

WithEnvironment::~WithEnvironment() {
  for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : fresh_) unsetenv(name.c_str());
}

}  // namespace hone::tests
