// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <vector>

#include "jit/cuda/source.h"
#include "tests/cuda/host_compile.h"

namespace hone::tests {
namespace {

namespace fs = std::filesystem;

/// A kernel that the source defines.
struct Found {
  std::string name, threads, cluster;
  int shared_bytes = 0;
};

int bytes_of(const std::string& type) {
  for (const char* eight : {"i64", "u64", "double"}) {
    if (type == eight) return 8;
  }
  for (const char* four : {"i32", "u32", "float"}) {
    if (type == four) return 4;
  }
  for (const char* two : {"i16", "f16", "bf16"}) {
    if (type == two) return 2;
  }
  return 1;
}

std::vector<Found> kernels_of(const std::string& text) {
  static const std::regex kKernel(
      R"(HONE_(?:CLUSTER_)?KERNEL(?:_ALONE)?\((\d+)((?:, \d+){3})?\)\s*(\w+)\s*\()");
  static const std::regex kShared(R"(HONE_TEAM\((\w+), \w+, (\d+)\))");
  std::vector<Found> found;
  std::vector<size_t> starts;
  for (std::sregex_iterator it(text.begin(), text.end(), kKernel), end; it != end; ++it) {
    found.push_back({(*it)[3], (*it)[1], it->str(2).empty() ? ", 1, 1, 1" : it->str(2)});
    starts.push_back(static_cast<size_t>(it->position()));
  }
  starts.push_back(text.size());
  for (size_t k = 0; k < found.size(); ++k) {
    const std::string body = text.substr(starts[k], starts[k + 1] - starts[k]);
    for (std::sregex_iterator it(body.begin(), body.end(), kShared), end; it != end; ++it) {
      found[k].shared_bytes += bytes_of((*it)[1]) * std::atoi((*it)[2].str().c_str());
    }
  }
  return found;
}

/// `kernels.cu:12:3: error: ...` as the device's compiler says it, `kernels.cu(12): error: ...`.
std::string as_device_says(const std::string& log) {
  static const std::regex kPlace(R"((^|\n)([^\s:]+):(\d+):(\d+): (fatal )?)");
  return std::regex_replace(log, kPlace, "$1$2($3): ");
}

std::string text_of_compile(const std::string& kernels, size_t lines_before,
                            const std::string& file_name, const std::string& header, int sm) {
  std::string text = fmt::format("#include \"{}\"\n#line {} \"{}\"\n{}\n#line 1 \"table\"\n",
                                 header, lines_before + 1, file_name, kernels);
  const std::vector<Found> found = kernels_of(kernels);
  text += "#define HONE_EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n";
  text += "HONE_EXPORT const emulation::KernelEntry hone_gpu_kernels[] = {\n";
  for (const Found& k : found) {
    text +=
        fmt::format("  HONE_ENTRY({}, {}, {}{}),\n", k.name, k.threads, k.shared_bytes, k.cluster);
  }
  text += "  {}};\n";
  text += fmt::format("HONE_EXPORT const int hone_gpu_kernel_count = {};\n", found.size());
  text += fmt::format("HONE_EXPORT const int hone_gpu_sm = {};\n", sm);
  return text + "HONE_EXPORT auto* const hone_gpu_objection = &emulation::objection;\n";
}

}  // namespace

Compiled compile_for_host(const std::string& source, const std::string& file_name, int sm) {
  Compiled out;
  const std::string prelude = jit::cuda_prelude();
  if (source.compare(0, prelude.size(), prelude) != 0) {
    out.log = file_name +
              "(1): error: the emulation compiles what begins with the project's own "
              "prelude, and this begins otherwise\n1 error detected in the compilation\n";
    return out;
  }
  const auto lines = static_cast<size_t>(std::count(prelude.begin(), prelude.end(), '\n'));
  const std::string header = emulation_header();
  const std::string text =
      text_of_compile(source.substr(prelude.size()), lines, file_name, header, sm);
  const std::string base =
      (fs::path(header).parent_path() / fmt::format("{:016x}", hash_of(text))).string();
  out.path = base + ".so";
  if (!fs::exists(out.path)) {
    const std::string part = base + "." + own_name() + ".cpp";
    write_file(part, text);
    const std::string wrong = compile_library(part, out.path, header);
    fs::remove(part);
    if (!wrong.empty()) {
      out.log = as_device_says(wrong) + "1 error detected in the compilation\n";
      return out;
    }
  }
  out.image = read_file(out.path);
  out.ok = true;
  return out;
}

}  // namespace hone::tests
