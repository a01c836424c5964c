// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/stopwatch.h"

#include <chrono>
#include <thread>

#include "runtime/fine.h"

namespace hone::runtime {

Stopwatch::~Stopwatch() {
  if (gpu_.lost()) return;
  if (begin_) gpu_.driver().event_destroy(begin_);
  if (end_) gpu_.driver().event_destroy(end_);
}

Result<Done> Stopwatch::start() {
  const jit::CudaDriver& driver = gpu_.driver();
  int error = begin_ ? 0 : driver.event_create(&begin_, 0);
  if (error == 0 && !end_) error = driver.event_create(&end_, 0);
  if (error == 0) error = driver.event_record(begin_, gpu_.stream());
  return error == 0 ? fine() : gpu_.failed(error, "starting a clock");
}

/// Until the work is over, or the time is; what the driver said.
int Stopwatch::wait(bool* in_time) {
  // Fixed by: the driver's ABI.
  constexpr int kNotReady = 600;
  // Chosen: work that ends sooner than a sleep does (not measured).
  constexpr auto kAwake = std::chrono::milliseconds(2);  // most work ends sooner than sleep does
  constexpr auto kNap = std::chrono::microseconds(200);
  using Clock = std::chrono::steady_clock;
  const jit::CudaDriver& driver = gpu_.driver();
  if (gpu_.wait_ms() == 0) return driver.event_synchronize(end_);
  const auto begun = Clock::now(), last = begun + std::chrono::milliseconds(gpu_.wait_ms());
  while (true) {
    const int error = driver.event_query(end_);
    if (error != kNotReady) return error;
    const auto now = Clock::now();
    if (now > last) *in_time = false;
    if (now > last) return 0;
    if (now - begun < kAwake) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

Result<Done> Stopwatch::stop(double* us) {
  const jit::CudaDriver& driver = gpu_.driver();
  float ms = 0;
  bool in_time = true;
  int error = driver.event_record(end_, gpu_.stream());
  if (error == 0) error = wait(&in_time);
  if (!in_time) return gpu_.given_up("running a kernel");
  if (error == 0) error = driver.event_elapsed(&ms, begin_, end_);
  if (error != 0) return gpu_.failed(error, "running a kernel");
  *us = 1000.0 * static_cast<double>(ms);
  return Done{};
}

}  // namespace hone::runtime
