// SPDX-License-Identifier: Apache-2.0
//
// NVRTC's interface over the compiler of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/cuda/gpu/compile.h"
#include "tests/cuda/gpu/models.h"
#include "tests/cuda/gpu/module.h"

#define HONE_NVRTC_FUNCTION extern "C" __attribute__((visibility("default")))

namespace hone::tests {
namespace {

enum NvrtcError : int {
  kFine = 0,
  kBadInput = 3,
  kBadProgram = 4,
  kBadOption = 5,
  kDoesNotCompile = 6,
};

struct NvrtcProgram {
  std::string source, name, log, ptx, cubin;
};

constexpr int kArchitectures[] = {75, 80, 86, 89, 90, 100};

/// HONE_GPU_NVRTC: the version, 13.0 unless it says otherwise.
std::string version() {
  const char* given = std::getenv("HONE_GPU_NVRTC");
  return given && *given ? given : "13.0";
}

/// The PTX that a version of the compiler writes.
std::string ptx_version() {
  const int major = std::atoi(version().c_str());
  const size_t dot = version().find('.');
  const int minor = dot == std::string::npos ? 0 : std::atoi(version().c_str() + dot + 1);
  if (major >= 13) return fmt::format("9.{}", minor);
  if (major < 12) return fmt::format("7.{}", minor);
  return fmt::format("8.{}", minor > 5 ? minor - 1 : minor);
}

/// How many of the capabilities the version knows: the last came with 12.8.
int architecture_count() {
  const int all = static_cast<int>(std::size(kArchitectures));
  const bool early = ptx_version() < "8.7";
  return early ? all - 1 : all;
}

/// The capability that an option names, 0 where it names none; `real` where it is one's code.
int architecture(const std::string& option, bool* real) {
  for (const char* word : {"--gpu-architecture=", "-arch="}) {
    if (option.rfind(word, 0) != 0) continue;
    const std::string value = option.substr(std::strlen(word));
    *real = value.rfind("sm_", 0) == 0;
    const size_t digits = value.find('_') + 1;
    const int sm = std::atoi(value.c_str() + digits);
    for (int i = 0; i < architecture_count(); ++i) {
      if (kArchitectures[i] == sm) return sm;
    }
    return -1;
  }
  return 0;
}

int copy(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kFine;
}

}  // namespace
}  // namespace hone::tests

using namespace hone::tests;

HONE_NVRTC_FUNCTION const char* nvrtcGetErrorString(int error) {
  switch (error) {
    case kFine:
      return "NVRTC_SUCCESS";
    case kBadInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kBadProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kBadOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kDoesNotCompile:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

HONE_NVRTC_FUNCTION int nvrtcVersion(int* major, int* minor) {
  *major = std::atoi(version().c_str());
  const size_t dot = version().find('.');
  *minor = dot == std::string::npos ? 0 : std::atoi(version().c_str() + dot + 1);
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcGetNumSupportedArchs(int* count) {
  *count = architecture_count();
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcGetSupportedArchs(int* architectures) {
  std::copy_n(kArchitectures, architecture_count(), architectures);
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcCreateProgram(void** program, const char* source, const char* name,
                                           int headers, const char* const*, const char* const*) {
  if (!program || !source || headers != 0) return kBadInput;
  *program = new NvrtcProgram{source, name ? name : "default_program", {}, {}, {}};
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcDestroyProgram(void** program) {
  if (!program || !*program) return kBadProgram;
  delete static_cast<NvrtcProgram*>(*program);
  *program = nullptr;
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  if (!program) return kBadProgram;
  auto& p = *static_cast<NvrtcProgram*>(program);
  int sm = 75;
  bool real = false;
  for (int i = 0; i < count; ++i) {
    const int named = architecture(options[i], &real);
    if (named < 0) {
      p.log = fmt::format("nvrtc: error: invalid value for --gpu-architecture ({})\n", options[i]);
      return kBadOption;
    }
    if (named > 0) sm = named;
  }
  const Compiled made = compile_for_host(p.source, p.name, sm);
  p.log = made.log;
  if (!made.ok) return kDoesNotCompile;
  p.ptx = fmt::format(".version {}\n.target sm_{}\n.address_size 64\n{}{}\n", ptx_version(), sm,
                      kImageMark, made.path);
  if (real) p.cubin = made.image;
  return kFine;
}

// Texts are given with the 0 at their end; a CUBIN has none.
HONE_NVRTC_FUNCTION int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  *bytes = static_cast<NvrtcProgram*>(program)->log.size() + 1;
  return kFine;
}
HONE_NVRTC_FUNCTION int nvrtcGetProgramLog(void* program, char* log) {
  return copy(static_cast<NvrtcProgram*>(program)->log, log);
}
HONE_NVRTC_FUNCTION int nvrtcGetPTXSize(void* program, size_t* bytes) {
  *bytes = static_cast<NvrtcProgram*>(program)->ptx.size() + 1;
  return kFine;
}
HONE_NVRTC_FUNCTION int nvrtcGetPTX(void* program, char* ptx) {
  return copy(static_cast<NvrtcProgram*>(program)->ptx, ptx);
}
HONE_NVRTC_FUNCTION int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  *bytes = static_cast<NvrtcProgram*>(program)->cubin.size();
  return kFine;
}
HONE_NVRTC_FUNCTION int nvrtcGetCUBIN(void* program, char* cubin) {
  const std::string& bytes = static_cast<NvrtcProgram*>(program)->cubin;
  std::memcpy(cubin, bytes.data(), bytes.size());
  return kFine;
}
