// SPDX-License-Identifier: Apache-2.0
// The hone program, run from outside.
#pragma once

#include <doctest/doctest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hone::tests {

namespace fs = std::filesystem;

/// What one run of the program gave.
struct Ran {
  int code = -1;
  std::string out;  ///< standard output and error
  bool has(const std::string& part) const {
    const bool found = out.find(part) != std::string::npos;
    if (!found) MESSAGE("`" << part << "` is not in: " << out);
    return found;
  }
};

/// A folder with a cache of its own.
class Hone {
 public:
  Hone() {
    std::string name = (fs::temp_directory_path() / "hone-cli-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Hone() { fs::remove_all(folder_); }
  Hone(const Hone&) = delete;
  Hone& operator=(const Hone&) = delete;

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  /// Runs `hone ARGUMENTS` through the shell, which does `first` before.
  Ran operator()(const std::string& arguments, const std::string& first = "") const {
    const char* program = std::getenv("HONE_PROGRAM");
    REQUIRE_MESSAGE(program, "HONE_PROGRAM names the hone program");
    const std::string command =
        first + "HONE_CACHE=" + file("cache.db") + " '" + program + "' " + arguments + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    Ran ran;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, n);
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }

 private:
  fs::path folder_;
};

}  // namespace hone::tests
