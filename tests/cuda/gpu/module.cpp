// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cuda/gpu/launch.h"

namespace hone::tests {
namespace {

/// As emulation::KernelEntry of kernel_table.h.
struct Entry {
  const char* name;
  int threads, parameters;
  const size_t* bytes;
  int shared_bytes, cluster[3];
  std::string (*run)(const unsigned*, const unsigned*, unsigned, void* const*);
};

/// Size of a shared object in memory: it ends with its section headers, or with a section.
size_t elf_bytes(const void* image) {
  Elf64_Ehdr head;
  std::memcpy(&head, image, sizeof head);
  return head.e_shoff + size_t{head.e_shentsize} * head.e_shnum;
}

/// Opened from a file of its own, gone at once: the loader takes equal paths for equal files.
void* open_bytes(const std::string& bytes, std::string* why) {
  std::string path = (std::filesystem::temp_directory_path() / "hone-gpu-XXXXXX").string();
  const int fd = mkstemp(path.data());
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    *why = "no room for the image";
  }
  if (fd < 0) return nullptr;
  close(fd);
  void* const library = why->empty() ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library && why->empty()) *why = dlerror();
  unlink(path.c_str());
  return library;
}

/// The number after `word` in a PTX, the dot left out: `.version 8.5` is 85.
int number_after(const std::string& ptx, const char* word) {
  const size_t at = ptx.find(word);
  if (at == std::string::npos) return 0;
  std::string digits;
  for (size_t i = at + std::strlen(word); i < ptx.size() && ptx[i] != '\n'; ++i) {
    if (ptx[i] >= '0' && ptx[i] <= '9') digits += ptx[i];
  }
  return std::atoi(digits.c_str());
}

/// The newest PTX that a driver takes, ten times: 12.0 takes 8.0, 12.8 takes 8.7, 13.0 takes 9.0.
int ptx_of(int driver_version) {
  const int major = driver_version / 1000, minor = driver_version % 1000 / 10;
  if (major >= 13) return 90 + minor;
  if (major == 12) return minor > 6 ? 79 + minor : minor > 5 ? 85 : 80 + minor;
  return 70 + minor;
}

int load_ptx(const std::string& ptx, int sm, int driver_version, std::string* image,
             std::string* why) {
  const size_t mark = ptx.find(kImageMark);
  if (mark == std::string::npos) return *why = "not PTX of the emulated compiler", kInvalidPtx;
  if (number_after(ptx, ".version ") > ptx_of(driver_version)) {
    *why = "the PTX is newer than the driver";
    return kUnsupportedPtxVersion;
  }
  if (number_after(ptx, ".target sm_") > sm) return *why = "PTX for a later GPU", kNoBinaryForGpu;
  const size_t from = mark + std::strlen(kImageMark);
  std::ifstream file(ptx.substr(from, ptx.find('\n', from) - from), std::ios::binary);
  if (!file) return *why = "the image of the PTX is gone", kInvalidPtx;
  image->assign(std::istreambuf_iterator<char>(file), {});
  return kSuccess;
}

}  // namespace

Module::~Module() {
  if (library) dlclose(library);
}

int load(const void* image, int sm, int driver_version, Module& module, std::string* why) {
  std::string bytes;
  const bool binary = std::memcmp(image, ELFMAG, SELFMAG) == 0;
  if (binary) {
    bytes.assign(static_cast<const char*>(image), elf_bytes(image));
  } else if (const int wrong =
                 load_ptx(static_cast<const char*>(image), sm, driver_version, &bytes, why)) {
    return wrong;
  }
  module.library = open_bytes(bytes, why);
  if (!module.library) return kInvalidImage;
  const auto* const built = static_cast<const int*>(dlsym(module.library, "hone_gpu_sm"));
  const auto* const entries = static_cast<const Entry*>(dlsym(module.library, "hone_gpu_kernels"));
  const auto* const count = static_cast<const int*>(dlsym(module.library, "hone_gpu_kernel_count"));
  if (!built || !entries || !count) return *why = "no kernels in the image", kInvalidImage;
  using Objection = std::string (*)(const void*, size_t);
  if (auto* hook = static_cast<Objection**>(dlsym(module.library, "hone_gpu_objection"))) {
    **hook = objection_to;
  }
  // Binaries go for later minor versions, not for another major one.
  if (binary && (*built / 10 != sm / 10 || *built > sm)) {
    *why = fmt::format("the image is for sm_{}, the GPU is sm_{}", *built, sm);
    return kNoBinaryForGpu;
  }
  for (int i = 0; i < *count; ++i) {
    const Entry& e = entries[i];
    Kernel k;
    k.name = e.name;
    k.threads = e.threads;
    k.parameter_bytes.assign(e.bytes, e.bytes + e.parameters);
    k.static_shared = e.shared_bytes;
    k.dynamic_shared = (48 << 10) - e.shared_bytes;
    std::copy_n(e.cluster, 3, k.cluster);
    k.run = e.run;
    module.kernels.push_back(std::move(k));
  }
  return kSuccess;
}

}  // namespace hone::tests
