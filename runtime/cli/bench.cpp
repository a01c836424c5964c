// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "runtime/cli/common.h"

namespace hone::runtime {
namespace {

namespace fs = std::filesystem;

/// The bench program: HONE_BENCH, else beside this one as installed or as built.
std::string find_bench() {
  if (const char* given = std::getenv("HONE_BENCH"); given && *given) return given;
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"hone-bench", "../libexec/hone-bench", "../../bench/hone-bench"}) {
    if (fs::exists(folder / place, error)) return (folder / place).lexically_normal().string();
  }
  return "";
}

int run_bench(const std::vector<std::string>& rest) {
  Common common;
  common.json = std::find(rest.begin(), rest.end(), "--json") != rest.end();
  const std::string program = find_bench();
  if (program.empty()) {
    return report(common, {ErrorCode::kNotFound,
                           "the hone-bench program is not beside this one; set HONE_BENCH"});
  }
  std::vector<std::string> words = {program};
  words.insert(words.end(), rest.begin(), rest.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  return report(common, {ErrorCode::kNotFound,
                         fmt::format("{} does not start: {}", program, std::strerror(errno))});
}

void declare_bench(CLI::App& app, int& exit) {
  // The bench program has options of its own and reads the common ones itself, --help too.
  app.set_help_flag();
  app.allow_extras();
  app.callback([&app, &exit] { exit = run_bench(app.remaining()); });
}

}  // namespace

const Verb kBenchVerb = {"bench", "Time the library's cases, against its peers if asked",
                         declare_bench};

}  // namespace hone::runtime
