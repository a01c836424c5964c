// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace hone::jit {
namespace {

constexpr const char* kLibraries[] = {"libcuda.so.1", "libcuda.so"};

// Errors that mean something to hone; the numbers are the driver's ABI.
// Fixed by: the driver's ABI.
constexpr int kOutOfMemory = 2;
constexpr int kInvalidImage = 200;
constexpr int kNoBinary = 209;
constexpr int kInvalidPtx = 218;
constexpr int kUnsupportedPtx = 222;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kSystemMismatch = 803;
/// ECC error, NVLink error; illegal address, timeout, context destroyed, assert, hardware stack,
/// illegal instruction, misaligned address, address space, program counter, launch failure, tensor
/// memory leak.
/// Fixed by: the driver's ABI.
constexpr int kLosing[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};

ErrorCode code_of(int error) {
  switch (error) {
    case kOutOfMemory:
      return ErrorCode::kMemory;
    case kInvalidImage:
    case kNoBinary:
    case kInvalidPtx:
    case kUnsupportedPtx:
    case kNoDevice:
    case kInvalidDevice:
    case kSystemMismatch:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kDevice;
  }
}

Failure unsupported(std::string message) {
  return Failure{ErrorCode::kUnsupported, std::move(message)};
}

/// Points the functions of `driver` at the symbols of `library`; those that are missing.
std::string find_functions(CudaDriver& driver, void* library) {
  std::string missing;
  const auto find = [&](auto& function, const char* symbol, bool needed) {
    using Function = std::remove_reference_t<decltype(function)>;
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    if (!function && needed) missing += (missing.empty() ? "" : ", ") + std::string(symbol);
  };
#define HONE_CUDA_FUNCTION(member, symbol, parameters) find(driver.member, #symbol, true);
#define HONE_CUDA_OPTIONAL(member, symbol, parameters) find(driver.member, #symbol, false);
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
  return missing;
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::open() {
  std::vector<const char*> names(std::begin(kLibraries), std::end(kLibraries));
  if (const char* given = std::getenv("HONE_CUDA"); given && *given) names = {given};
  void* library = nullptr;
  std::string tried;
  for (const char* name : names) {
    // It stays: threads of its own may run until the process ends.
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) break;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  if (!library) {
    return unsupported("NVIDIA's driver is not found (tried " + tried +
                       "); install it, or name libcuda in HONE_CUDA");
  }
  auto driver = std::make_shared<CudaDriver>();
  if (const std::string missing = find_functions(*driver, library); !missing.empty()) {
    return unsupported("the driver is older than CUDA 11.4, which hone needs: it has no " +
                       missing);
  }
  if (const int error = driver->init(0)) {
    Failure f = driver->failure(error, "starting NVIDIA's driver");
    f.code = ErrorCode::kUnsupported;
    return f;
  }
  if (const int error = driver->driver_version(&driver->version_)) {
    return driver->failure(error, "asking for the driver's version");
  }
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

std::string CudaDriver::version_text() const {
  return fmt::format("{}.{}", version_ / 1000, version_ % 1000 / 10);
}

Failure CudaDriver::failure(int error, std::string_view doing) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (error_name(error, &name) != 0 || !name) name = "unknown error";
  if (error_text(error, &text) != 0 || !text) text = "no text";
  return {code_of(error), fmt::format("{}: {} ({}): {}", doing, name, error, text)};
}

bool CudaDriver::loses_context(int error) {
  return std::find(std::begin(kLosing), std::end(kLosing), error) != std::end(kLosing);
}

}  // namespace hone::jit
