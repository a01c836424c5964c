// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu/queue.h"

#include <algorithm>
#include <chrono>

namespace hone::tests {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Queue::Queue(std::mutex& mutex, uint64_t seed)
    : mutex_(mutex), random_(seed), thread_([this] { serve(); }) {}

Queue::~Queue() {
  if (thread_.joinable()) thread_.join();
}

void Queue::stop(std::unique_lock<std::mutex>& lock) {
  stop_ = true;
  wake_.notify_all();
  lock.unlock();
  thread_.join();
  lock.lock();
}

WorkRef Queue::add(std::function<int()> run, std::vector<WorkRef> after, bool endless) {
  auto work = std::make_shared<Work>();
  std::erase_if(after, [](const WorkRef& w) { return !w || w->done; });
  work->run = std::move(run);
  work->after = std::move(after);
  work->endless = endless;
  if (error_) {
    work->done = true;
    return work;
  }
  pending_.push_back(work);
  // Sometimes nothing runs until somebody waits, sometimes most of it has.
  const uint64_t chance = random_() % 4;
  if (chance) credit_ += static_cast<int>(chance) - 1;
  if (credit_ || waiting_) wake_.notify_all();
  return work;
}

void Queue::poll() {
  credit_ += 2;
  wake_.notify_all();
}

void Queue::finish(std::unique_lock<std::mutex>& lock, const WorkRef& work) {
  ++waiting_;
  wake_.notify_all();
  done_.wait(lock, [&] { return work ? work->done : pending_.empty() && !running_; });
  --waiting_;
}

WorkRef Queue::pick() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < pending_.size(); ++i) {
    std::erase_if(pending_[i]->after, [](const WorkRef& w) { return w->done; });
    if (pending_[i]->after.empty() && !pending_[i]->endless) ready.push_back(i);
  }
  if (ready.empty()) return nullptr;
  const size_t at = ready[random_() % ready.size()];
  WorkRef out = pending_[at];
  pending_.erase(pending_.begin() + static_cast<int64_t>(at));
  return out;
}

void Queue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    WorkRef work;
    wake_.wait(lock, [&] {
      if (stop_) return true;
      if (waiting_ == 0 && credit_ == 0) return false;
      work = pick();
      if (!work) credit_ = 0;
      return work != nullptr;
    });
    if (stop_) return;
    if (credit_ > 0) --credit_;
    int failed = 0;
    running_ = true;
    if (work->run) {
      lock.unlock();
      failed = work->run();
      work->run = nullptr;
      lock.lock();
    }
    running_ = false;
    work->done = true;
    work->ms = now_ms();
    if (failed) {
      error_ = failed;
      for (const WorkRef& w : pending_) w->done = true;
      pending_.clear();
    }
    done_.notify_all();
  }
}

}  // namespace hone::tests
