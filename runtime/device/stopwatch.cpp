// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/stopwatch.h"

namespace hone::runtime {

Stopwatch::~Stopwatch() {
  if (gpu_.lost()) return;
  if (begin_) gpu_.driver().event_destroy(begin_);
  if (end_) gpu_.driver().event_destroy(end_);
}

Failure Stopwatch::start() {
  const jit::CudaDriver& driver = gpu_.driver();
  int error = begin_ ? 0 : driver.event_create(&begin_, 0);
  if (error == 0 && !end_) error = driver.event_create(&end_, 0);
  if (error == 0) error = driver.event_record(begin_, gpu_.stream());
  return error == 0 ? Failure{ErrorCode::kOk, {}} : gpu_.failed(error, "starting a clock");
}

Failure Stopwatch::stop(double* us) {
  const jit::CudaDriver& driver = gpu_.driver();
  float ms = 0;
  int error = driver.event_record(end_, gpu_.stream());
  if (error == 0) error = driver.event_synchronize(end_);
  if (error == 0) error = driver.event_elapsed(&ms, begin_, end_);
  if (error != 0) return gpu_.failed(error, "running a kernel");
  *us = 1000.0 * static_cast<double>(ms);
  return {ErrorCode::kOk, {}};
}

}  // namespace hone::runtime
