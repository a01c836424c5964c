// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/ort_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>

#include "bench/peers/onnx_model.h"

namespace hone::bench {
namespace {

/// Nothing is printed to the standard error stream while it lives: at the first session Debian's
/// library registers all operators twice, and tells of each.
class Silence {
 public:
  Silence() : before_(std::cerr.rdbuf(nullptr)) {}
  ~Silence() { std::cerr.rdbuf(before_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::streambuf* before_;
};

/// Null where there is no such library.
const OrtApiBase* ort_base() {
  static const OrtApiBase* const kBase = []() -> const OrtApiBase* {
    const char* named = std::getenv("HONE_ONNXRUNTIME");
    void* library = ::dlopen(named ? named : "libonnxruntime.so", RTLD_NOW | RTLD_LOCAL);
    void* base = library ? ::dlsym(library, "OrtGetApiBase") : nullptr;
    return base ? reinterpret_cast<decltype(&OrtGetApiBase)>(base)() : nullptr;
  }();
  return kBase;
}

}  // namespace

const OrtApi* ort_api() {
  static const OrtApi* const kApi = []() -> const OrtApi* {
    const OrtApi* api = ort_base() ? ort_base()->GetApi(ORT_API_VERSION) : nullptr;
    if (api) Ort::InitApi(api);
    return api;
  }();
  return kApi;
}

std::string about_ort() {
  if (!ort_api()) return "";
  return std::string(ort_base()->GetVersionString()) + ", " + ort_api()->GetBuildInfoString();
}

const Ort::Env& ort_env() {
  static const Ort::Env kEnv(ORT_LOGGING_LEVEL_FATAL, "hone-bench");
  return kEnv;
}

Ort::SessionOptions ort_options(int threads) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(threads);
  options.SetInterOpNumThreads(1);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  return options;
}

Ort::Session ort_session(const std::string& bytes, const Ort::SessionOptions& options) {
  const Silence silence;
  return Ort::Session(ort_env(), bytes.data(), bytes.size(), options);
}

Ort::Session ort_session_of_file(const std::string& path, const Ort::SessionOptions& options) {
  const Silence silence;
  return Ort::Session(ort_env(), path.c_str(), options);
}

Ort::Value ort_value(const jit::TensorView& v) {
  static const auto kInfo = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  return Ort::Value::CreateTensor(kInfo, v.data, static_cast<size_t>(bytes_of(v)), v.shape.data(),
                                  v.shape.size(),
                                  static_cast<ONNXTensorElementDataType>(onnx_type_of(v.type)));
}

}  // namespace hone::bench
