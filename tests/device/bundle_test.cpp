// SPDX-License-Identifier: Apache-2.0
//
// The script of a bundle for a machine with a GPU, on the emulated one: what hangs and what faults
// is named and costs nothing else, and a run that is cut off goes on.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/device/raw_driver.h"
#include "tests/support/source_root.h"

namespace fs = std::filesystem;
using namespace hone::tests;

namespace {

using Environment = std::vector<std::pair<const char*, std::string>>;

/// A folder as `./dev bundle` makes it, of the programs of this build.
class Bundle {
 public:
  Bundle() {
    std::string name = (fs::temp_directory_path() / "hone-bundle-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    const char* program = std::getenv("HONE_PROGRAM");
    REQUIRE_MESSAGE(program, "HONE_PROGRAM names the hone program");
    const fs::path build = fs::path(program).parent_path().parent_path().parent_path();
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "lib");
    for (const char* p : {"runtime/cli/hone", "runtime/cli/hone-worker", "bench/hone-bench"}) {
      fs::create_symlink(build / p, folder_ / "bin" / fs::path(p).filename());
    }
    fs::create_symlink(fs::read_symlink("/proc/self/exe"), folder_ / "bin/test_device");
    fs::copy(fs::path(source_root()) / "bench/cuda/bundle/run", folder_ / "run");
  }
  ~Bundle() { fs::remove_all(folder_); }
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  /// Starts the script in a process group of its own.
  pid_t start(const std::vector<std::string>& words, const Environment& environment = {}) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    const int log = open((folder_ / "said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(log, 1);
    dup2(log, 2);
    setenv("HONE_CUDA", emulated_library("cuda").c_str(), 1);
    setenv("HONE_NVRTC", emulated_library("nvrtc").c_str(), 1);
    setenv("HONE_TEST_DEVICE", "emulated", 1);
    setenv("HONE_GPU_QUIET", "1", 1);
    setenv("HONE_BUNDLE_TINY", "1", 1);
    setenv("HONE_BUNDLE_LIMIT", "140", 1);  // a busy machine takes its time
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    const std::string run = (folder_ / "run").string();
    std::vector<char*> argv{const_cast<char*>(run.c_str())};
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    execv(run.c_str(), argv.data());
    _exit(127);
  }
  /// Runs it to its end; the exit code.
  int run(const std::vector<std::string>& words, const Environment& environment = {}) const {
    int status = 0;
    waitpid(start(words, environment), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string text(const std::string& file) const {
    std::ifstream in(folder_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// How often the state has a line that begins so.
  int count(const std::string& begin, const std::string& results = "results") const {
    std::ifstream in(folder_ / results / "state");
    int n = 0;
    for (std::string line; std::getline(in, line);) n += line.starts_with(begin) ? 1 : 0;
    return n;
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

constexpr const char* kTasks[] = {"run matmul M=32 N=32 K=32 T=bf16", "run softmax M=4 N=100",
                                  "time matmul M=32 N=32 K=32 T=bf16", "time softmax M=4 N=100",
                                  "time relu N=1000"};

bool has(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

}  // namespace

TEST_CASE("bundle: first checks and times, says where things are, and does nothing twice") {
  const Bundle bundle;
  CHECK_MESSAGE(bundle.run({"first"}) == 0, bundle.text("said"));
  for (const char* task : kTasks)
    CHECK_MESSAGE(bundle.count("passed " + std::string(task)) == 1, task);
  CHECK(has(bundle.text("results/where.txt"), "nvrtc: " + emulated_library("nvrtc")));
  CHECK(has(bundle.text("results/summary.txt"), "hung: 0"));
  CHECK(has(bundle.text("results/bench.jsonl"), "\"contender\":\"hone\""));
  const int begun = bundle.count("begun ");
  CHECK(bundle.run({"first"}) == 0);
  CHECK(bundle.count("begun ") == begun);
  // Elsewhere, from what comes back of this machine.
  fs::rename(bundle.folder() / "results", bundle.folder() / "back");
  CHECK(bundle.run({"first", "--from", (bundle.folder() / "back").string(), "--out",
                    (bundle.folder() / "next").string()}) == 0);
  CHECK(bundle.count("begun ", "next") == begun);
  for (const auto& file : fs::directory_iterator(bundle.folder() / "next")) {
    CHECK_MESSAGE(file.file_size() < 1000000, file.path().string());
  }
  CHECK(bundle.run({"first", "second"}) == 2);
  CHECK(bundle.run({"first", "--from", "/nowhere"}) == 2);
}

TEST_CASE("bundle: what hangs and what faults is named, once, and all else goes on") {
  const Bundle bundle;
  const Environment hang{
      {"HONE_GPU_HANG", "1"}, {"HONE_GPU_ONLY", "softmax"}, {"HONE_BUNDLE_LIMIT", "30"}};
  fs::create_directories(bundle.folder() / "results");
  std::ofstream(bundle.folder() / "results/state") << "passed time softmax M=4 N=100 1 s\n";
  CHECK(bundle.run({"first"}, hang) == 1);
  CHECK(bundle.count("hung run softmax M=4 N=100") == 1);
  CHECK(bundle.count("passed run matmul") == 1);
  CHECK(bundle.count("passed time relu N=1000") == 1);
  CHECK(bundle.run({"first"}) == 0);
  CHECK(bundle.count("begun run softmax") == 1);
  CHECK(has(bundle.text("results/summary.txt"), "hung run softmax M=4 N=100"));
  const Environment fault{{"HONE_GPU_FAULT", "1"}, {"HONE_GPU_ONLY", "relu"}};
  CHECK(bundle.run({"ab"}, fault) == 1);
  CHECK(bundle.count("failed ab relu N=1000") == 1);
  CHECK(has(bundle.text("results/ab.jsonl"), "illegal"));
}

TEST_CASE("bundle: cut off at any time, it goes on, and begins nothing three times") {
  const Bundle bundle;
  int delay_ms = 400;
  for (int cut = 0; cut < 4; ++cut, delay_ms = delay_ms * 17 / 10) {
    const pid_t pid = bundle.start({"first"});
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  bundle.run({"first"});
  for (const char* task : kTasks) {
    const std::string name = task;
    CHECK_MESSAGE(bundle.count("begun " + name) <= 2, name);
    const int ended = bundle.count("passed " + name) + bundle.count("hung " + name);
    CHECK_MESSAGE(ended == 1, name << "\n" << bundle.text("results/state"));
  }
}
