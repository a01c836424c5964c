// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/machine/probes.h"
#include "runtime/measure/assemble.h"
#include "runtime/measure/gpu_limits.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Chosen: time for the probes; memory beyond all caches (not measured).
constexpr int kMostTries = 12, kLeastTries = 3;
constexpr double kLongEnough = 3e-3;         // seconds of one probe, once it has the least tries
constexpr int64_t kPass = int64_t{2} << 20;  // bytes of a try, at least
constexpr int64_t kUnit = 3072;              // of what a pass over memory takes
constexpr int64_t kLeastFar = int64_t{64} << 20;  // past all caches, at least and at most
constexpr int64_t kMostFar = int64_t{512} << 20;
constexpr double kHardlyWritten = 0.03;

/// Runs `f(worker)` on every worker at once.
template <class F>
void on_all(ThreadPool* pool, int threads, F&& f) {
  if (!pool || threads <= 1) {
    f(0);
    return;
  }
  pool->parallel_for(
      threads,
      [](void* context, int64_t begin, int64_t end, int) {
        for (; begin < end; ++begin) (*static_cast<std::remove_reference_t<F>*>(context))(begin);
      },
      &f);
}

/// The shortest of several runs of `f(worker)` on every worker, in seconds. One that began before
/// all had a core of their own, as where one shares the caller's, counts only if all did.
template <class F>
double shortest(ThreadPool* pool, int threads, F&& f) {
  const bool several = pool && threads > 1;
  double best = 0, lame = 0, spent = 0;
  for (int i = 0; i <= kMostTries && (i <= kLeastTries || spent < kLongEnough); ++i) {
    const bool all = !several || assemble(*pool);
    const auto begin = Clock::now();
    on_all(pool, threads, f);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    spent += seconds;
    if (i == 0) continue;  // caches and clocks warm up
    double& counts = all ? best : lame;
    if (counts == 0 || seconds < counts) counts = seconds;
  }
  return best > 0 ? best : lame;
}

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory allocate(int64_t bytes) {
  const int64_t whole = (bytes + 4095) / 4096 * 4096;
  Memory memory(static_cast<char*>(std::aligned_alloc(4096, static_cast<size_t>(whole))));
  if (memory) std::memset(memory.get(), 1, static_cast<size_t>(whole));
  return memory;
}

/// An odd number of units: the runs that a pass walks side by side do not lie 4096 bytes apart.
int64_t part_of(int64_t bytes, int64_t threads) {
  return std::max<int64_t>(bytes / threads / kUnit - 1, 0) / 2 * 2 * kUnit + kUnit;
}

}  // namespace

int64_t footprint_class(int64_t footprint, const ir::Target& target) {
  const int64_t near = target.l1d * target.threads * 2 / 3;
  const int64_t l3 = std::max(target.l3, target.l2 * target.threads);
  if (footprint <= near) return near;
  // A cache that is shared may hold more than is told, or less: rates change up to there.
  const double steps = footprint > 4 * l3 ? 1 : 4;
  const double floor = std::floor(std::log2(static_cast<double>(footprint)) * steps) / steps;
  const auto size = static_cast<int64_t>(std::exp2(floor));
  return std::clamp(size, near, std::clamp(l3 * 4, kLeastFar, kMostFar));
}

double Limits::arithmetic(const std::string& name, void (*run)(), double operations) {
  return ceilings_.rate(name, [pool = pool_, threads = target_.threads, run, operations] {
    const double seconds = shortest(pool, threads, [run](int64_t) { run(); });
    return 1e-9 * operations * threads / seconds;
  });
}

double Limits::gflops(bool doubles) {
  if (gpu_) return gpu_gflops(target_, doubles);
  const ArithmeticProbe probe = multiply_adds(target_.vector_bytes(), doubles);
  return arithmetic(doubles ? "f64" : "f32", probe.run, probe.operations);
}

double Limits::mixed_gflops(bool doubles) {
  if (gpu_) return gpu_gflops(target_, doubles);
  const ArithmeticProbe probe = mixed_arithmetic(target_.vector_bytes(), doubles);
  const double mixed = arithmetic(doubles ? "f64 mixed" : "f32 mixed", probe.run, probe.operations);
  return std::max(mixed, gflops(doubles));
}

double Limits::gops(const ir::Instruction& row) {
  if (gpu_) return gpu_tensor_gflops(target_, row.a);
  const ArithmeticProbe probe = dot_products(target_.vector_bytes(), row);
  return arithmetic(row.name, probe.run, probe.operations);
}

/// The best way there is to move memory of one kind, over `bytes` in all; each thread has its part.
double Limits::traffic(const std::string& name, int64_t bytes, int kind) {
  return ceilings_.rate(name, [pool = pool_, target = target_, bytes, kind] {
    const int64_t threads = target.threads, part = part_of(bytes, threads);
    const Memory memory = allocate(part * threads);
    if (!memory) return 0.0;
    const auto repeat = static_cast<int>(std::clamp<int64_t>(kPass / (part * threads), 1, 4096));
    double best = 0;
    for (const MemoryProbe* p = memory_probes(target.vector_bytes()); p->run; ++p) {
      // Stores around the caches are the better way past them alone.
      const bool idle = p->around && bytes <= target.l2 * threads;
      if (static_cast<int>(p->traffic) != kind || idle) continue;
      const double seconds = shortest(pool, target.threads, [&](int64_t t) {
        for (int i = 0; i < repeat; ++i) p->run(memory.get() + t * part, part);
      });
      const int64_t moved = part * threads * repeat * (p->traffic == Traffic::kUpdate ? 2 : 1);
      best = std::max(best, 1e-9 * static_cast<double>(moved) / seconds);
    }
    return best;
  });
}

/// Past half of the device's cache, the memory's speed counts.
double Limits::gpu_gbps(int64_t footprint) {
  const int64_t l2 = target_.l2 > 0 ? target_.l2 : int64_t{1} << 20;
  const bool cached = footprint <= l2 / 2;
  return ceilings_.rate(cached ? "l2 copy" : "memory copy", [gpu = gpu_, cached, l2] {
    const auto large = std::min<int64_t>(int64_t{1} << 30, gpu->facts().memory / 8);
    const auto measured = gpu_copy_gbps(*gpu, cached ? l2 / 2 : large);
    return measured ? *measured : 0.0;
  });
}

/// Between two kinds of traffic whose rates were measured the better one bounds.
double Limits::gbps(int64_t footprint, double written, bool updated) {
  if (gpu_) return gpu_gbps(footprint);
  constexpr struct {
    Traffic kind;
    double written;
    const char* name;
  } kKinds[] = {{Traffic::kRead, 0, "read"},
                {Traffic::kTriad, 1.0 / 3, "triad"},
                {Traffic::kCopy, 1.0 / 2, "copy"},
                {Traffic::kFill, 1, "fill with ones"}};
  const int64_t bytes = footprint_class(footprint, target_);
  double best = 0;
  if (updated) {
    best = traffic(fmt::format("update {}", bytes), bytes, static_cast<int>(Traffic::kUpdate));
  }
  for (size_t k = 0; k < std::size(kKinds); ++k) {
    const double below = k > 0 ? kKinds[k - 1].written : -1;
    const double above = k + 1 < std::size(kKinds) ? kKinds[k + 1].written : 2;
    if (written <= below + kHardlyWritten || written >= above - kHardlyWritten) continue;
    const std::string name = fmt::format("{} {}", kKinds[k].name, bytes);
    best = std::max(best, traffic(name, bytes, static_cast<int>(kKinds[k].kind)));
  }
  return best;
}

}  // namespace hone::runtime
