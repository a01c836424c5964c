// SPDX-License-Identifier: Apache-2.0
//
// Initialisation, devices, contexts and errors.
#include <cstring>

#include "tests/cuda/gpu/calls.h"

namespace hone::tests {
namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kInvalidClusterSize, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {kUnknownError, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* text_of(int code) {
  for (const ErrorText& e : kErrors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

bool valid(int device) { return device >= 0 && device < gpus().settings.devices; }

const Model* model(int device) {
  const auto& sm = gpus().settings.sm;
  return model_of(sm[std::min(static_cast<size_t>(device), sm.size() - 1)]);
}

/// Takes a context down with all that it has.
void destroy(int device, std::unique_lock<std::mutex>& lock) {
  const auto found = gpus().contexts.find(device);
  if (found == gpus().contexts.end()) return;
  const int error = found->second->queue.error();
  if (error && gpus().settings.sticky) gpus().broken[device] = error;
  found->second->queue.stop(lock);
  gpus().contexts.erase(device);
}

}  // namespace
}  // namespace hone::tests

using namespace hone::tests;

int cuInit(unsigned flags) {
  if (const int wanted = begin(Call::init)) return wanted;
  const std::lock_guard lock(gpus().mutex);
  if (flags != 0) return kInvalidValue;
  gpus().settings = settings_of_environment();
  for (const int sm : gpus().settings.sm) {
    if (!model_of(sm)) return kUnknownError;
  }
  gpus().initialized = true;
  return gpus().settings.devices > 0 ? kSuccess : kNoDevice;
}

int cuDriverGetVersion(int* version) {
  if (const int wanted = begin(Call::driver_version)) return wanted;
  const std::lock_guard lock(gpus().mutex);
  // May be asked before cuInit.
  *version = gpus().initialized ? gpus().settings.driver : settings_of_environment().driver;
  return kSuccess;
}

int cuGetErrorName(int error, const char** text) {
  begin(Call::error_name);
  const ErrorText* const found = text_of(error);
  *text = found ? found->name : nullptr;
  return found ? kSuccess : kInvalidValue;
}

int cuGetErrorString(int error, const char** text) {
  begin(Call::error_text);
  const ErrorText* const found = text_of(error);
  *text = found ? found->text : nullptr;
  return found ? kSuccess : kInvalidValue;
}

int cuDeviceGetCount(int* count) {
  return in_driver(Call::device_count, [&](auto&) {
    *count = gpus().settings.devices;
    return kSuccess;
  });
}

int cuDeviceGet(int* device, int ordinal) {
  return in_driver(Call::device, [&](auto&) {
    if (!valid(ordinal)) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
  });
}

int cuDeviceGetName(char* name, int length, int device) {
  return in_driver(Call::device_name, [&](auto&) {
    if (!valid(device)) return kInvalidDevice;
    if (!name || length <= 0) return kInvalidValue;
    std::strncpy(name, model(device)->name, static_cast<size_t>(length));
    name[length - 1] = 0;
    return kSuccess;
  });
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return in_driver(Call::device_attribute, [&](auto&) {
    if (!valid(device)) return kInvalidDevice;
    *value = attribute_of(*model(device), attribute, device);
    return *value >= 0 ? kSuccess : kInvalidValue;
  });
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return in_driver(Call::device_memory, [&](auto&) {
    if (!valid(device)) return kInvalidDevice;
    *bytes = gpus().settings.memory;
    return kSuccess;
  });
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  return in_driver(Call::context_retain, [&](auto&) -> int {
    if (!valid(device)) return kInvalidDevice;
    if (device == gpus().settings.taken) return kDeviceUnavailable;
    if (gpus().broken.contains(device)) return gpus().broken[device];
    auto& slot = gpus().contexts[device];
    if (!slot) slot = std::make_unique<Context>(gpus().mutex, device, gpus().settings);
    ++gpus().retained[device];
    *context = slot.get();
    return kSuccess;
  });
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  return in_driver(Call::context_release, [&](auto& lock) {
    if (!valid(device)) return kInvalidDevice;
    int& retained = gpus().retained[device];
    if (retained == 0) return kInvalidContext;
    if (--retained == 0) destroy(device, lock);
    return kSuccess;
  });
}

int cuDevicePrimaryCtxReset_v2(int device) {
  return in_driver(Call::context_reset, [&](auto& lock) {
    if (!valid(device)) return kInvalidDevice;
    destroy(device, lock);
    gpus().retained[device] = 0;
    return kSuccess;
  });
}

int cuCtxGetCurrent(void** context) {
  return in_driver(Call::context_current, [&](auto&) {
    *context = gpus().current();
    return kSuccess;
  });
}

int cuCtxSetCurrent(void* context) {
  return in_driver(Call::context_use, [&](auto&) {
    bool known = !context;
    for (const auto& [device, c] : gpus().contexts) known |= c.get() == context;
    if (!known) return kInvalidContext;
    current_handle() = context;
    return kSuccess;
  });
}

int cuCtxSynchronize() {
  return in_context(Call::context_synchronize, [&](Context& c, auto& lock) {
    c.queue.finish(lock, nullptr);
    return c.queue.error();
  });
}
