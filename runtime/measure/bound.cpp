// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/bound.h"

#include "runtime/measure/work.h"

namespace hone::runtime {

TimeBound bound_of(const ir::Program& program, std::span<const int64_t> dims, Limits* limits) {
  const Work work = work_of(program, dims, limits->target());
  const double flops = limits->gflops(work.doubles);
  const bool copies = work.bytes_written > 0.25 * work.bytes();
  const double bytes = limits->gbps(static_cast<int64_t>(work.bytes()), copies);
  // The ceiling is of multiply-adds, two operations an instruction; other instructions take as
  // long.
  double flops_us = 2 * work.slots / flops * 1e-3;
  for (const Work::Dots& d : work.dots) flops_us += 2 * d.products / limits->gops(*d.row) * 1e-3;
  const double bytes_us = work.bytes() / bytes * 1e-3;
  TimeBound b;
  b.flops_bind = flops_us > bytes_us;
  b.time_us = b.flops_bind ? flops_us : bytes_us;
  b.limit = b.flops_bind ? work.operations / flops_us * 1e-3 : bytes;
  return b;
}

std::vector<int64_t> timing_dims(const ir::Program& program) {
  std::vector<int64_t> dims;
  for (const ir::Dim& d : program.dims) dims.push_back(d.at.empty() ? d.hi : d.at.back());
  return dims;
}

}  // namespace hone::runtime
