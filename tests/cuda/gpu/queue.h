// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace hone::tests {

struct Work;
using WorkRef = std::shared_ptr<Work>;

/// Something for the device to do, after other things.
struct Work {
  std::function<int()> run;    ///< what it does; the driver's error, 0 when all is well
  std::vector<WorkRef> after;  ///< what must be done before
  bool endless = false;        ///< is never done
  bool done = false;
  double ms = 0;  ///< when it was done, on the device's clock
};

/// What a device has to do, done by a thread of its own, in any order that the dependencies allow
/// and as late as callers let it: a dependency that is missing shows. The order follows from a
/// seed. All members are called with `mutex` held.
class Queue {
 public:
  Queue(std::mutex& mutex, uint64_t seed);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Takes work in; it may run at once, or when somebody waits.
  WorkRef add(std::function<int()> run, std::vector<WorkRef> after, bool endless = false);
  /// Waits for work to be done; for all of it when null.
  void finish(std::unique_lock<std::mutex>& lock, const WorkRef& work);
  /// Lets a little work run, as time does for a caller that polls.
  void poll();
  /// What failed first, 0 while nothing did. Nothing runs after it.
  int error() const { return error_; }
  /// Ends the thread; work that is left is dropped.
  void stop(std::unique_lock<std::mutex>& lock);

 private:
  void serve();
  WorkRef pick();

  std::mutex& mutex_;
  std::condition_variable wake_, done_;
  std::vector<WorkRef> pending_;
  std::mt19937_64 random_;
  int credit_ = 0, waiting_ = 0, error_ = 0;
  bool stop_ = false, running_ = false;
  std::thread thread_;
};

}  // namespace hone::tests
