// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hone::runtime {
namespace {

class Tasks {
 public:
  Tasks(size_t count, const std::function<void(size_t)>& task) : count_(count), task_(task) {}

  void work() {
    for (size_t i = next_++; i < count_; i = next_++) {
      try {
        task_(i);
      } catch (...) {
        next_ = count_;
        const std::lock_guard lock(mutex_);
        if (!thrown_) thrown_ = std::current_exception();
      }
    }
  }

  void tell() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  size_t count_;
  const std::function<void(size_t)>& task_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

}  // namespace

void at_once(size_t count, int threads, const std::function<void(size_t)>& task) {
  Tasks tasks(count, task);
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(count, static_cast<size_t>(std::max(threads, 1)))) {
        others.emplace_back([&tasks] { tasks.work(); });
      }
    } catch (const std::system_error&) {
      // Those that there are do it.
    }
    tasks.work();
  }
  tasks.tell();
}

}  // namespace hone::runtime
