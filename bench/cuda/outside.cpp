// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/outside.h"

#include <glob.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

std::string text_of_environment(const char* name) {
  const char* given = std::getenv(name);
  return given ? given : "";
}

/// Folders that hold `lib/python3.x`.
std::vector<std::string> python_prefixes() {
  std::vector<std::string> out;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string at = text_of_environment(name); !at.empty()) out.push_back(std::move(at));
  }
  std::istringstream path(text_of_environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    std::error_code none;
    const fs::path python = fs::path(folder) / "python3";
    if (!fs::exists(python, none)) continue;
    out.push_back(fs::path(folder).parent_path().string());
    out.push_back(fs::canonical(python, none).parent_path().parent_path().string());
  }
  if (std::string home = text_of_environment("HOME"); !home.empty())
    out.push_back(home + "/.local");
  out.insert(out.end(), {"/usr/local", "/usr"});
  return out;
}

}  // namespace

std::vector<std::string> python_libraries(const std::string& name) {
  std::vector<std::string> out;
  for (const std::string& prefix : python_prefixes()) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const std::string pattern = prefix + "/lib*/python3*/" + packages + "/nvidia/*/lib/" + name;
      glob_t found{};
      if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
        out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
      }
      ::globfree(&found);
    }
  }
  return out;
}

}  // namespace hone::bench
