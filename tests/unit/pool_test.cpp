// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/pool.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/measure/assemble.h"

using namespace hone::runtime;

namespace {

struct Count {
  explicit Count(int64_t n) : hits(static_cast<size_t>(n)) {}
  std::vector<std::atomic<int>> hits;
  std::atomic<int> wrong_worker{0};
  int size = 0;
};

/// Runs a range of `n` and says whether each element was met once.
bool covers(hone::ThreadPool& pool, int64_t n) {
  Count count(n);
  count.size = pool.size();
  const auto task = [](void* context, int64_t begin, int64_t end, int worker) {
    auto& c = *static_cast<Count*>(context);
    if (worker < 0 || worker >= c.size) ++c.wrong_worker;
    for (; begin < end; ++begin) ++c.hits[static_cast<size_t>(begin)];
  };
  pool.parallel_for(n, task, &count);
  for (const auto& hit : count.hits) {
    if (hit != 1) return false;
  }
  return count.wrong_worker == 0;
}

}  // namespace

TEST_CASE("pool: workers can be waited for") {
  const auto pool = make_pool({.size = 2, .pin = false});
  // On a busy machine one try may fail; a pool that drops work would fail all.
  int met = 0;
  for (int i = 0; i < 20; ++i) met += assemble(*pool);
  CHECK(met > 0);
  const auto alone = make_pool({.size = 1});
  CHECK(assemble(*alone));
}

TEST_CASE("pool: covers every range once, whatever the sizes") {
  for (int size : {1, 2, 3, 8}) {
    const auto pool = make_pool({size, std::chrono::microseconds(20), true});
    CHECK(pool->size() == size);
    for (int64_t n : {0, 1, 2, 3, 7, 8, 9, 64, 1000}) CHECK(covers(*pool, n));
    // Parked workers wake, spinning ones answer.
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 0) usleep(500);
      REQUIRE(covers(*pool, i % 17));
    }
  }
}

TEST_CASE("pool: several threads use it at a time") {
  const auto pool = make_pool({3});
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) failures += covers(*pool, 5 + i % 60) ? 0 : 1;
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(failures == 0);
}

TEST_CASE("pool: a child after fork can drop its parent's pool") {
  auto pool = make_pool({2});
  CHECK(covers(*pool, 10));
  const pid_t child = fork();
  if (child == 0) {
    pool.reset();
    const auto own = make_pool({2});
    _exit(covers(*own, 100) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}
