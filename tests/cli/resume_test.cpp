// SPDX-License-Identifier: Apache-2.0
// Tuning that is killed and stopped: nothing measured is lost, and nothing is measured twice.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "jit/code.h"
#include "runtime/cache/cache.h"
#include "runtime/machine/host.h"

extern char** environ;

namespace fs = std::filesystem;
using hone::runtime::Cache;
using hone::runtime::Trial;

namespace {

/// Far from its limit, where a run goes on until it is ended: a product may reach its own.
constexpr const char* kProblem = "layernorm M=97 N=203";

class Tuner {
 public:
  Tuner() {
    std::string name = (fs::temp_directory_path() / "hone-resume-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Tuner() { fs::remove_all(folder_); }
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  /// Starts `hone VERB...` on this cache; its output goes nowhere. `worker`: instead of the real
  /// one.
  pid_t start(std::vector<std::string> words, const std::string& worker = "") const {
    const char* program = std::getenv("HONE_PROGRAM");
    REQUIRE_MESSAGE(program, "HONE_PROGRAM names the hone program");
    words.insert(words.begin(), program);
    words.insert(words.end(), {"--cache", file()});
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int fd : {1, 2}) {
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    }
    std::string chosen = "HONE_WORKER=" + worker;
    std::vector<char*> variables;
    for (char** v = environ; *v; ++v) {
      if (worker.empty() || !std::string(*v).starts_with("HONE_WORKER=")) variables.push_back(*v);
    }
    if (!worker.empty()) variables.push_back(chosen.data());
    variables.push_back(nullptr);
    pid_t pid = 0;
    REQUIRE(::posix_spawn(&pid, program, &actions, nullptr, argv.data(), variables.data()) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }

  pid_t tune(const std::string& seed, const std::string& trials,
             const std::string& worker = "") const {
    return start({"tune", "--threads", "1", "--effort", "full", "--trials", trials, "--seed", seed,
                  kProblem},
                 worker);
  }

  /// Its exit code, or minus the signal that ended it.
  static int wait(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  /// Schedules in the order in which they were logged.
  std::vector<std::string> measured() const {
    hone::runtime::CacheOptions options;
    options.path = file();
    Cache cache(options);
    std::vector<std::string> schedules;
    hone::ir::Target target = hone::runtime::host_target();
    target.threads = 1;
    const hone::runtime::Key key{kProblem, hone::ir::print(target), hone::jit::kCodeGeneration};
    for (const Trial& t : cache.trials(key)) {
      schedules.push_back(t.schedule);
    }
    return schedules;
  }

  size_t count() const { return measured().size(); }

 private:
  std::string file() const { return (folder_ / "cache.db").string(); }

  fs::path folder_;
};

bool nothing_to_tune() { return hone::runtime::host_target().vector_bytes() == 0; }

/// Waits until `n` trials are logged, or the process has gone.
void wait_for(const Tuner& tuner, pid_t process, size_t n) {
  for (int i = 0; i < 600 && tuner.count() < n; ++i) {
    siginfo_t ended = {};
    ::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0) return;
    ::usleep(50'000);
  }
}

}  // namespace

TEST_CASE("resume: a killed run carries on, and measures nothing twice") {
  if (nothing_to_tune()) return;
  const Tuner tuner;
  const pid_t first = tuner.tune("1", "1000");
  wait_for(tuner, first, 5);
  ::kill(first, SIGKILL);
  CHECK(Tuner::wait(first) == -SIGKILL);
  const size_t kept = tuner.count();
  CHECK(kept >= 5);
  CHECK(Tuner::wait(tuner.tune("1", "4")) == 0);
  const std::vector<std::string> all = tuner.measured();
  CHECK(all.size() > kept);
  CHECK(all.size() <= kept + 4);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("resume: Ctrl-C ends a run well, and what it found is kept") {
  if (nothing_to_tune()) return;
  const Tuner tuner;
  const pid_t first = tuner.tune("1", "1000");
  wait_for(tuner, first, 4);
  ::kill(first, SIGINT);
  CHECK(Tuner::wait(first) == 0);
  const size_t kept = tuner.count();
  CHECK(kept >= 4);
  CHECK(Tuner::wait(tuner.start({"cache", "verify"})) == 0);
  CHECK(Tuner::wait(tuner.tune("1", "3")) == 0);
  CHECK(tuner.count() <= kept + 3);
}

TEST_CASE("resume: a signal that is not meant for it does not make a run deaf to Ctrl-C") {
  if (nothing_to_tune()) return;
  const Tuner tuner;
  const pid_t first = tuner.tune("1", "1000");
  wait_for(tuner, first, 2);
  ::kill(first, SIGUSR1);
  ::usleep(100'000);
  ::kill(first, SIGTERM);
  const auto start = std::chrono::steady_clock::now();
  CHECK(Tuner::wait(first) == 0);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("resume: Ctrl-C ends a run whose worker does not answer") {
  if (nothing_to_tune()) return;
  const Tuner tuner;
  // It answers some trials and then no more; it ignores SIGINT, as workers do.
  const std::string deaf = (fs::read_symlink("/proc/self/exe").parent_path() / "cli/deaf_worker");
  const pid_t first = tuner.tune("1", "1000", deaf);
  wait_for(tuner, first, 4);
  ::usleep(200'000);
  const auto start = std::chrono::steady_clock::now();
  ::kill(first, SIGINT);
  CHECK(Tuner::wait(first) == 0);
  // Well before the worker's time is up; a busy disk may hold the last records for seconds.
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
  CHECK(tuner.count() == 4);
  CHECK(Tuner::wait(tuner.start({"cache", "verify"})) == 0);
  CHECK(Tuner::wait(tuner.tune("1", "3")) == 0);
  const std::vector<std::string> all = tuner.measured();
  CHECK(all.size() <= 7);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("resume: eight tuning processes killed at random leave a sound cache") {
  if (nothing_to_tune()) return;
  const Tuner tuner;
  std::mt19937 random(7);
  std::vector<pid_t> children;
  // Some tune the same problem with the same seed.
  for (int n = 0; n < 8; ++n) children.push_back(tuner.tune(std::to_string(n / 2), "1000"));
  wait_for(tuner, children.front(), 8);
  for (pid_t child : children) {
    ::usleep(static_cast<useconds_t>(random() % 200'000));
    ::kill(child, SIGKILL);
    Tuner::wait(child);
  }
  const size_t kept = tuner.count();
  CHECK(kept >= 8);
  CHECK(Tuner::wait(tuner.start({"cache", "verify"})) == 0);
  CHECK(Tuner::wait(tuner.tune("0", "2")) == 0);
  CHECK(tuner.count() <= kept + 2);
  CHECK(Tuner::wait(tuner.start({"cache", "verify"})) == 0);
}
