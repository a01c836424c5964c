// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "include/hone/error.h"
#include "runtime/worker/message.h"

namespace hone::runtime {

/// Where the hone-worker program is: `given`, else HONE_WORKER, else beside the running program or
/// the library, where it is installed, or in the build tree that the program lies in. Empty:
/// nowhere.
std::string find_worker(const std::string& given);

/// What to say where it is nowhere: how it is named, and where it was looked for.
Failure no_worker();

/// A worker process and the line to it. Spawned, never forked: the host may be large.
class WorkerProcess {
 public:
  ~WorkerProcess() { stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Starts `program`; kUnsupported where it cannot be run.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program);

  /// Sends and waits. Nothing when the worker died, hung past `timeout_ms` or crashed, or `stop`
  /// was requested; then it is gone, and `ending` says why ("crashed: SIGSEGV at 0x10", "hung: no
  /// answer in 2000 ms", "stopped", ...).
  std::optional<Message> ask(const Message& message, int timeout_ms,
                             const std::stop_token& stop = {});
  /// Sends what has no answer.
  void tell(const Message& message) { channel_.send(message); }
  const std::string& ending() const { return ending_; }
  pid_t pid() const { return pid_; }
  /// Kills it and waits for it.
  void stop();

 private:
  WorkerProcess(pid_t pid, int fd) : pid_(pid), channel_(fd) {}

  pid_t pid_;
  Channel channel_;
  std::string ending_;
};

}  // namespace hone::runtime
