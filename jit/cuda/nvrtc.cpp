// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "jit/cuda/another_block.h"
#include "jit/cuda/sm90_rows.h"

namespace hone::jit {

// The part of NVRTC's interface that is used; it has been stable since CUDA 11.2.
struct Nvrtc::Functions {
  using Program = void*;
  const char* (*error)(int) = nullptr;
  int (*version)(int*, int*) = nullptr;
  int (*archs)(int*) = nullptr;
  int (*list)(int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
};

namespace {

constexpr const char* kNvrtcLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                           "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

/// Text of a program that NVRTC gives by size and copy.
template <class Size, class Copy>
std::string text(void* program, Size size, Copy copy) {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return {};
  std::string out(bytes, '\0');
  if (copy(program, out.data()) != 0) return {};
  return out;
}

/// What a user is told of a text that NVRTC does not compile. Only its assembler objects to what a
/// schedule asks for; anything else that is wrong with the text is hone's.
ErrorCode code_of(int error, const std::string& log) {
  constexpr int kOutOfMemory = 1;  // NVRTC_ERROR_OUT_OF_MEMORY
  if (error == kOutOfMemory) return ErrorCode::kMemory;
  const bool too_much = log.find("uses too much") != std::string::npos;
  return too_much ? ErrorCode::kSchedule : ErrorCode::kInternal;
}

}  // namespace

Result<Nvrtc> Nvrtc::open() {
  Nvrtc made;
  std::string tried;
  std::vector<const char*> names(std::begin(kNvrtcLibraries), std::end(kNvrtcLibraries));
  if (const char* given = std::getenv("HONE_NVRTC"); given && *given) names = {given};
  for (const char* name : names) {
    // It stays: it brings a C++ runtime of its own, which gives nothing back.
    made.library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (made.library_) break;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  if (!made.library_) {
    return Failure{ErrorCode::kUnsupported, "NVRTC, which compiles CUDA, is not found (tried " +
                                                tried +
                                                "); install libnvrtc, or name it in HONE_NVRTC"};
  }
  auto f = std::make_shared<Functions>();
  void* const l = made.library_;
  const bool whole =
      find(l, "nvrtcGetErrorString", f->error) && find(l, "nvrtcVersion", f->version) &&
      find(l, "nvrtcGetNumSupportedArchs", f->archs) &&
      find(l, "nvrtcGetSupportedArchs", f->list) && find(l, "nvrtcCreateProgram", f->create) &&
      find(l, "nvrtcCompileProgram", f->compile) && find(l, "nvrtcDestroyProgram", f->destroy) &&
      find(l, "nvrtcGetProgramLogSize", f->log_size) && find(l, "nvrtcGetProgramLog", f->log) &&
      find(l, "nvrtcGetPTXSize", f->ptx_size) && find(l, "nvrtcGetPTX", f->ptx) &&
      find(l, "nvrtcGetCUBINSize", f->cubin_size) && find(l, "nvrtcGetCUBIN", f->cubin);
  if (!whole || f->version(&made.major_, &made.minor_) != 0) {
    return Failure{ErrorCode::kUnsupported,
                   "the NVRTC found is older than 11.2; install a newer one"};
  }
  made.functions_ = std::move(f);
  return made;
}

Nvrtc::Nvrtc(Nvrtc&& o) noexcept
    : library_(std::exchange(o.library_, nullptr)),
      functions_(std::move(o.functions_)),
      major_(o.major_),
      minor_(o.minor_) {}

Nvrtc::~Nvrtc() {
  if (library_) dlclose(library_);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  if (functions_->archs(&count) != 0) return {};
  std::vector<int> out(static_cast<size_t>(count));
  if (functions_->list(out.data()) != 0) return {};
  // 11.8 names sm_90, and has neither its products nor its TMA.
  if (major_ < 12) std::erase_if(out, [](int sm) { return sm >= 90; });
  return out;
}

int Nvrtc::latest(int sm) const {
  const std::vector<int> known = architectures();
  int found = known.empty() ? sm : 0;
  for (const int a : known) found = a <= sm ? std::max(found, a) : found;
  return found;
}

Failure Nvrtc::unknown(int sm) const {
  std::string known;
  for (const int a : architectures()) known += fmt::format("{}sm_{}", known.empty() ? "" : ", ", a);
  return Failure{
      ErrorCode::kUnsupported,
      fmt::format("NVRTC {}.{} does not know sm_{}; it compiles for {}. Install one that does, "
                  "or name it in HONE_NVRTC",
                  major_, minor_, sm, known)};
}

Result<CudaBinary> Nvrtc::compile(const CudaSource& source, int sm, int ptx) const {
  if (!knows(ptx != 0 ? ptx : sm)) return unknown(ptx != 0 ? ptx : sm);
  if (ptx != 0) return run(source, fmt::format("compute_{}", ptx));
  const std::string architecture =
      fmt::format("sm_{}{}", sm, needs_sm90a(source.kernels) ? "a" : "");
  auto binary = run(source, architecture);
  if (!binary) return binary;
  const auto held = with_another_block(source, binary->log, sm);
  if (!held) return binary;
  auto again = run(*held, architecture);
  return again && spills_no_more(binary->log, again->log) ? std::move(again) : std::move(binary);
}

Result<CudaBinary> Nvrtc::compile_for_later(const CudaSource& source, int sm) const {
  const int before = architectures().empty() ? 0 : latest(sm - 1);
  if (before == 0 || needs_sm90a(source.kernels)) return unknown(sm);
  return run(source, fmt::format("compute_{}", before));
}

Result<CudaBinary> Nvrtc::run(const CudaSource& source, const std::string& architecture) const {
  const std::string text_of_it = cuda_prelude() + sm90_rows_for(source.kernels) + source.kernels;
  Functions::Program program = nullptr;
  if (int code =
          functions_->create(&program, text_of_it.c_str(), "kernels.cu", 0, nullptr, nullptr)) {
    return Failure{ErrorCode::kInternal, std::string("NVRTC: ") + functions_->error(code)};
  }
  const std::string option = "--gpu-architecture=" + architecture;
  // The log then also says what each kernel takes, where machine code is made.
  const char* options[] = {option.c_str(), "--std=c++17", "-default-device", "--ptxas-options=-v"};
  const int code = functions_->compile(program, architecture.starts_with("sm_") ? 4 : 3, options);
  CudaBinary out;
  out.log = text(program, functions_->log_size, functions_->log);
  if (code == 0) {
    out.ptx = text(program, functions_->ptx_size, functions_->ptx);
    while (!out.ptx.empty() && out.ptx.back() == 0) out.ptx.pop_back();
    const std::string cubin = text(program, functions_->cubin_size, functions_->cubin);
    out.cubin.assign(cubin.begin(), cubin.end());
  }
  functions_->destroy(&program);
  if (code != 0) {
    return Failure{code_of(code, out.log), fmt::format("NVRTC for {}: {}\n{}", architecture,
                                                       functions_->error(code), out.log)};
  }
  return out;
}

}  // namespace hone::jit
