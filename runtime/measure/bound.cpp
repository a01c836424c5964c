// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/bound.h"

#include <algorithm>

#include "runtime/engine/plan.h"
#include "runtime/measure/work.h"

namespace hone::runtime {
namespace {

/// Elements between rows whose stride is given at the call, at most.
constexpr int64_t kApart = 16;

}  // namespace

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

std::vector<ir::Dim> dims_to_try(const ir::Program& program) {
  std::vector<ir::Dim> dims = program.dims;
  std::vector<int64_t> largest;
  for (const ir::Dim& d : dims) largest.push_back(d.hi);
  for (const ir::Buffer& b : program.buffers) {
    int64_t least = 1;
    for (size_t a = b.strides.size(); a-- > 0;) {
      int64_t stride = 0;
      if (!ir::is_const(b.strides[a], &stride)) {
        ir::Dim& open = *std::find_if(dims.begin(), dims.end(), [&](const ir::Dim& d) {
          return d.name == b.strides[a]->name;
        });
        open.lo = least;
        open.hi = stride = least + kApart;
      }
      const ir::Expr& extent = b.shape[b.axes.empty() ? a : static_cast<size_t>(b.axes[a].dim)];
      least = std::max<int64_t>(1, stride * evaluate(number_dims(extent, program.dims), largest));
    }
  }
  return dims;
}

std::vector<int64_t> timing_dims(const ir::Program& program) {
  std::vector<int64_t> dims;
  for (const ir::Dim& d : dims_to_try(program)) dims.push_back(d.at.empty() ? d.hi : d.at.back());
  return dims;
}

}  // namespace hone::runtime
