// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/pool.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/machine/host.h"
#include "runtime/measure/assemble.h"
#include "runtime/threads/places.h"

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

void stay_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

/// Gives the thread back where it could run.
class Roaming {
 public:
  Roaming() { sched_getaffinity(0, sizeof set_, &set_); }
  ~Roaming() { sched_setaffinity(0, sizeof set_, &set_); }
  Roaming(const Roaming&) = delete;
  Roaming& operator=(const Roaming&) = delete;

 private:
  cpu_set_t set_;
};

/// Where the workers of one job ran.
struct Whereabouts {
  int caller = -1;  ///< the caller's CPU
  int size = 0;
  std::chrono::steady_clock::time_point deadline;
  std::atomic<int> arrived{0};
  std::atomic<int> beside{0};  ///< workers that shared the caller's CPU
  std::atomic<int> apart{0};   ///< workers that did not

  void attend(int worker) {
    if (worker > 0) ++(sched_getcpu() == caller ? beside : apart);
    ++arrived;
    while (arrived < size && std::chrono::steady_clock::now() < deadline) continue;
  }
};

/// Counts jobs on `pool` whose workers ran beside and apart from the caller, which stays on `cpu`.
void count_places(hone::ThreadPool& pool, int cpu, int jobs, int& beside, int& apart) {
  stay_on(cpu);
  for (int n = 0; n < jobs; ++n) {
    Whereabouts w;
    w.caller = cpu;
    w.size = pool.size();
    w.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(4);
    pool.parallel_for(
        w.size,
        [](void* p, int64_t begin, int64_t end, int worker) {
          for (; begin < end; ++begin) static_cast<Whereabouts*>(p)->attend(worker);
        },
        &w);
    beside += w.beside;
    apart += w.apart;
  }
}

/// CPUs of `worker` as a list.
std::vector<int> cpus_of(const Places& places, int worker) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &places.of(worker))) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

TEST_CASE("places: the worker on the caller's core makes room, and the others stay") {
  Places places({{0}, {1}, {2}}, 3);
  CHECK(places.enter(0) == 0);
  CHECK(cpus_of(places, 1) == std::vector{1});
  CHECK(cpus_of(places, 2) == std::vector{2});
  CHECK(places.enter(2) == 2);
  CHECK(cpus_of(places, 2) == std::vector{0});
  CHECK(places.enter(2) == 0);
  CHECK(places.enter(1) == 1);
  CHECK(cpus_of(places, 1) == std::vector{2});
  // A CPU that is nobody's, and no CPU at all.
  CHECK(places.enter(7) == 0);
  CHECK(places.enter(-1) == 0);
}

TEST_CASE("places: whole cores are dealt out, and CPUs where there are fewer cores") {
  // Cores 0 to 2 with siblings 4 to 6.
  const std::vector<std::vector<int>> cores = {{0, 4}, {1, 5}, {2, 6}};
  Places two(cores, 2);
  CHECK(cpus_of(two, 1) == std::vector{1, 5});
  CHECK(two.enter(5) == 1);
  CHECK(cpus_of(two, 1) == std::vector{0, 2, 4, 6});
  CHECK(two.enter(6) == 1);
  CHECK(cpus_of(two, 1) == std::vector{1, 5});
  Places five(cores, 5);
  CHECK(cpus_of(five, 3) == std::vector{4});
  CHECK(cpus_of(five, 0) == std::vector{0, 6});
  // More threads than CPUs share them all.
  Places many(cores, 7);
  CHECK(many.enter(5) == 0);
  CHECK(cpus_of(many, 6).size() == 6);
  CHECK(cpus_of(Places({{3}}, 1), 0) == std::vector{3});
}

TEST_CASE("pool: no worker shares the caller's core while another is free") {
  const Roaming roaming;
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) return;
  const auto cores = usable_cores();
  for (int size : {2, static_cast<int>(cpus.size())}) {
    const auto pool = make_pool({.size = size, .cores = cores});
    int beside = 0, apart = 0;
    for (int round = 0; round < 3; ++round) {
      for (int cpu : cpus) {
        const int before = apart;
        // On a busy machine a worker may come late to all calls of a batch.
        for (int batch = 0; batch < 50 && apart == before; ++batch) {
          count_places(*pool, cpu, 20, beside, apart);
        }
        CHECK(apart > before);
        if (round == 1) usleep(300);  // parked workers are moved too
      }
    }
    CHECK(beside == 0);
  }
}

TEST_CASE("pool: several pools and callers, each with its workers elsewhere") {
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) return;
  std::atomic<int> all_beside{0};
  std::vector<std::thread> callers;
  for (size_t t = 0; t < 3; ++t) {
    callers.emplace_back([&, t] {
      const auto pool = make_pool({.size = 2});
      int beside = 0, apart = 0;
      for (size_t k = 0; k < 12; ++k)
        count_places(*pool, cpus[(t + k) % cpus.size()], 3, beside, apart);
      all_beside += beside;
    });
  }
  for (std::thread& t : callers) t.join();
  CHECK(all_beside == 0);
}

TEST_CASE("pool: made by a thread that stays on one core, it has the cores that are named") {
  const Roaming roaming;
  const auto cores = usable_cores();
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) return;
  stay_on(cpus[1]);
  const auto pool = make_pool({.size = 2, .cores = cores});
  int beside = 0, apart = 0;
  count_places(*pool, cpus[1], 20, beside, apart);
  CHECK(beside == 0);
  CHECK(apart > 0);
}

TEST_CASE("pool: workers can be waited for") {
  const auto pool = make_pool({.size = 2});
  // On a busy machine one try may fail; a pool that drops work would fail all.
  int met = 0;
  for (int i = 0; i < 20; ++i) met += assemble(*pool);
  CHECK(met > 0);
  const auto alone = make_pool({.size = 1});
  CHECK(assemble(*alone));
}

TEST_CASE("pool: covers every range once, whatever the sizes") {
  for (int size : {1, 2, 3, 8}) {
    const auto pool = make_pool({size, std::chrono::microseconds(20)});
    CHECK(pool->size() == size);
    for (int64_t n : {0, 1, 2, 3, 7, 8, 9, 64, 1000}) CHECK(covers(*pool, n));
    // Parked workers wake, spinning ones answer.
    for (int i = 0; i < 200; ++i) {
      if (i % 50 == 0) usleep(500);
      REQUIRE(covers(*pool, i % 17));
    }
  }
}

TEST_CASE("pool: a short call leaves those asleep who sleep, a long one wakes them") {
  const auto pool = make_pool({2, std::chrono::microseconds(1)});
  const auto others = [&](std::chrono::microseconds each) {
    usleep(500);
    struct Job {
      std::chrono::microseconds each;
      std::atomic<int> by_others{0};
    } job{each, {}};
    const auto task = [](void* context, int64_t begin, int64_t end, int worker) {
      auto& j = *static_cast<Job*>(context);
      const auto until = std::chrono::steady_clock::now() + (end - begin) * j.each;
      while (j.each.count() > 0 && std::chrono::steady_clock::now() < until) {
      }
      if (worker > 0) j.by_others += static_cast<int>(end - begin);
    };
    pool->parallel_for(64, task, &job);
    return job.by_others.load();
  };
  // On a busy machine a short call may be interrupted, and a long one end before the other comes.
  int shared_short = 0, shared_long = 0;
  for (int i = 0; i < 20; ++i) {
    shared_short += others(std::chrono::microseconds(0)) > 0;
    shared_long += others(std::chrono::microseconds(50)) > 0;
  }
  CHECK(shared_short < 10);
  CHECK(shared_long > 0);
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
