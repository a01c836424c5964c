// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <vector>

#include "jit/cuda/source.h"
#include "tests/support/source_root.h"

namespace hone::tests {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// What no other thread calls its files, of whatever process.
std::string own_name() { return fmt::format("{}-{}", getpid(), gettid()); }

/// Written whole or not at all, since several may write it.
void write(const fs::path& path, const std::string& text) {
  const fs::path part = path.string() + "." + own_name();
  std::ofstream(part, std::ios::binary) << text;
  fs::rename(part, path);
}

uint64_t hash(const std::string& text) {
  uint64_t h = 14695981039346656037ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

std::string compiler() {
  const char* given = std::getenv("HONE_GPU_CXX");
  if (!given || !*given) given = std::getenv("CXX");
  return given && *given ? given : "c++";
}

/// The emulation's headers are found from the root of the sources, as all are.
std::string flags() {
  return "-std=c++20 -O1 -w -fPIC -fvisibility=hidden -I\"" + source_root() + "\"";
}

int run(const std::string& command, const fs::path& log) {
  return std::system((command + " > " + log.string() + " 2>&1").c_str());
}

/// Folders of earlier emulations, which nobody has added to for a day.
void remove_old(const fs::path& but) {
  const std::string mine = fmt::format("hone-gpu-{}-", getuid());
  const auto day = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (const auto& e : fs::directory_iterator(but.parent_path(), error)) {
    const bool old = e.path().filename().string().rfind(mine, 0) == 0 && e.path() != but &&
                     fs::last_write_time(e.path(), error) < day;
    if (old) fs::remove_all(e.path(), error);
  }
}

/// The emulation, which every source includes: a folder with it and with what the compiler can
/// keep of it, named by what it was made from.
fs::path prepared() {
  const fs::path here = fs::path(source_root()) / "tests/cuda";
  std::vector<fs::path> headers{here / "gpu/kernel_table.h"};
  for (const auto& e : fs::directory_iterator(here)) {
    if (e.path().extension() == ".h") headers.push_back(e.path());
  }
  std::sort(headers.begin(), headers.end());
  std::string all = compiler() + flags();
  for (const fs::path& h : headers) all += read(h);
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("hone-gpu-{}-{:016x}", getuid(), hash(all));
  const fs::path header = folder / "emulation.h";
  if (fs::exists(header)) return folder;
  remove_old(folder);
  fs::create_directories(folder);
  const std::string text = fmt::format(
      "#include \"{0}/emulation.h\"\n#include \"{0}/gpu/kernel_table.h\"\n", here.string());
  const std::string part = (folder / own_name()).string();
  std::ofstream(part + ".h") << text;
  // A compiler that keeps nothing reads the header itself each time.
  if (run(fmt::format("{} {} -x c++-header -o {}.gch {}.h", compiler(), flags(), part, part),
          part + ".log") == 0) {
    fs::rename(part + ".gch", header.string() + ".gch");
  }
  fs::rename(part + ".h", header);
  fs::remove(part + ".log");
  return folder;
}

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
std::string log_of(const fs::path& path) {
  static const std::regex kPlace(R"((^|\n)([^\s:]+):(\d+):(\d+): (fatal )?)");
  return std::regex_replace(read(path), kPlace, "$1$2($3): ");
}

std::string text_of(const std::string& kernels, size_t lines_before, const std::string& file_name,
                    const fs::path& header, int sm) {
  std::string text =
      fmt::format("#include \"{}\"\n{}\n#line {} \"{}\"\n{}\n#line 1 \"table\"\n", header.string(),
                  jit::cuda_prelude_on_host(), lines_before + 1, file_name, kernels);
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
  const fs::path folder = prepared();
  const std::string text =
      text_of(source.substr(prelude.size()), lines, file_name, folder / "emulation.h", sm);
  const std::string base = (folder / fmt::format("{:016x}", hash(text))).string();
  out.path = base + ".so";
  if (!fs::exists(out.path)) {
    const std::string part = base + "." + own_name();
    write(part + ".cpp", text);
    const int failed =
        run(fmt::format("{} {} -shared -o {}.so {}.cpp", compiler(), flags(), part, part),
            part + ".log");
    if (failed) out.log = log_of(part + ".log") + "1 error detected in the compilation\n";
    if (!failed) fs::rename(part + ".so", out.path);
    for (const char* rest : {".cpp", ".log", ".so"}) fs::remove(part + rest);
    if (failed) return out;
  }
  out.image = read(out.path);
  out.ok = true;
  return out;
}

}  // namespace hone::tests
