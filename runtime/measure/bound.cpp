// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/call/plan.h"
#include "runtime/measure/work.h"

namespace hone::runtime {
namespace {

/// Elements between rows whose stride is given at the call, at most.
/// Chosen: a cache line of f32 (not measured).
constexpr int64_t kApart = 16;

/// How far clocks and rates may err: a kernel that beats the limit by more says that it is wrong.
/// Chosen: errors of clocks and rates, with room (not measured).
constexpr double kPastLimit = 1.05;

}  // namespace

TimeBound bound_of(const ir::Program& program, std::span<const int64_t> dims, Limits* limits) {
  return bound_of(work_of(program, dims, limits->target()), limits);
}

TimeBound bound_of(const Work& work, Limits* limits) {
  const double written = work.lines() > 0 ? work.written_lines / work.lines() : 0;
  const double bytes = limits->gbps(static_cast<int64_t>(work.footprint), written, work.updates);
  // The ceilings are of multiply-adds, two operations an instruction; other instructions take as
  // long, but additions may find ports of their own.
  double products = 0, all = 0;
  for (const bool doubles : {false, true}) {
    const Work::Slots& slots = doubles ? work.doubles : work.singles;
    if (slots.all <= 0) continue;
    products += 2 * (slots.all - slots.adds) / limits->gflops(doubles);
    all += 2 * slots.all / limits->mixed_gflops(doubles);
  }
  double flops_us = std::max(products, all) * 1e-3;
  for (const Work::Dots& d : work.dots) flops_us += 2 * d.products / limits->gops(*d.row) * 1e-3;
  double bytes_us = work.lines() / bytes * 1e-3;
  if (work.memory_lines > 0) {
    bytes_us = std::max(bytes_us, work.memory_lines / limits->memory_gbps() * 1e-3);
  }
  TimeBound b;
  b.flops_bind = flops_us > bytes_us;
  b.time_us = b.flops_bind ? flops_us : bytes_us;
  // Of whole lines only what is needed counts.
  b.limit = b.flops_bind ? work.operations / flops_us * 1e-3 : bytes;
  if (!b.flops_bind && bytes_us > 0) b.limit = work.bytes() / bytes_us * 1e-3;
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
      // A dim of one element may have any stride: what lies beyond it is no nearer.
      least = std::max(least, stride * evaluate(number_dims(extent, program.dims), largest));
    }
  }
  return dims;
}

std::vector<std::vector<int64_t>> timing_points(const ir::Program& program) {
  const std::vector<ir::Dim> dims = dims_to_try(program);
  size_t most = 1;
  for (const ir::Dim& d : dims) most = std::max(most, d.at.size());
  std::vector<std::vector<int64_t>> points(most);
  for (size_t i = 0; i < most; ++i) {
    for (const ir::Dim& d : dims) {
      points[i].push_back(d.at.empty() ? d.hi : d.at[std::min(i, d.at.size() - 1)]);
    }
  }
  return points;
}

std::vector<int64_t> timing_dims(const ir::Program& program) {
  return timing_points(program).back();
}

std::string text_of_dims(const ir::Program& program, std::span<const int64_t> dims) {
  std::string text;
  for (size_t i = 0; i < program.dims.size() && i < dims.size(); ++i) {
    text += fmt::format("{}{}={}", i > 0 ? " " : "", program.dims[i].name, dims[i]);
  }
  return text;
}

Share share_of(double limit_us, double time_us) {
  if (!(limit_us > 0) || !(time_us > 0)) return {};
  const double share = limit_us / time_us;
  if (share > kPastLimit) return {0, true};
  return {std::min(share, 1.0), false};
}

}  // namespace hone::runtime
