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
#include <vector>

extern char** environ;

namespace hone::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int kWorkerFd = 3;

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
  return {ErrorCode::kUnsupported,
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
