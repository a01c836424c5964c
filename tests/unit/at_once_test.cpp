// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/at_once.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

using hone::runtime::at_once;

TEST_CASE("at once: each task runs once, whatever the number of threads") {
  for (const int threads : {-1, 0, 1, 2, 7}) {
    for (const size_t count : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> ran(count);
      at_once(count, threads, [&](size_t i) { ++ran[i]; });
      for (const std::atomic<int>& times : ran) CHECK(times == 1);
    }
  }
}

TEST_CASE("at once: tasks that wait for each other are on threads of their own") {
  std::atomic<int> here = 0;
  at_once(3, 3, [&](size_t) {
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  CHECK(here == 3);
}

TEST_CASE("at once: an exception reaches the caller, and no task is begun after it") {
  for (const int threads : {1, 4}) {
    std::atomic<int> ran = 0;
    CHECK_THROWS_WITH_AS(at_once(1000, threads,
                                 [&](size_t) {
                                   if (++ran == 3) throw std::runtime_error("third");
                                   std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                 }),
                         "third", std::runtime_error);
    CHECK(ran < 100);
  }
}
