// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/enqueue.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <iostream>
#include <span>
#include <vector>

#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/kernel_state.h"

namespace hone::bench {
namespace {

using runtime::KernelState;

/// Calls of a sample: fewer than what a driver holds back when its queue is full.
constexpr int kCalls = 100;

struct Case {
  const char* what;
  const char* problem;
  const char* schedule;
  int64_t bytes[3];  ///< of the tensors of the call, in order; 0: there are fewer
};

constexpr const char* kThree = "inline e; bind m/i thread.x; bind s/i thread.x; bind Y/i thread.x";

constexpr Case kCases[] = {
    {"1 launch", "add N=1000", "bind Y/i block.x", {4000, 4000, 4000}},
    {"1 launch, a dim of the call", "add N=1..1000", "bind Y/i block.x", {4000, 4000, 4000}},
    {"3 launches", "softmax M=4 N=100", kThree, {1600, 1600, 0}},
    {"3 launches, a dim of the call", "softmax M=1..4 N=100", kThree, {1600, 1600, 0}},
};

double processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// What the driver is told of a launch.
struct Launch {
  void* function;
  std::array<unsigned, 3> blocks, threads;
  unsigned dynamic_bytes;
};

/// A kernel with its arguments, enqueued by hone and by the driver's own function.
class Subject {
 public:
  Subject(std::shared_ptr<const KernelState> kernel, void* stream)
      : kernel_(std::move(kernel)), gpu_(kernel_->gpu->gpu()), stream_(stream) {}
  ~Subject() {
    for (const auto& [memory, bytes] : memory_) gpu_.memory().release(memory, bytes);
  }
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  Result<Done> prepare(const Case& c) {
    for (size_t i = 0; i < kernel_->plan.params.size(); ++i) {
      auto memory = hold(c.bytes[i]);
      if (!memory) return memory.failure();
      tensors_.emplace_back(reinterpret_cast<float*>(*memory), shape_of(i));
    }
    refs_.assign(tensors_.begin(), tensors_.end());
    auto workspace = hold(std::max<int64_t>(kernel_->workspace_bytes(), 1));
    if (!workspace) return workspace.failure();
    auto f = kernel_->fill(refs_, nullptr, slots_);
    if (!f) return f.failure();
    slots_[ir::ArgsLayout::kStatus] = static_cast<int64_t>(gpu_.fine());
    slots_[ir::ArgsLayout::kWorkspace] = static_cast<int64_t>(*workspace);
    const auto& dims = kernel_->layout.dim_slots;
    for (const runtime::LaunchPlan& l : kernel_->launches) {
      const auto index = static_cast<size_t>(l.index);
      const runtime::GpuLaunch& launch = kernel_->gpu->program->launches()[index];
      std::array<int64_t, 3> blocks{};
      kernel_->gpu->program->blocks_of(index, {slots_ + (dims.empty() ? 0 : dims[0]), dims.size()},
                                       &blocks);
      launches_.push_back({launch.function,
                           {static_cast<unsigned>(blocks[0]), static_cast<unsigned>(blocks[1]),
                            static_cast<unsigned>(blocks[2])},
                           launch.threads,
                           launch.dynamic_bytes});
    }
    return Done{};
  }

  size_t launches() const { return launches_.size(); }
  Result<Done> by_hone() const { return kernel_->enqueue(refs_, {stream_, {}, nullptr}, nullptr); }
  Result<Done> by_driver() {
    void* parameters[] = {slots_};
    for (const Launch& l : launches_) {
      const int error = gpu_.driver().launch(l.function, l.blocks[0], l.blocks[1], l.blocks[2],
                                             l.threads[0], l.threads[1], l.threads[2],
                                             l.dynamic_bytes, stream_, parameters, nullptr);
      if (error != 0) return gpu_.failed(error, "launching");
    }
    return Done{};
  }

 private:
  Result<uint64_t> hold(int64_t bytes) {
    auto memory = gpu_.memory().hold(bytes);
    if (memory) memory_.emplace_back(*memory, bytes);
    return memory;
  }

  /// The shape of a parameter with dims of the call at their largest.
  std::vector<int64_t> shape_of(size_t param) const {
    std::vector<int64_t> largest, shape;
    for (const ir::Dim& d : kernel_->plan.dims) largest.push_back(d.hi);
    for (const ir::Expr& e : kernel_->plan.params[param].extents) {
      shape.push_back(runtime::evaluate(e, largest));
    }
    return shape;
  }

  std::shared_ptr<const KernelState> kernel_;
  runtime::Gpu& gpu_;
  void* stream_;
  std::vector<std::pair<uint64_t, int64_t>> memory_;
  std::vector<TensorRef> tensors_;
  std::vector<ArgRef> refs_;
  std::vector<Launch> launches_;
  int64_t slots_[runtime::kMaxSlots] = {};
};

/// Processor time of one call in nanoseconds, a sample; then waits.
template <class F>
Result<double> sample(runtime::Gpu& gpu, void* stream, const F& call) {
  Result<Done> said = Done{};
  const double begin = processor_ns();
  for (int i = 0; i < kCalls && said; ++i) said = call();
  const double end = processor_ns();
  if (!said) return said.failure();
  if (const int error = gpu.driver().stream_synchronize(stream)) {
    return gpu.failed(error, "waiting for a stream");
  }
  return (end - begin) / kCalls;
}

Result<Done> measure(const Options& options, runtime::EngineState& engine, const Case& c,
                     void* stream) {
  auto problem = engine.parse(c.problem);
  if (!problem) return problem.failure();
  auto kernel = engine.compile_given(*problem, c.schedule);
  if (!kernel) return kernel.failure();
  runtime::Gpu& gpu = (*kernel)->gpu->gpu();
  Subject subject(*kernel, stream);
  if (auto f = subject.prepare(c); !f) return f.failure();
  std::vector<double> ours, theirs, over;
  for (int round = -2; round < options.rounds; ++round) {
    const auto by_driver = sample(gpu, stream, [&] { return subject.by_driver(); });
    if (!by_driver) return by_driver.failure();
    const auto by_hone = sample(gpu, stream, [&] { return subject.by_hone(); });
    if (!by_hone) return by_hone.failure();
    if (round < 0) continue;
    theirs.push_back(*by_driver);
    ours.push_back(*by_hone);
    over.push_back(*by_hone - *by_driver);
  }
  if (options.common.json) {
    runtime::print_line({{"group", "enqueue"},
                         {"problem", c.problem},
                         {"launches", subject.launches()},
                         {"driver_ns", median(theirs)},
                         {"enqueue_ns", median(ours)},
                         {"over_ns", median(over)}});
  } else {
    std::cout << fmt::format("{:<42}{:>10.0f}{:>10.0f}{:>10.0f}\n", c.what, median(theirs),
                             median(ours), median(over));
  }
  return Done{};
}

}  // namespace

bool wants_enqueue(const Options& options) {
  const auto& names = options.groups;
  if (std::find(names.begin(), names.end(), "enqueue") != names.end()) return true;
  return names.empty() && options.problems.empty() && options.minutes == 0;
}

int run_enqueue(const Options& options, runtime::EngineState& engine) {
  runtime::Gpu& gpu = *engine.services->gpu();
  const runtime::UseGpu use(gpu);
  void* stream = nullptr;
  if (const int error = gpu.driver().stream_create(&stream, 1)) {
    return runtime::report(options.common, gpu.failed(error, "making a stream"));
  }
  if (!options.common.json) {
    std::cout << fmt::format("\n{:<42}{:>10}{:>10}{:>10}\n", "enqueue, ns of processor time a call",
                             "driver", "hone", "over");
  }
  Result<Done> said = Done{};
  for (const Case& c : kCases) {
    said = measure(options, engine, c, stream);
    if (!said) break;
  }
  if (!gpu.lost()) gpu.driver().stream_destroy(stream);
  return said ? runtime::kExitOk : runtime::report(options.common, said.failure());
}

}  // namespace hone::bench
