// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

extern char** environ;

namespace hone::runtime {
namespace {

namespace fs = std::filesystem;

/// Chosen: a free descriptor; patience with a loaded machine (not measured).
constexpr int kWorkerFd = 3;
constexpr int kAliveMs = 100;  // how often to look whether it lives
constexpr int kBuryMs = 200;   // for a process to end whose line is closed
constexpr int kBuryLookMs = 5;
constexpr size_t kMostQuoted = 40;
constexpr int kMostSilences = 10;                     // each as long as may be, with a word between
constexpr auto kMostLate = std::chrono::seconds(60);  // past the caller's time, whatever it says
/// Signals that code causes by itself, SIGXCPU as our limit on it; others come from outside.
constexpr int kFaults[] = {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU};
/// What a worker answers; see serve_trials.
constexpr std::string_view kAnswers[] = {"opened", "built", "result", "error"};

/// A wait for an answer: how long a worker may still be silent.
class Silence {
 public:
  explicit Silence(const Patience& patience) : patience_(patience) {}

  /// It said that it is busy.
  void broken() { heard_ = Clock::now(); }
  /// Milliseconds until it is over, at most `most`.
  int left_ms(int64_t most) const {
    const auto left = std::chrono::ceil<Milliseconds>(std::min(hung(), late()) - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 0, most));
  }
  Ending over() const {
    const auto now = Clock::now();
    return now >= hung() ? Ending::kHung : now >= late() ? Ending::kLate : Ending::kNone;
  }

 private:
  using Clock = Patience::Clock;
  using Milliseconds = std::chrono::milliseconds;

  Clock::time_point hung() const {
    const auto most = Milliseconds(patience_.most_ms);
    return std::min(heard_ + most, start_ + kMostSilences * most);
  }
  Clock::time_point late() const {
    const auto moment = Milliseconds(patience_.moment_ms);
    const auto last = std::max(std::max(patience_.until, start_) + kMostLate, start_ + moment);
    return std::min(std::max(patience_.until, heard_ + moment), last);
  }

  Patience patience_;
  Clock::time_point start_ = Clock::now(), heard_ = start_;
};

bool runnable(const std::string& path) {
  return !path.empty() && ::access(path.c_str(), X_OK) == 0;
}

/// The folder of the running program.
fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// The folder of the shared library that this code is in; empty where it is in the program.
fs::path library_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  const auto* here = reinterpret_cast<const void*>(&find_worker);
  const int found = ::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
  // A relative name was one in the folder that was current then.
  if (found == 0 || !map || !map->l_name || map->l_name[0] != '/') return {};
  std::error_code error;
  return fs::canonical(map->l_name, error).parent_path();
}

uid_t owner_of(const fs::path& file) {
  struct stat found {};
  return ::stat(file.c_str(), &found) == 0 ? found.st_uid : static_cast<uid_t>(-1);
}

/// The root of the build tree that `folder` lies in; empty where it lies in none of its owner's.
fs::path build_root(const fs::path& folder) {
  const uid_t owner = owner_of("/proc/self/exe");
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    std::error_code error;
    // Others may put a folder above this one, /tmp say, and a worker into it.
    if (owner_of(at) != owner) return {};
    if (fs::exists(at / "build.ninja", error)) return at;
  }
  return {};
}

/// Where the worker may be, the likeliest first.
std::vector<std::string> worker_places() {
  std::vector<std::string> places;
  const auto add = [&](const fs::path& folder, const char* place) {
    if (folder.empty()) return;
    std::string path = (folder / place).lexically_normal().string();
    if (std::find(places.begin(), places.end(), path) == places.end()) places.push_back(path);
  };
  const fs::path program = program_folder(), library = library_folder();
  // Beside the program, as installed next to bin.
  add(program, "hone-worker");
  add(program, "../libexec/hone-worker");
  // As installed next to lib or lib/ARCHITECTURE, and as built below the library.
  add(library, "../libexec/hone-worker");
  add(library, "../../libexec/hone-worker");
  add(library, "runtime/cli/hone-worker");
#ifdef HONE_WORKER_PATH
  add("/", HONE_WORKER_PATH);
#endif
  // As built, by itself or as the subproject of another.
  const fs::path root = build_root(program);
  add(root, "runtime/cli/hone-worker");
  add(root, "subprojects/hone/runtime/cli/hone-worker");
  return places;
}

}  // namespace

std::string find_worker(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("HONE_WORKER"); named && *named) return named;
  for (const std::string& place : worker_places()) {
    if (runnable(place)) return place;
  }
  return "";
}

Failure no_worker() {
  std::string looked;
  for (const std::string& place : worker_places()) looked += "\n  " + place;
  return Failure{
      ErrorCode::kUnsupported,
      "tuning needs the hone-worker program; name it in EngineOptions::worker or HONE_WORKER. "
      "It is none of" +
          looked};
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program) {
  if (program.empty()) return no_worker();
  if (!runnable(program)) {
    return Failure{ErrorCode::kUnsupported, "cannot run the worker program " + program};
  }
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    return Failure{ErrorCode::kUnsupported, std::string("socketpair: ") + std::strerror(errno)};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 onto itself would keep the close-on-exec flag, so go through a number that is not ours.
  const int theirs = fds[1] == kWorkerFd ? ::fcntl(fds[1], F_DUPFD_CLOEXEC, kWorkerFd + 1) : fds[1];
  posix_spawn_file_actions_adddup2(&actions, theirs, kWorkerFd);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (theirs != fds[1]) ::close(theirs);
  ::close(fds[1]);
  if (error != 0) {
    ::close(fds[0]);
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("cannot start {}: {}", program, std::strerror(error))};
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, fds[0]));
}

std::optional<Message> WorkerProcess::ask(const Message& message, const Patience& patience,
                                          const std::stop_token& stop) {
  std::optional<Message> answer;
  if (channel_.send(message)) answer = await(patience, stop);
  if (!answer && ending_ == Ending::kNone) bury();
  return answer;
}

/// The answer; nothing where there is none any more, with an ending unless it is the process that
/// ended.
std::optional<Message> WorkerProcess::await(const Patience& patience, const std::stop_token& stop) {
  Silence silence(patience);
  while (true) {
    auto message = channel_.receive(silence.left_ms(kAliveMs), stop);
    if (stop.stop_requested()) {
      end(Ending::kStopped, "stopped");
      return std::nullopt;
    }
    if (message && message->verb != "busy") return heard(*std::move(message));
    if (message) silence.broken();
    const Ending over = silence.over();
    if (over == Ending::kHung) {
      end(over, fmt::format("hung: no answer in {} ms", patience.most_ms));
    } else if (over == Ending::kLate) {
      end(over, "late: the time was up before it answered");
    } else if (message || (channel_.timed_out() && !exited())) {
      continue;
    }
    if (ending_ != Ending::kNone) return std::nullopt;
    // Its last words may have come since.
    do {
      message = channel_.receive(0);
    } while (message && message->verb == "busy");
    return message ? heard(*std::move(message)) : std::nullopt;
  }
}

/// A message that is no answer is the worker's last.
std::optional<Message> WorkerProcess::heard(Message message) {
  const auto signal = message.get("signal");
  if (message.verb == "crash") {
    end(Ending::kCrashed, fmt::format("crashed: {} at {}", signal, message.get("address")));
  } else if (message.verb == "killed") {
    end(Ending::kLost, fmt::format("killed: by {} from outside", signal));
  } else if (std::find(std::begin(kAnswers), std::end(kAnswers), message.verb) !=
             std::end(kAnswers)) {
    return message;
  } else {
    disown(fmt::format("it said `{}`", message.verb.substr(0, kMostQuoted)));
  }
  return std::nullopt;
}

/// Whether the process is gone; it stays there to be waited for.
bool WorkerProcess::exited() const {
  siginfo_t info{};
  const int error = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return error != 0 || info.si_pid == pid_;
}

/// Finds out why a worker says no more. One that closed its line and lives on is ended.
void WorkerProcess::bury() {
  for (int waited = 0; waited < kBuryMs && !exited(); waited += kBuryLookMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kBuryLookMs));
  }
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return disown("it says no more and lives on");
  pid_ = 0;
  if (!WIFSIGNALED(status)) {
    return end(Ending::kLost, fmt::format("exited: status {}", WEXITSTATUS(status)));
  }
  const int number = WTERMSIG(status);
  const bool fault = std::find(std::begin(kFaults), std::end(kFaults), number) != std::end(kFaults);
  end(fault ? Ending::kCrashed : Ending::kLost,
      fmt::format("{}: by signal {}", fault ? "crashed" : "killed", number));
}

void WorkerProcess::end(Ending ending, std::string why) {
  ending_ = ending;
  why_ = std::move(why);
  stop();
}

void WorkerProcess::stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  if (channel_.fd() >= 0) {
    ::close(channel_.fd());
    channel_ = Channel(-1);
  }
}

}  // namespace hone::runtime
