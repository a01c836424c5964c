// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "include/hone/error.h"
#include "runtime/worker/message.h"

namespace hone::runtime {

/// Path of the hone-worker program: `given`, else HONE_WORKER, else beside the running program or
/// the library. There it is installed, or lies in the build tree of the program. Empty: nowhere.
std::string find_worker(const std::string& given);

/// The message where it is nowhere: how it is named, and where it was looked for.
Failure no_worker();

/// What the end of a worker says.
enum class Ending : uint8_t {
  kNone,     ///< it has not ended
  kCrashed,  ///< by a signal that code causes: a verdict on the candidate
  kHung,     ///< it was killed for its silence: a verdict as well
  kLate,     ///< it was silent when the caller's time was up
  kLost,     ///< killed from outside, or no worker at all: says nothing of the candidate
  kStopped,  ///< the caller asked for it
};

/// How long to wait for an answer.
struct Patience {
  using Clock = std::chrono::steady_clock;

  /// Longer silence is a hang. A worker that says it is busy has ten times as long in all.
  int most_ms = 1'000'000'000;
  /// When the caller's time is up: then a worker has `moment_ms` since it last said a word.
  Clock::time_point until = Clock::time_point::max() - std::chrono::hours(1000);
  int moment_ms = 3000;
};

/// A worker process and the line to it. Spawned, never forked: the host may be large.
class WorkerProcess {
 public:
  ~WorkerProcess() { stop(); }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Starts `program`; kUnsupported where it cannot be run.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program);

  /// Sends a message and waits for the answer. Nothing when the worker died, was silent for too
  /// long, answered nonsense, or `stop` was requested. The worker is then gone, and `ending` and
  /// `why` say how. Examples: "crashed: SIGSEGV at 0x10", "hung: no answer in 2000 ms", "killed: by
  /// signal 9".
  std::optional<Message> ask(const Message& message, const Patience& patience,
                             const std::stop_token& stop = {});
  /// Sends what has no answer.
  void tell(const Message& message) { channel_.send(message); }
  Ending ending() const { return ending_; }
  const std::string& why() const { return why_; }
  /// The worker answered what no worker does: it is ended.
  void disown(const std::string& why) { end(Ending::kLost, "no worker: " + why); }
  pid_t pid() const { return pid_; }
  /// Kills it and waits for it.
  void stop();

 private:
  WorkerProcess(pid_t pid, int fd) : pid_(pid), channel_(fd) {}
  std::optional<Message> await(const Patience& patience, const std::stop_token& stop);
  std::optional<Message> heard(Message message);
  void end(Ending ending, std::string why);
  bool exited() const;
  void bury();

  pid_t pid_;
  Channel channel_;
  Ending ending_ = Ending::kNone;
  std::string why_;
};

}  // namespace hone::runtime
