// SPDX-License-Identifier: Apache-2.0
// Where a program looks for its worker, by where it lies itself.
#include <doctest/doctest.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace fs = std::filesystem;

namespace {

/// A folder to lay out like an installation or a build tree.
class Tree {
 public:
  Tree() {
    std::string name = (fs::temp_directory_path() / "hone-places-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  fs::path root() const { return root_; }
  std::string add(const std::string& place) const {
    fs::create_directories((root_ / place).parent_path());
    std::ofstream(root_ / place) << "#!/bin/sh\n";
    fs::permissions(root_ / place, fs::perms::owner_all);
    return (root_ / place).string();
  }
  /// What the finder says when it lies at `place` and runs elsewhere.
  std::string look_from(const std::string& place) const {
    fs::create_directories((root_ / place).parent_path());
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    fs::copy_file(here / "unit/worker_finder", root_ / place, fs::copy_options::skip_existing);
    const std::string command = "cd / && env -u HONE_WORKER '" + (root_ / place).string() + "'";
    FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe);
    std::string out;
    char buffer[1024];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
    CHECK(::pclose(pipe) == 0);
    return out;
  }

 private:
  fs::path root_;
};

}  // namespace

TEST_CASE("worker: found where it is installed, and where it is built as a subproject") {
  const Tree tree;
  const std::string built = tree.add("b/subprojects/hone/runtime/cli/hone-worker");
  tree.add("b/build.ninja");
  CHECK(tree.look_from("b/app") == built + "\n");
  CHECK(tree.look_from("b/src/deep/app") == built + "\n");
  const std::string installed = tree.add("p/libexec/hone-worker");
  CHECK(tree.look_from("p/bin/app") == installed + "\n");
}

TEST_CASE("worker: where it is nowhere, the places are named") {
  const Tree tree;
  const std::string said = tree.look_from("b/app");
  CHECK(said.find("HONE_WORKER") != std::string::npos);
  CHECK(said.find((tree.root() / "b/hone-worker").string()) != std::string::npos);
  CHECK(said.find((tree.root() / "libexec/hone-worker").string()) != std::string::npos);
}

TEST_CASE("worker: not taken from a folder above that others own") {
  if (::geteuid() != 0) return;
  const Tree tree;
  tree.add("build.ninja");
  tree.add("subprojects/hone/runtime/cli/hone-worker");
  REQUIRE(::chown(tree.root().c_str(), 65534, 65534) == 0);
  CHECK(tree.look_from("mine/app").find("needs the hone-worker") != std::string::npos);
}
