// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/assemble.h"

#include <atomic>
#include <chrono>

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Chosen: patience with workers that are late (not measured).
constexpr int kMeetings = 5;
constexpr auto kPatience = std::chrono::milliseconds(2);  // less than a turn of who has the core

/// Each worker comes once and waits for the others.
struct Meeting {
  int size;
  Clock::time_point deadline;
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};

  void attend() {
    arrived.fetch_add(1);
    while (Clock::now() < deadline && !met.load()) {
      if (arrived.load() == size) met.store(true);
    }
  }
};

}  // namespace

bool assemble(ThreadPool& pool) {
  for (int n = 0; n < kMeetings; ++n) {
    Meeting meeting{pool.size(), Clock::now() + kPatience, {}, {}};
    pool.parallel_for(
        meeting.size,
        // Who stands in for another is late: the deadline passes while it waits for itself.
        [](void* p, int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) static_cast<Meeting*>(p)->attend();
        },
        &meeting);
    if (meeting.met.load()) return true;
  }
  return false;
}

}  // namespace hone::runtime
