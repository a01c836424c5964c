// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/engine_state.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "jit/halide/backend.h"
#include "ops/syntax.h"
#include "runtime/build/guard.h"
#include "runtime/device/gpu_target.h"
#include "runtime/engine/failure.h"
#include "runtime/machine/host.h"
#include "schedules/numerics.h"

namespace hone::runtime {
namespace {

/// Kernels kept for their texts; beyond, those that nobody holds go.
/// Chosen: memory of a process; more threads than a machine has (not measured).
constexpr size_t kMaxKernels = 4096;
constexpr int kMostThreads = 4096;

int64_t half_of_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? pages / 2 * page : int64_t{1} << 40;
}

std::string isa_text(const ir::Target& t) {
  const std::string text = ir::print(t);
  return text.substr(0, text.find(" cpu="));
}

Result<ir::Target> resolve_target(const EngineOptions& options, const ir::Target& host) {
  auto target = ir::parse_target(options.target, host);
  if (!target) return target.failure();
  if (target->halide && !jit::has_halide()) {
    return Failure{ErrorCode::kUnsupported,
                   "target: this hone was built without Halide; `x86` is taken, and `halide` where "
                   "the build found it (libhalide19-dev of Debian 13)"};
  }
  if ((target->isa & ~host.isa) != 0) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("target: {} is more than this machine has, {}", isa_text(*target),
                               isa_text(host))};
  }
  if (options.threads < 0 || options.threads > kMostThreads) {
    return Failure{
        ErrorCode::kArgument,
        fmt::format("threads: a number from 1 to {}, or 0 for the target's", kMostThreads)};
  }
  if (options.threads > 0) target->threads = options.threads;
  if (!options.pool) return target;
  auto f = guard_pool([&] { target->threads = options.pool->size(); });
  if (!f) return f.failure();
  if (target->threads < 1 || target->threads > kMostThreads) {
    return Failure{
        ErrorCode::kArgument,
        fmt::format("EngineOptions::pool: its size is {}, expected a number from 1 to {}",
                    target->threads, kMostThreads)};
  }
  return target;
}

Result<GpuPlace> resolve_place(const EngineOptions& options, const ir::Target& host) {
  if (names_gpu(options.target)) return find_gpu(options);
  auto target = resolve_target(options, host);
  if (!target) return target.failure();
  return GpuPlace{*std::move(target), nullptr, {}, {}};
}

/// Why there is no machine code.
std::string why_interpreted(const GpuPlace& place, const ir::Target& host) {
  if (place.target.is_cuda()) {
    return "the interpreter serves, kernels can be shown: " + place.why_not;
  }
  if (host.vector_bytes() == 0) return "the interpreter serves: this CPU has no AVX2";
  return "the interpreter serves: the target says isa=none";
}

}  // namespace

Result<std::shared_ptr<EngineState>> EngineState::create(EngineOptions options) {
  const ir::Target host = host_target();
  auto place = resolve_place(options, host);
  if (!place) return place.failure();
  const ir::Target* target = &place->target;
  auto e = std::make_shared<EngineState>();
  e->target = *target;
  e->target_text = ir::print(*target);
  const int64_t ceiling = options.memory_ceiling > 0 ? options.memory_ceiling : half_of_memory();
  const char* perf = std::getenv("HONE_PERF");
  const bool perf_map = options.perf_map || (perf && *perf && *perf != '0');
  e->services =
      std::make_shared<Services>(*target, options.pool, ceiling, perf_map, options.on_event);
  // The cache may speak while the engine goes, so it holds the services that it speaks through.
  e->cache =
      std::make_unique<Cache>(CacheOptions{options.cache, options.shipped_cache, int64_t{256} << 20,
                                           [services = e->services](const std::string& text) {
                                             services->tell(Event::kNotice, [&] { return text; });
                                           }});
  if (!place->older.empty()) e->services->tell_once(Event::kNotice, place->older);
  if (place->gpu) {
    e->compiler =
        std::make_unique<GpuCompiler>(store_in(*e->cache), place->gpu->driver().version());
    e->services->use_gpu(std::move(place->gpu));
  } else if (target->vector_bytes() == 0) {
    e->services->tell_once(Event::kNotice, why_interpreted(*place, host));
  }
  e->options = std::move(options);
  return e;
}

Result<Done> EngineState::add_ops(std::string_view text, std::string_view origin) {
  auto parsed = ops::parse_library(text, origin, library().get());
  if (!parsed) return parsed.failure();
  const std::lock_guard lock(mutex_);
  auto all =
      library_ ? std::make_shared<ops::Library>(*library_) : std::make_shared<ops::Library>();
  for (ops::Op& op : parsed->ops) {
    std::erase_if(all->ops, [&](const ops::Op& old) { return old.name() == op.name(); });
    all->ops.push_back(std::move(op));
  }
  all->cases.insert(all->cases.end(), parsed->cases.begin(), parsed->cases.end());
  library_ = std::move(all);
  // A name may mean another op now.
  aliases_.clear();
  return Done{};
}

std::shared_ptr<const ops::Library> EngineState::library() {
  const std::lock_guard lock(mutex_);
  return library_;
}

std::vector<ops::Op> EngineState::all_ops() {
  const std::shared_ptr<const ops::Library> library = this->library();
  std::vector<ops::Op> all = library ? library->ops : std::vector<ops::Op>();
  for (const ops::Op& op : ops::stock_library().ops) {
    // Those that were added stand before the library's of the same name.
    if (!library || !library->find(op.name())) all.push_back(op);
  }
  return all;
}

Result<ops::Problem> EngineState::parse(std::string_view text) {
  auto problem = ops::parse_problem(text, library().get());
  if (problem) tell_notes(problem->op);
  return problem;
}

Result<ops::Problem> EngineState::parse(const OpState& op, std::string_view bindings) {
  auto problem = ops::make_problem(op.op, bindings, library().get());
  if (problem) tell_notes(problem->op);
  return problem;
}

void EngineState::tell_notes(const ops::Op& op) const {
  for (const std::string& note : op.definition->notes) services->tell_once(Event::kNotice, note);
}

Key EngineState::key_of(const std::string& problem) const {
  return {problem, target_text, jit::kCodeGeneration};
}

Result<EngineState::Kernel> EngineState::compile(std::string_view text,
                                                 const CompileOptions& options) {
  const bool plain = options.schedule.empty();
  std::string alias(text);
  if (plain) {
    const std::lock_guard lock(mutex_);
    if (const auto found = aliases_.find(alias); found != aliases_.end()) return found->second;
  }
  auto kernel = compile(
      guarded_door(
          alias, [&] { return parse(text); },
          [&](const std::string& what) -> Result<ops::Problem> { return bug(what, alias); }),
      options);
  if (kernel && plain) {
    const std::lock_guard lock(mutex_);
    if (aliases_.size() >= kMaxKernels) aliases_.clear();
    aliases_.emplace(std::move(alias), *kernel);
  }
  return kernel;
}

Failure EngineState::bug(const std::string& what, const std::string& repro) const {
  const std::string text = "a bug: " + what + "\n  " + repro;
  services->tell(Event::kBug, [&] { return text; });
  return {ErrorCode::kInternal, text};
}

Result<EngineState::Kernel> EngineState::compile(Result<ops::Problem> problem,
                                                 const CompileOptions& options,
                                                 const schedules::Scheduled* derived) {
  if (!problem) return problem.failure();
  const std::string name =
      options.schedule.empty() ? problem->text : problem->text + " | " + options.schedule;
  return single_flight(name, *problem, options, derived);
}

Result<EngineState::Kernel> EngineState::single_flight(const std::string& name,
                                                       const ops::Problem& problem,
                                                       const CompileOptions& options,
                                                       const schedules::Scheduled* derived) {
  std::promise<Result<Kernel>> promise;
  std::shared_future<Result<Kernel>> flight;
  bool ours = false;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = flights_.find(name); found != flights_.end()) {
      flight = found->second;
    } else {
      ours = true;
      flight = promise.get_future().share();
      if (flights_.size() >= kMaxKernels) {
        std::erase_if(flights_, [](const auto& f) {
          const bool done = f.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
          return done && f.second.get() && f.second.get()->use_count() == 1;
        });
      }
      flights_.emplace(name, flight);
    }
  }
  if (!ours) return flight.get();
  // Those who wait are told whatever happens.
  Result<Kernel> built = guarded_door(
      problem.text, [&] { return build(problem, options, derived); },
      [&](const std::string& what) -> Result<Kernel> {
        return bug(what, problem.text + " | " + target_text + " | " + options.schedule);
      });
  if (!built) {
    // The next caller tries again: what stood in the way may have gone.
    const std::lock_guard lock(mutex_);
    flights_.erase(name);
  }
  promise.set_value(built);
  return built;
}

Result<EngineState::Kernel> EngineState::build(const ops::Problem& problem,
                                               const CompileOptions& options,
                                               const schedules::Scheduled* derived) {
  Result<Kernel> built = Failure{};
  if (options.schedule.empty()) {
    built = choose_kernel(this, problem, derived);
  } else {
    built = compile_given(problem, options.schedule);
  }
  if (!built) return built.failure();
  services->tell(Event::kCompile, [&] {
    return fmt::format("{} {:.0f} us{} {}", name_of((*built)->source), (*built)->report.build_us,
                       (*built)->report.interpreted ? " (interpreted)" : "", problem.text);
  });
  return built;
}

Result<EngineState::Kernel> EngineState::compile_given(const ops::Problem& problem,
                                                       const std::string& schedule) {
  BuildInput input{&problem, &target, schedule, Source::kGiven, {}, compiler.get()};
  auto given = build_kernel(services, input);
  if (!given) return given.failure().failure();
  if (!schedules::admits(problem.numerics, (*given)->numerics)) {
    return Failure{ErrorCode::kSchedule,
                   fmt::format("the schedule is of numerics class `{}`, and the problem pins `{}`",
                               (*given)->numerics, problem.numerics)};
  }
  return *given;
}

void EngineState::forget(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  flights_.erase(problem);
  std::erase_if(aliases_, [&](const auto& a) { return a.second->problem == problem; });
}

}  // namespace hone::runtime
