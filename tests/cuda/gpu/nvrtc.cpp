// SPDX-License-Identifier: Apache-2.0
//
// NVRTC's interface over the compiler of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "jit/cuda/source.h"
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

/// A capability and the version of PTX, ten times, that came with it.
struct Architecture {
  int sm, ptx;
};
constexpr Architecture kArchitectures[] = {{75, 70}, {80, 70},  {86, 71}, {89, 78},
                                           {90, 78}, {100, 87}, {120, 87}};

/// What a source asks of the GPU it is compiled for: a capability, with `exact` code for that one
/// alone (`sm_90a`), with `only` no later one.
struct Asked {
  const char* text;
  int sm;
  bool exact, only;
};
constexpr Asked kAsked[] = {
    {"HONE_CLUSTER_KERNEL", 90, false, false}, {"cp.async.bulk.", 90, false, false},
    {"mbarrier.try_wait", 90, false, false},   {"elect.sync", 90, false, false},
    {"setmaxnreg.", 90, true, false},          {"wgmma.", 90, true, true},
};

/// HONE_GPU_NVRTC: the version, 13.0 unless it says otherwise.
std::string version() {
  const char* given = std::getenv("HONE_GPU_NVRTC");
  return given && *given ? given : "13.0";
}

/// The PTX that the version writes, ten times.
int ptx_version() {
  const int major = std::atoi(version().c_str());
  const size_t dot = version().find('.');
  const int minor = dot == std::string::npos ? 0 : std::atoi(version().c_str() + dot + 1);
  if (major >= 13) return 90 + minor;
  if (major < 12) return 70 + minor;
  return 80 + (minor > 5 ? minor - 1 : minor);
}

/// The capabilities that the version knows.
std::vector<int> architectures() {
  std::vector<int> known;
  for (const Architecture& a : kArchitectures) {
    if (a.ptx <= ptx_version()) known.push_back(a.sm);
  }
  return known;
}

/// What code is made for.
struct Made {
  int sm = 75;
  bool real = false;   ///< machine code, not PTX
  bool exact = false;  ///< for this one alone
};

/// Reads the option that names it; false where it names what the version does not know.
bool read_architecture(const std::string& option, Made* made) {
  for (const char* word : {"--gpu-architecture=", "-arch="}) {
    if (option.rfind(word, 0) != 0) continue;
    const std::string value = option.substr(std::strlen(word));
    made->real = value.rfind("sm_", 0) == 0;
    made->exact = value.back() == 'a';
    made->sm = std::atoi(value.c_str() + value.find('_') + 1);
    const std::vector<int> known = architectures();
    const bool named = std::find(known.begin(), known.end(), made->sm) != known.end();
    return named && (!made->exact || (made->sm >= 90 && ptx_version() >= 80));
  }
  return true;
}

/// The first that the source asks for and code for that GPU cannot have; null: none. The prelude
/// has what is in use or not, and asks for nothing.
const char* missing(const std::string& source, const Made& made) {
  const size_t from = std::min(jit::cuda_prelude().size(), source.size());
  for (const Asked& a : kAsked) {
    const bool has = made.sm >= a.sm && (!a.exact || made.exact) && (!a.only || made.sm == a.sm);
    if (!has && source.find(a.text, from) != std::string::npos) return a.text;
  }
  return nullptr;
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
  *count = static_cast<int>(architectures().size());
  return kFine;
}

HONE_NVRTC_FUNCTION int nvrtcGetSupportedArchs(int* list) {
  const std::vector<int> known = architectures();
  std::copy(known.begin(), known.end(), list);
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
  Made wanted;
  for (int i = 0; i < count; ++i) {
    if (read_architecture(options[i], &wanted)) continue;
    p.log = fmt::format("nvrtc: error: invalid value for --gpu-architecture ({})\n", options[i]);
    return kBadOption;
  }
  if (const char* text = missing(p.source, wanted)) {
    p.log = fmt::format("{}: error: {} is not supported for sm_{}\n", p.name, text, wanted.sm);
    return kDoesNotCompile;
  }
  const Compiled made = compile_for_host(p.source, p.name, wanted.sm);
  p.log = made.log;
  if (!made.ok) return kDoesNotCompile;
  p.ptx = fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n{}{}\n", ptx_version() / 10,
                      ptx_version() % 10, wanted.sm, kImageMark, made.path);
  if (wanted.real) p.cubin = made.image;
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
