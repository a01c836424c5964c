// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/machine/host.h"
#include "runtime/threads/places.h"
#include "runtime/threads/waking.h"

namespace hone {

ThreadPool::~ThreadPool() = default;

namespace runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// What a worker's slot says; it parks only from kIdle.
enum State : uint32_t { kIdle, kPosted, kRunning, kParked, kQuit };

/// Pieces of a worker's share: enough to even out, few enough to keep the ranges long. Where others
/// sleep the caller tries a part of one first.
/// Chosen: a call that wakes them loses a small part of its time (not measured).
constexpr int64_t kPieces = 4, kParts = 8;

/// One worker's mailbox and its share of the range at hand.
struct alignas(64) Slot {
  std::atomic<uint32_t> state{kIdle};
  int64_t end = 0;
  bool posted = false;        ///< told of the job at hand; the caller's to know
  bool woken = false;         ///< by that
  Clock::time_point began{};  ///< with it, where woken
  /// On a line of its own: others take from here.
  alignas(64) std::atomic<int64_t> next{0};
};

void futex_wait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

class DefaultPool final : public ThreadPool {
 public:
  explicit DefaultPool(const PoolOptions& options);
  ~DefaultPool() override;
  int size() override { return size_; }
  void parallel_for(int64_t n, Task task, void* context) override;

 private:
  void serve(int worker);
  uint32_t await(Slot* slot);
  void deal(int64_t n, int workers);
  int post(int workers, bool wake);
  void work_until_waking(int workers);
  /// Who came to a job, and when.
  struct Came {
    int workers = 1;
    Waking::Duration after{0};
  };
  Came finish(int workers);
  void work(int worker);
  void keep_to_place(int worker);

  pid_t owner_ = getpid();
  int size_ = 1;
  std::chrono::microseconds spin_;
  std::vector<Slot> slots_;  ///< slot 0 is the caller's
  std::vector<std::thread> threads_;
  std::atomic<bool> busy_{false};
  Places places_;               ///< changed by who set busy_
  Waking waking_;               ///< the same
  Clock::time_point posted_{};  ///< when who slept was woken
  // The job at hand: written before a slot is posted, read by who found it so.
  Task task_ = nullptr;
  void* context_ = nullptr;
  int64_t grain_ = 1;
  std::atomic<int> active_{0};  ///< shares dealt out; workers beyond have none
};

DefaultPool::DefaultPool(const PoolOptions& options) : spin_(options.spin), waking_(options.spin) {
  const auto cores = options.cores.empty() ? usable_cores() : options.cores;
  int cpus = 0;
  for (const std::vector<int>& core : cores) cpus += static_cast<int>(core.size());
  const int size = options.size > 0 ? options.size : cpus;
  places_ = Places(cores, size);
  slots_ = std::vector<Slot>(static_cast<size_t>(std::max(size, 1)));
  for (int worker = 1; worker < size; ++worker) {
    try {
      threads_.emplace_back([this, worker] { serve(worker); });
    } catch (const std::system_error&) {
      return;  // the system gives no more threads: those that are there serve
    }
    size_ = worker + 1;
    keep_to_place(worker);
  }
}

/// A CPU may have been taken from the process since: then the thread stays where it may be.
void DefaultPool::keep_to_place(int worker) {
  if (worker >= size_) return;  // the system gave no such thread
  const cpu_set_t& cpus = places_.of(worker);
  pthread_setaffinity_np(threads_[static_cast<size_t>(worker) - 1].native_handle(), sizeof cpus,
                         &cpus);
}

DefaultPool::~DefaultPool() {
  // After fork the child has no such threads; waiting for them would never end.
  const bool ours = owner_ == getpid();
  for (size_t i = 1; i < static_cast<size_t>(size_) && ours; ++i) {
    if (slots_[i].state.exchange(kQuit) == kParked) futex_wake(&slots_[i].state);
  }
  for (std::thread& t : threads_) ours ? t.join() : t.detach();
}

uint32_t DefaultPool::await(Slot* slot) {
  Clock::time_point deadline = Clock::now() + spin_;
  for (int round = 0;; ++round) {
    uint32_t state = slot->state.load(std::memory_order_acquire);
    if (state == kPosted || state == kQuit) return state;
    if (round % 64 == 63 && Clock::now() > deadline) {
      if (state == kIdle && !slot->state.compare_exchange_strong(state, kParked)) continue;
      while (slot->state.load(std::memory_order_acquire) == kParked) {
        futex_wait(&slot->state, kParked);
      }
      deadline = Clock::now() + spin_;
    }
    _mm_pause();
  }
}

void DefaultPool::serve(int worker) {
  Slot& slot = slots_[static_cast<size_t>(worker)];
  while (await(&slot) != kQuit) {
    uint32_t expected = kPosted;
    // The caller takes a post back when all is done before this worker looked.
    if (!slot.state.compare_exchange_strong(expected, kRunning, std::memory_order_acquire)) {
      if (expected == kQuit) return;
      continue;
    }
    if (slot.woken) slot.began = Clock::now();
    work(worker);
    slot.state.store(kIdle, std::memory_order_release);
  }
}

void DefaultPool::work(int worker) {
  const int active = active_.load(std::memory_order_relaxed);
  for (int k = 0; k < active; ++k) {
    Slot& share = slots_[static_cast<size_t>((worker + k) % active)];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t begin = share.next.fetch_add(grain_, std::memory_order_relaxed);
      if (begin >= share.end) break;
      task_(context_, begin, std::min(begin + grain_, share.end), worker);
    }
  }
}

void DefaultPool::deal(int64_t n, int workers) {
  grain_ = std::max<int64_t>(1, n / (workers * kPieces));
  active_.store(workers, std::memory_order_relaxed);
  const int64_t whole = n / workers, rest = n % workers;
  int64_t begin = 0;
  for (int w = 0; w < workers; ++w) {
    Slot& slot = slots_[static_cast<size_t>(w)];
    slot.next.store(begin, std::memory_order_relaxed);
    begin += whole + (w < rest ? 1 : 0);
    slot.end = begin;
  }
}

/// Tells the workers of a job, and says how many of them sleep on.
int DefaultPool::post(int workers, bool wake) {
  int asleep = 0;
  for (int w = 1; w < workers; ++w) {
    Slot& slot = slots_[static_cast<size_t>(w)];
    if (slot.posted) continue;
    const uint32_t state = slot.state.load(std::memory_order_acquire);
    if (state == kParked && !wake) {
      ++asleep;
      continue;
    }
    slot.posted = true;
    slot.woken = state == kParked;
    if (slot.state.exchange(kPosted, std::memory_order_acq_rel) == kParked) {
      futex_wake(&slot.state);
    }
  }
  return asleep;
}

/// The caller's work while others sleep, until waking them pays or all is done.
void DefaultPool::work_until_waking(int workers) {
  int64_t done = 0;
  for (int k = 0; k < workers; ++k) {
    Slot& share = slots_[static_cast<size_t>(k)];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const int64_t part = std::max<int64_t>(1, grain_ / kParts);
      const int64_t piece = done < 2 * part ? part : grain_;
      const int64_t begin = share.next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= share.end) break;
      const int64_t end = std::min(begin + piece, share.end);
      task_(context_, begin, end, 0);
      done += end - begin;
      const Clock::time_point now = Clock::now();
      if (!waking_.pays(done, now)) continue;
      posted_ = now;
      post(workers, true);
      return;
    }
  }
}

/// Waits for the workers of a job. How many came, the caller included, and how long after they were
/// woken on average.
DefaultPool::Came DefaultPool::finish(int workers) {
  Came came;
  int woken = 0;
  for (int w = 1; w < workers; ++w) {
    Slot& slot = slots_[static_cast<size_t>(w)];
    if (!slot.posted) continue;
    uint32_t expected = kPosted;
    const bool unseen =
        slot.state.compare_exchange_strong(expected, kIdle, std::memory_order_acq_rel);
    // It runs its last piece; give way when that takes long or its CPU is busy with us.
    for (int round = 1; slot.state.load(std::memory_order_acquire) == kRunning; ++round) {
      round % 4096 == 0 ? static_cast<void>(sched_yield()) : _mm_pause();
    }
    if (slot.woken) {
      ++woken;
      came.after += (unseen ? Clock::now() : slot.began) - posted_;
    }
    came.workers += unseen ? 0 : 1;
    slot.posted = slot.woken = false;
  }
  if (woken > 0) came.after /= woken;
  return came;
}

void DefaultPool::parallel_for(int64_t n, Task task, void* context) {
  if (n <= 0) return;
  const int workers = static_cast<int>(std::min<int64_t>(n, size()));
  if (workers == 1 || busy_.exchange(true, std::memory_order_acquire)) {
    task(context, 0, n, 0);
    return;
  }
  // Nobody keeps the caller where it was: whoever has the core that it is on now makes room.
  if (const int worker = places_.enter(sched_getcpu()); worker > 0) keep_to_place(worker);
  task_ = task;
  context_ = context;
  deal(n, workers);
  const bool asleep = post(workers, false) > 0;
  if (asleep) {
    posted_ = Clock::now();
    waking_.begin(reinterpret_cast<size_t>(task), n, workers, posted_);
    waking_.pays_at_once() ? static_cast<void>(post(workers, true)) : work_until_waking(workers);
  }
  work(0);
  const Came came = finish(workers);
  if (asleep) waking_.end(came.workers, came.after, Clock::now());
  busy_.store(false, std::memory_order_release);
}

}  // namespace

std::unique_ptr<ThreadPool> make_pool(const PoolOptions& options) {
  return std::make_unique<DefaultPool>(options);
}

}  // namespace runtime
}  // namespace hone
