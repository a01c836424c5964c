// SPDX-License-Identifier: Apache-2.0
// The page for newcomers and the recipes: what stands there is run, and prints what the page says.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/support/source_root.h"

namespace fs = std::filesystem;
using hone::tests::Hone;
using hone::tests::Ran;

namespace {

/// One fenced block of a page.
struct Block {
  std::string kind;  ///< sh, text, cpp
  std::vector<std::string> lines;
  std::string text() const {
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  }
};

std::vector<Block> blocks_of(const fs::path& page) {
  std::ifstream in(page);
  REQUIRE(in);
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({line.substr(3), {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  CHECK_FALSE(inside);
  return blocks;
}

/// Whether `text` is `pattern`, in which `...` stands for anything.
bool matches(std::string_view text, std::string_view pattern) {
  const size_t dots = pattern.find("...");
  if (dots == pattern.npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, dots))) return false;
  pattern.remove_prefix(dots + 3);
  for (size_t at = dots; at <= text.size(); ++at) {
    if (matches(text.substr(at), pattern)) return true;
  }
  return false;
}

/// The first line of `pattern` that no line of `out` is, in their order; empty: all are there.
std::string missing(const std::string& out, const std::vector<std::string>& pattern) {
  std::istringstream lines(out);
  std::string line;
  for (const std::string& wanted : pattern) {
    bool found = false;
    while (!found && std::getline(lines, line)) found = matches(line, wanted);
    if (!found) return wanted;
  }
  return "";
}

/// A folder in which the page's commands find hone, a compiler and the library of this build.
class Desk {
 public:
  Desk() {
    const fs::path program = std::getenv("HONE_PROGRAM");
    const fs::path build = program.parent_path().parent_path().parent_path();
    if (const char* compiler = std::getenv("HONE_TEST_CXX")) {
      // The compiler may be `ccache c++`: that is to find another than this one.
      hone_.write("c++", std::string("#!/bin/sh\nPATH='") + std::getenv("PATH") + "'\nexec " +
                             compiler + " \"$@\"\n");
      fs::permissions(hone_.file("c++"), fs::perms::owner_all);
      hone_.write("hone.pc", "Name: hone\nDescription: of this build\nVersion: 0\nCflags: -I" +
                                 hone::tests::source_root() + "/include\nLibs: -L" +
                                 build.string() + " -lhone\n");
      compiles_ = true;
    }
    first_ = "cd " + hone_.file("") + " && export PATH=" + hone_.file("") + ":" +
             program.parent_path().string() + ":$PATH PKG_CONFIG_PATH=" + hone_.file("") +
             " LD_LIBRARY_PATH=" + build.string() + " HONE_CACHE=" + hone_.file("cache.db") + "\n";
  }
  bool compiles() const { return compiles_; }
  void write(const std::string& name, const std::string& text) const { hone_.write(name, text); }
  /// Runs a block; its first command that fails ends it.
  Ran run(const std::string& script) const {
    hone_.write("block.sh", first_ + "set -e\n" + script);
    Ran ran;
    FILE* pipe = popen(("sh " + hone_.file("block.sh") + " 2>&1").c_str(), "r");
    REQUIRE(pipe);
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.out.append(buffer, n);
    ran.code = WEXITSTATUS(pclose(pipe));
    return ran;
  }

 private:
  Hone hone_;
  std::string first_;
  bool compiles_ = false;
};

}  // namespace

TEST_CASE("tutorial: its commands run and print what the page says") {
  if (Hone()("target").out.find("isa=none") != std::string::npos) return;
  const Desk desk;
  bool ran_last = false;
  std::string out;
  int commands = 0, expected = 0;
  for (const Block& block :
       blocks_of(fs::path(hone::tests::source_root()) / "examples/README.md")) {
    CAPTURE(block.text());
    if (block.kind == "cpp") {
      REQUIRE(block.lines.at(0).starts_with("// "));
      desk.write(block.lines[0].substr(3), block.text());
    } else if (block.kind == "sh") {
      ran_last = desk.compiles() || block.text().find("pkg-config") == std::string::npos;
      if (!ran_last) continue;
      const Ran ran = desk.run(block.text());
      CAPTURE(ran.out);
      CHECK(ran.code == 0);
      out = ran.out;
      ++commands;
    } else if (block.kind == "text" && ran_last) {
      CAPTURE(out);
      CHECK(missing(out, block.lines) == "");
      ++expected;
    }
  }
  CHECK(commands >= 10);
  CHECK(expected >= 9);
}

TEST_CASE("tutorial: recipes are right, and their larger problems compile") {
  const Hone hone;
  int run = 0;
  for (const auto& file :
       fs::directory_iterator(fs::path(hone::tests::source_root()) / "examples/recipes")) {
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
      const bool small = line.starts_with("case small "), bench = line.starts_with("case bench ");
      if (!small && !bench) continue;
      CAPTURE(line);
      const Ran ran = hone("run --json --no-time " + std::string(bench ? "--no-check " : "") +
                           "--ops " + file.path().string() + " " + line.substr(11));
      CHECK(ran.code == 0);
      CHECK(ran.out.find("mismatch") == std::string::npos);
      ++run;
    }
  }
  CHECK(run >= 10);
}

TEST_CASE("tutorial: a compiler of an older language is told what is missing") {
  const Desk desk;
  if (!desk.compiles()) return;
  desk.write("old.cpp", "#include <hone/hone.h>\nint main() {}\n");
  const std::string include = " -I" + (fs::path(hone::tests::source_root()) / "include").string();
  const Ran old = desk.run("c++ -std=c++17 -fsyntax-only old.cpp" + include);
  CHECK(old.code != 0);
  CHECK(old.has("hone needs C++20"));
  CHECK(desk.run("c++ -std=c++20 -fsyntax-only old.cpp" + include).code == 0);
}
