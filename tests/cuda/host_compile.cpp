// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/host_compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <vector>

#include "jit/cuda/source.h"
#include "tests/support/source_root.h"

namespace hone::tests {
namespace {

namespace fs = std::filesystem;

/// What lies beside the emulation's header: its sources, and what the compiler made of them.
constexpr const char* kSources = "emulation.cpp";
constexpr const char* kObject = "emulation.o";
constexpr const char* kObjectFlags = "-O2 -c";

/// Of addresses, for one compiler.
constexpr int kMostKilobytes = 2 << 20;

std::string compiler() {
  const char* given = std::getenv("HONE_GPU_CXX");
  if (!given || !*given) given = std::getenv("CXX");
  return given && *given ? given : "c++";
}

/// The emulation's headers are found from the root of the sources, as all are.
std::string flags() {
  return "-std=c++20 -O1 -w -fPIC -fvisibility=hidden -I\"" + source_root() + "\"";
}

/// Runs the compiler; whether it was content. Its messages are in `log`.
bool compiles(const std::string& arguments, const std::string& log) {
  return std::system(fmt::format("ulimit -v {}; {} {} {} > {} 2>&1", kMostKilobytes, compiler(),
                                 flags(), arguments, log)
                         .c_str()) == 0;
}

/// Makes a file of the emulation's folder, unless the compiler cannot.
void keep(const std::string& file, const std::string& how, const std::string& source) {
  const std::string part = file + "." + own_name(), log = part + ".log";
  if (compiles(fmt::format("{} -o {} {}", how, part, source), log)) fs::rename(part, file);
  std::error_code error;
  fs::remove(part, error);
  fs::remove(log, error);
}

/// All that the emulation is made from, in one order.
std::vector<fs::path> emulation_files(const fs::path& here) {
  std::vector<fs::path> files{here / "gpu/kernel_table.h"};
  for (const auto& e : fs::directory_iterator(here)) {
    const bool source =
        e.path().extension() == ".cpp" && e.path().filename().string().starts_with("emulation_");
    if (source || e.path().extension() == ".h") files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Folders of earlier emulations, which nobody has used for a day.
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

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  const std::string part = path + "." + own_name();
  std::ofstream(part, std::ios::binary) << text;
  fs::rename(part, path);
}

std::string own_name() { return fmt::format("{}-{}", getpid(), gettid()); }

uint64_t hash_of(const std::string& text) {
  uint64_t h = 14695981039346656037ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

std::string emulation_header() {
  const fs::path here = fs::path(source_root()) / "tests/cuda";
  const std::string text =
      fmt::format("#include \"{0}/emulation.h\"\n#include \"{0}/gpu/kernel_table.h\"\n{1}",
                  here.string(), jit::cuda_prelude_on_host());
  std::string sources, all = compiler() + flags() + text;
  for (const fs::path& f : emulation_files(here)) {
    all += read_file(f);
    if (f.extension() == ".cpp") sources += fmt::format("#include \"{}\"\n", f.string());
  }
  all += sources + kObjectFlags;
  const fs::path folder =
      fs::temp_directory_path() / fmt::format("hone-gpu-{}-{:016x}", getuid(), hash_of(all));
  const fs::path header = folder / "emulation.h";
  std::error_code error;
  if (fs::exists(header)) {
    fs::last_write_time(folder, fs::file_time_type::clock::now(), error);
    return header;
  }
  remove_old(folder);
  fs::create_directories(folder);
  write_file(folder / kSources, sources);
  auto object =
      std::async(std::launch::async, keep, folder / kObject, kObjectFlags, folder / kSources);
  const std::string part = (folder / own_name()).string() + ".h";
  std::ofstream(part) << text;
  // A compiler that keeps nothing reads the header itself each time.
  keep(header.string() + ".gch", "-x c++-header", part);
  object.wait();
  fs::rename(part, header);
  return header;
}

std::string compile_library(const std::string& source, const std::string& library,
                            const std::string& header) {
  const std::string part = library + "." + own_name(), log = part + ".log";
  const fs::path folder = fs::path(header).parent_path();
  const fs::path rest = folder / (fs::exists(folder / kObject) ? kObject : kSources);
  const bool good = compiles(fmt::format("-shared -o {} {} {}", part, source, rest.string()), log);
  const std::string said = good ? "" : read_file(log);
  if (good) fs::rename(part, library);
  std::error_code error;
  fs::remove(part, error);
  fs::remove(log, error);
  return good || !said.empty() ? said : "the compiler fails and says nothing";
}

}  // namespace hone::tests
