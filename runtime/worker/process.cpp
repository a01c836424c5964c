// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace hone::runtime {
namespace {

constexpr int kWorkerFd = 3;

bool runnable(const std::string& path) {
  return !path.empty() && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string find_worker(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("HONE_WORKER"); named && *named) return named;
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  // Beside the program, as installed next to bin, and as built next to the other programs.
  for (const char* place :
       {"hone-worker", "../libexec/hone-worker", "../runtime/cli/hone-worker"}) {
    if (error) break;
    const std::string path = (folder / place).lexically_normal().string();
    if (runnable(path)) return path;
  }
#ifdef HONE_WORKER_PATH
  if (runnable(HONE_WORKER_PATH)) return HONE_WORKER_PATH;
#endif
  return "";
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program) {
  if (!runnable(program)) {
    return Failure{ErrorCode::kUnsupported,
                   program.empty() ? "tuning needs the hone-worker program; name it in "
                                     "EngineOptions::worker or HONE_WORKER"
                                   : "cannot run the worker program " + program};
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

std::optional<Message> WorkerProcess::ask(const Message& message, int timeout_ms,
                                          const std::stop_token& stop) {
  if (channel_.send(message)) {
    auto reply = channel_.receive(timeout_ms, stop);
    if (reply && reply->verb != "crash") return reply;
    if (reply) {
      ending_ = fmt::format("crashed: {} at {}", reply->get("signal"), reply->get("address"));
    } else if (channel_.timed_out()) {
      ending_ = fmt::format("hung: no answer in {} ms", timeout_ms);
    } else if (stop.stop_requested()) {
      ending_ = "stopped";
    }
  }
  int status = 0;
  if (ending_.empty() && ::waitpid(pid_, &status, 0) == pid_) {
    ending_ = WIFSIGNALED(status) ? fmt::format("crashed: signal {}", WTERMSIG(status))
                                  : fmt::format("exited: status {}", WEXITSTATUS(status));
    pid_ = 0;
  }
  this->stop();
  return std::nullopt;
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
