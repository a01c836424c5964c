// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "bench/cuda/clock.h"
#include "bench/cuda/enqueue.h"
#include "bench/cuda/peer.h"
#include "bench/cuda/results.h"
#include "bench/cuda/torch.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/measure/work.h"
#include "schedules/space/space.h"

namespace hone::bench {
namespace {

using Kernel = std::shared_ptr<const runtime::KernelState>;

constexpr size_t kCompared = 1 << 20;

/// A kernel's arguments for each operand set.
class Arguments {
 public:
  explicit Arguments(const GpuOperands& o) {
    for (size_t set = 0; set < o.sets(); ++set) {
      for (size_t p = 0; p < o.count(); ++p) {
        const jit::TensorView v = o.view(set, p);
        tensors_.emplace_back(v.data, v.type, v.shape, v.strides);
      }
    }
    for (size_t i = 0; i < o.scalars().size(); ++i) {
      scalars_.push_back(ScalarArg(o.scalars()[i]));
    }
    for (size_t set = 0; set < o.sets(); ++set) {
      std::vector<ArgRef> refs;
      size_t tensor = set * o.count(), scalar = 0;
      for (const bool is_tensor : order_of(o)) {
        refs.push_back(is_tensor ? ArgRef(tensors_[tensor++]) : ArgRef(scalars_[scalar++]));
      }
      refs_.push_back(std::move(refs));
    }
  }
  std::span<const ArgRef> of(size_t set) const { return refs_[set]; }

 private:
  /// Tensors before scalars: a call takes each in its own order.
  static std::vector<bool> order_of(const GpuOperands& o) {
    std::vector<bool> order(o.count(), true);
    order.resize(o.count() + o.scalars().size(), false);
    return order;
  }

  std::vector<TensorRef> tensors_;
  std::vector<ScalarArg> scalars_;
  std::vector<std::vector<ArgRef>> refs_;
};

class GpuBench {
 public:
  GpuBench(const Options& options, std::shared_ptr<runtime::EngineState> engine,
           std::unique_ptr<GpuClock> clock, GpuResults& results)
      : options_(options), engine_(std::move(engine)), clock_(std::move(clock)), results_(results) {
    std::vector<std::string> missing;
    if (options_.peers) peers_ = gpu_peers(clock_->stream(), &missing);
    for (const std::string& m : missing) std::cerr << m << " is not here, done without\n";
  }

  Result<Done> copy_bandwidth() {
    auto gbps = clock_->copy_gbps(options_.rounds);
    if (!gbps) return gbps.failure();
    results_.set_copy_gbps(*gbps);
    return Done{};
  }

  /// Runs one problem; what goes wrong becomes a row.
  void run(const GpuGroup& group, const std::string& text) {
    results_.begin(text);
    row_ = GpuRow{text, "hone", 0, 0, 0, {}};
    if (auto f = try_run(group, text); !f) {
      row_.error = f.failure().message;
      results_.add(row_);
    }
    results_.finish(text);
  }

 private:
  Result<Done> try_run(const GpuGroup& group, const std::string& text);
  Result<Done> add_kernels(const ops::Problem& problem, std::shared_ptr<GpuOperands> operands,
                           std::vector<GpuContender>& contenders);
  GpuContender contender(std::string name, Kernel kernel, std::shared_ptr<GpuOperands> operands);
  void add_peers(const std::shared_ptr<GpuOperands>& operands,
                 std::vector<GpuContender>& contenders);
  Result<Done> compare(const GpuOperands& operands, GpuContender& ours, GpuContender& theirs);

  const Options& options_;
  std::shared_ptr<runtime::EngineState> engine_;
  std::unique_ptr<GpuClock> clock_;
  GpuResults& results_;
  std::vector<GpuPeer> peers_;
  GpuRow row_;  ///< what is common to the rows of a problem
};

GpuContender GpuBench::contender(std::string name, Kernel kernel,
                                 std::shared_ptr<GpuOperands> operands) {
  auto arguments = std::make_shared<Arguments>(*operands);
  EnqueueOptions options;
  options.stream = clock_->stream();
  return {std::move(name),
          [=](size_t set) { return kernel->enqueue(arguments->of(set), options, nullptr); },
          {}};
}

Result<Done> GpuBench::add_kernels(const ops::Problem& problem,
                                   std::shared_ptr<GpuOperands> operands,
                                   std::vector<GpuContender>& contenders) {
  if (options_.tuning.count() > 0) {
    TuneOptions tuning;
    tuning.budget = options_.tuning;
    if (auto tuned = engine_->tune(engine_->parse(problem.text), tuning); !tuned) {
      return tuned.failure();
    }
  }
  const std::string plain = schedules::default_schedule(problem.program, engine_->target).text();
  auto untuned = engine_->compile_given(problem, plain);
  if (!untuned) return untuned.failure();
  contenders.push_back(contender("hone", *untuned, operands));
  for (const std::string& form : options_.forms) {
    // What compiles kernels asks the environment for forms.
    ::setenv("HONE_CUDA_AB", form.c_str(), 1);
    auto other = engine_->compile_given(problem, plain);
    ::unsetenv("HONE_CUDA_AB");
    if (!other) return other.failure();
    contenders.push_back(contender("hone, " + form, *other, operands));
  }
  auto chosen = engine_->compile(problem, CompileOptions{});
  if (!chosen) return chosen.failure();
  if ((*chosen)->source == Source::kTuned) {
    contenders.push_back(contender("hone tuned", *chosen, operands));
  }
  return Done{};
}

void GpuBench::add_peers(const std::shared_ptr<GpuOperands>& operands,
                         std::vector<GpuContender>& contenders) {
  for (const GpuPeer& peer : peers_) {
    auto solve = peer.prepare(operands);
    if (!solve) continue;
    // A library may know a problem and yet refuse its sizes.
    if (const int code = solve(0)) {
      GpuRow row = row_;
      row.contender = peer.name;
      row.error = fmt::format("error {}", code);
      results_.add(row);
      continue;
    }
    contenders.push_back(
        {peer.name,
         [solve, name = peer.name](size_t set) -> Result<Done> {
           const int code = solve(set);
           if (code == 0) return Done{};
           return Failure{ErrorCode::kDevice, fmt::format("{}: error {}", name, code)};
         },
         {}});
  }
}

/// Whether two contenders write the same, up to what their orders of summation may differ by.
Result<Done> GpuBench::compare(const GpuOperands& operands, GpuContender& ours,
                               GpuContender& theirs) {
  std::vector<double> values[2];
  GpuContender* both[] = {&ours, &theirs};
  for (int i = 0; i < 2; ++i) {
    if (auto f = operands.spoil(); !f) return f.failure();
    if (auto f = both[i]->enqueue(0); !f) return f.failure();
    auto read = operands.output(kCompared);
    if (!read) return read.failure();
    values[i] = std::move(*read);
  }
  double most = 0, apart = 0;
  for (size_t e = 0; e < values[0].size(); ++e) {
    const double difference = std::fabs(values[0][e] - values[1][e]);
    apart = difference >= 0 ? std::max(apart, difference) : INFINITY;
    most = std::max(most, std::fabs(values[1][e]));
  }
  const DType type = operands.view(0, operands.count() - 1).type;
  const double share = !is_float(type) ? 0 : size_of(type) == 2 ? 2e-2 : 1e-3;
  if (apart <= share * most) return Done{};
  return Failure{ErrorCode::kInternal,
                 fmt::format("WRONG: {} and {} differ by {:g} where values reach {:g}", ours.name,
                             theirs.name, apart, most)};
}

Result<Done> GpuBench::try_run(const GpuGroup& group, const std::string& text) {
  auto problem = engine_->parse(text);
  if (!problem) return problem.failure();
  auto operands = GpuOperands::create(engine_->services->gpu(), *problem);
  if (!operands) return operands.failure();
  const runtime::UseGpu use((*operands)->gpu());
  const runtime::Work work =
      runtime::work_of(problem->program, (*operands)->dims(), engine_->target);
  row_.bytes = work.bytes();
  row_.operations = work.operations;
  std::vector<GpuContender> contenders;
  if (auto f = add_kernels(*problem, *operands, contenders); !f) return f.failure();
  std::shared_ptr<GpuOperands> bare;
  if (group.against == Against::kBare) {
    auto product = engine_->parse(bare_product(text));
    if (!product) return product.failure();
    auto made = GpuOperands::create(engine_->services->gpu(), *product);
    if (!made) return made.failure();
    bare = *made;
    auto kernel = engine_->compile(*product, CompileOptions{});
    if (!kernel) return kernel.failure();
    contenders.push_back(contender("hone bare", *kernel, bare));
  }
  const size_t own = contenders.size();
  add_peers(*operands, contenders);
  // The peer's convolution leaves the bias out.
  const bool comparable = own < contenders.size() && (*operands)->op() != "conv2d";
  if (comparable) {
    auto f = compare(**operands, contenders[0], contenders[own]);
    if (!f) return f.failure();
  }
  const size_t sets = std::min((*operands)->sets(), bare ? bare->sets() : (*operands)->sets());
  if (auto f = clock_->race(contenders, sets, options_.rounds, options_.tiny ? 1 : 1000); !f) {
    return f.failure();
  }
  for (const GpuContender& c : contenders) {
    GpuRow row = row_;
    row.contender = c.name;
    row.us = c.median_us();
    results_.add(row);
  }
  return Done{};
}

bool wanted(const Options& options, const GpuGroup& group) {
  return options.groups.empty() || std::find(options.groups.begin(), options.groups.end(),
                                             group.name) != options.groups.end();
}

/// Problems of the command line, each held against what its group is where it is of one.
std::vector<GpuGroup> groups_of_problems(const Options& options) {
  const std::vector<GpuGroup> known = gpu_groups(options.tiny);
  std::vector<GpuGroup> out;
  for (const std::string& problem : options.problems) {
    GpuGroup group{"problems", Against::kPeer, 0, {}};
    for (const GpuGroup& g : known) {
      const auto end = g.problems.end();
      if (std::find(g.problems.begin(), end, problem) != end) group = g;
    }
    if (out.empty() || std::string(out.back().name) != group.name) {
      group.problems.clear();
      out.push_back(group);
    }
    out.back().problems.push_back(problem);
  }
  return out;
}

/// The groups that the options ask for.
std::vector<GpuGroup> groups_of(const Options& options) {
  if (!options.problems.empty()) return groups_of_problems(options);
  std::vector<GpuGroup> out;
  for (GpuGroup& g : gpu_groups(options.tiny)) {
    if (wanted(options, g)) out.push_back(std::move(g));
  }
  return out;
}

/// Whether a kernel of hone's failed, in this run or in one before.
bool some_failed(const GpuResults& results, const std::vector<GpuGroup>& groups) {
  for (const GpuGroup& g : groups) {
    for (const std::string& problem : g.problems) {
      for (const GpuRow& r : results.rows(problem)) {
        if (!r.error.empty() && r.contender.rfind("hone", 0) == 0) return true;
      }
    }
  }
  return false;
}

/// What a fault has lost stays lost to this process, and what hangs hangs: another goes on.
[[noreturn]] void go_on_in_another_process(const std::string& why, char** argv) {
  std::cerr << why << "; going on in another process\n";
  std::vector<char*> words;
  std::string resume = "--resume";
  for (char** a = argv; *a; ++a) words.push_back(*a);
  if (std::none_of(words.begin(), words.end(), [&](char* w) { return resume == w; })) {
    words.push_back(resume.data());
  }
  words.push_back(nullptr);
  ::execv("/proc/self/exe", words.data());
  std::_Exit(1);
}

/// Gives a problem up that takes too long, from a thread of its own.
class Watchdog {
 public:
  Watchdog(const Options& options, const std::string& problem, const GpuResults& results,
           char** argv) {
    if (options.limit <= 0) return;
    thread_ = std::jthread([&options, problem, &results, argv](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any wake;
      std::unique_lock lock(mutex);
      const std::chrono::duration<double> most(options.limit);
      if (wake.wait_for(lock, stop, most, [] { return false; }) || stop.stop_requested()) return;
      const std::string why = fmt::format("hung: no end within {:g} s", options.limit);
      results.give_up(problem, why);
      go_on_in_another_process(problem + ": " + why, argv);
    });
  }

 private:
  std::jthread thread_;
};

/// Problems that an earlier run began and did not end come last, and once more only.
bool is_turn(const GpuResults& results, const std::string& problem, bool again) {
  constexpr int kOften = 2;
  const int begun = results.begun(problem);
  return !results.done(problem) && (again ? begun > 0 && begun < kOften : begun == 0);
}

/// Says of what was begun twice that it does not end.
void name_hung(const std::vector<GpuGroup>& groups, GpuResults& results) {
  for (const GpuGroup& group : groups) {
    for (const std::string& problem : group.problems) {
      if (results.done(problem) || results.begun(problem) < 2) continue;
      results.add({problem, "hone", 0, 0, 0, "hung: begun twice, and no end"});
      results.finish(problem);
    }
  }
}

/// Runs what is not done yet; false when the time is over before.
bool run_problems(const Options& options, GpuBench& bench, const runtime::Gpu& gpu,
                  const std::vector<GpuGroup>& groups, GpuResults& results, char** argv) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * options.minutes);
  name_hung(groups, results);
  for (const bool again : {false, true}) {
    for (const GpuGroup& group : groups) {
      for (const std::string& problem : group.problems) {
        if (!is_turn(results, problem, again)) continue;
        if (options.minutes > 0 && std::chrono::steady_clock::now() > end) return false;
        if (!options.common.json) std::cerr << problem << "\n";
        const Watchdog watchdog(options, problem, results, argv);
        bench.run(group, problem);
        if (gpu.lost()) go_on_in_another_process(gpu.why_lost().message, argv);
      }
    }
  }
  return true;
}

void print(const Options& options, const GpuResults& results, const std::vector<GpuGroup>& groups,
           bool whole) {
  if (!options.common.json) {
    std::cout << gpu_table(results, groups);
    if (!whole) std::cout << "\nnot all of it: go on with --resume\n";
    return;
  }
  for (const GpuGroup& g : groups) {
    for (const std::string& problem : g.problems) {
      for (const GpuRow& r : results.rows(problem)) {
        runtime::Json row = {{"group", g.name},
                             {"problem", problem},
                             {"contender", r.contender},
                             {"us", r.us},
                             {"bytes", r.bytes},
                             {"operations", r.operations},
                             {"ratio", gpu_ratio(results, g, problem)}};
        if (!r.error.empty()) row["error"] = r.error;
        runtime::print_line(row);
      }
    }
  }
}

/// The table of the groups; the exit code.
int run_table(const Options& options, const std::shared_ptr<runtime::EngineState>& engine,
              const std::vector<GpuGroup>& groups, char** argv) {
  const std::shared_ptr<runtime::Gpu> gpu = engine->services->gpu();
  auto results = GpuResults::open(options.state, gpu->facts().name, options.resume);
  if (!results) return runtime::report(options.common, results.failure());
  auto clock = GpuClock::create(gpu);
  if (!clock) return runtime::report(options.common, clock.failure());
  GpuBench bench(options, engine, std::move(*clock), *results);
  if (results->copy_gbps() == 0) {
    if (auto f = bench.copy_bandwidth(); !f) {
      return runtime::report(options.common, f.failure());
    }
  }
  const bool whole = run_problems(options, bench, *gpu, groups, *results, argv);
  // It takes long to start: not for single problems.
  if (whole && options.peers && options.problems.empty()) run_torch(groups, *results);
  print(options, *results, groups, whole);
  return some_failed(*results, groups) ? runtime::kExitMismatch : runtime::kExitOk;
}

}  // namespace

int run_gpu(const Options& options, char** argv) {
  if (options.list) {
    for (const GpuGroup& g : groups_of(options)) {
      for (const std::string& problem : g.problems) std::cout << problem << "\n";
    }
    return runtime::kExitOk;
  }
  auto engine = runtime::open_engine(options.common);
  if (!engine) return runtime::report(options.common, engine.failure());
  const std::shared_ptr<runtime::Gpu> gpu = (*engine)->services->gpu();
  if (!gpu) {
    return runtime::report(options.common,
                           {ErrorCode::kUnsupported, "no GPU here runs " + (*engine)->target_text});
  }
  const runtime::UseGpu use(*gpu);
  const std::vector<GpuGroup> groups = groups_of(options);
  const int exit = groups.empty() ? runtime::kExitOk : run_table(options, *engine, groups, argv);
  return wants_enqueue(options) ? std::max(exit, run_enqueue(options, **engine)) : exit;
}

}  // namespace hone::bench
