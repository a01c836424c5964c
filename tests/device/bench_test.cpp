// SPDX-License-Identifier: Apache-2.0
//
// `hone bench --target cuda` on the emulated GPU: the table, the state file, faults on the way.
#include <doctest/doctest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/device/raw_driver.h"

namespace fs = std::filesystem;
using namespace hone::tests;

namespace {

/// A folder with a cache and a state file.
class BenchRuns {
 public:
  BenchRuns() {
    std::string name = (fs::temp_directory_path() / "hone-bench-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~BenchRuns() { fs::remove_all(folder_); }
  BenchRuns(const BenchRuns&) = delete;
  BenchRuns& operator=(const BenchRuns&) = delete;

  std::string state() const { return (folder_ / "state").string(); }
  /// Runs the bench with `arguments`; sets `out` to all that it prints. Its exit code.
  int operator()(const std::string& arguments, std::string* out, const std::string& first = "") {
    const char* program = std::getenv("HONE_PROGRAM");
    REQUIRE_MESSAGE(program, "HONE_PROGRAM names the hone program");
    // What a peer's library does not give back is not looked for.
    const std::string command =
        first +
        " ASAN_OPTIONS=detect_leaks=0 HONE_GPU_QUIET=1 HONE_CUDA=" + emulated_library("cuda") +
        " HONE_NVRTC=" + emulated_library("nvrtc") +
        " HONE_CACHE=" + (folder_ / "cache.db").string() + " '" + program +
        "' bench --target cuda --tiny --rounds 1 --state " + state() + " " + arguments + " 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe);
    out->clear();
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out->append(buffer, n);
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  fs::path folder_;
};

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

constexpr const char* kGroups = "--group element-wise --group 'fused epilogue'";

}  // namespace

TEST_CASE("bench on a gpu: a table, and nothing is done twice") {
  BenchRuns bench;
  std::string out;
  CHECK(bench(std::string("--peers ") + kGroups, &out) == 0);
  CHECK(has(out, "a copy within the device moves "));
  CHECK(has(out, "element-wise, of the copy bandwidth: 0.0"));
  CHECK(has(out, "fused epilogue, of the bare product: "));
  CHECK(has(out, "hone bare"));
  const auto size = fs::file_size(bench.state());
  CHECK(bench(std::string("--resume ") + kGroups, &out) == 0);
  CHECK(has(out, "fused epilogue, of the bare product: "));
  CHECK(fs::file_size(bench.state()) == size);
}

TEST_CASE("bench on a gpu: in pieces") {
  BenchRuns bench;
  std::string out;
  CHECK(bench(std::string("--minutes 0.000001 ") + kGroups, &out) == 0);
  CHECK(has(out, "go on with --resume"));
  // What a kill cuts off is no line.
  std::ofstream(bench.state(), std::ios::app) << "{\"gpu\":\"Emulated H100\",\"done\":\"rel";
  std::ofstream(bench.state(), std::ios::app) << "\n";
  CHECK(bench(std::string("--resume ") + kGroups, &out) == 0);
  CHECK(has(out, "relu N=1000"));
  CHECK_FALSE(out.find("go on with --resume") != std::string::npos);
}

TEST_CASE("bench on a gpu: a problem that faults is a row, and the others follow") {
  BenchRuns bench;
  std::string out;
  CHECK(bench("--group element-wise", &out, "HONE_GPU_FAULT=2") == 1);
  CHECK(has(out, "relu N=1000"));
  CHECK(has(out, "illegal"));
  CHECK(bench("--resume --group softmax", &out) == 0);
  CHECK(has(out, "softmax M=4 N=100"));
}

TEST_CASE("bench on a gpu: what enqueueing costs the caller") {
  BenchRuns bench;
  std::string out;
  CHECK(bench("--group enqueue --json", &out, "HONE_GPU_RUN=0") == 0);
  CHECK(has(out, "\"launches\":3"));
  CHECK_FALSE(fs::exists(bench.state()));
}

TEST_CASE("bench on a gpu: none is told") {
  BenchRuns bench;
  std::string out;
  CHECK(bench(kGroups, &out, "HONE_GPU_DEVICES=0") == 2);
  CHECK(has(out, "GPU"));
}
