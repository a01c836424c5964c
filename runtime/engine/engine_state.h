// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "include/hone/hone.h"
#include "ops/op.h"
#include "runtime/cache/cache.h"
#include "runtime/engine/build.h"
#include "runtime/engine/shared_weights.h"

namespace hone::runtime {

class Limits;
struct LogContext;

/// A checked op behind the public handle.
struct OpState {
  ops::Op op;
};

/// What an Engine owns.
struct EngineState {
  EngineOptions options;
  ir::Target target;
  std::string target_text;
  std::shared_ptr<Services> services;
  std::unique_ptr<Cache> cache;
  std::unique_ptr<GpuCompiler> compiler;  ///< where kernels run on a GPU
  SharedWeights weights;

  /// The engine that the options describe.
  static Result<std::shared_ptr<EngineState>> create(EngineOptions options);

  Result<Done> add_ops(std::string_view text, std::string_view origin);
  /// The ops that were added; null: none were.
  std::shared_ptr<const ops::Library> library();
  /// Those, then the library's.
  std::vector<ops::Op> all_ops();
  /// The problem behind `text`; names are looked up among the engine's ops first.
  Result<ops::Problem> parse(std::string_view text);
  Result<ops::Problem> parse(const OpState& op, std::string_view bindings);
  /// Tells what is noted about an op, once.
  void tell_notes(const ops::Op& op) const;

  using Kernel = std::shared_ptr<const KernelState>;
  /// The kernel of a problem's text, from the map or built by one of the callers.
  Result<Kernel> compile(std::string_view text, const CompileOptions& options);
  /// `derived` is what the rules derive for the problem, where the caller has it.
  Result<Kernel> compile(Result<ops::Problem> problem, const CompileOptions& options,
                         const schedules::Scheduled* derived = nullptr);
  /// The kernel of a schedule by hand, which may be the empty one: every loop as it stands.
  Result<Kernel> compile_given(const ops::Problem& problem, const std::string& schedule);
  /// Searches a schedule for a problem; see Engine::tune.
  Result<TuneResult> tune(Result<ops::Problem> problem, const TuneOptions& tuning);
  /// Peak rates of this machine; the cache keeps the best ever seen. Must not outlive the engine.
  Limits limits();
  /// What was logged in this engine's context. Must not outlive the engine.
  LogContext log();
  /// Later compiles of the problem look into the cache again.
  void forget(const std::string& problem);
  /// The cache key of this engine's records about `problem`.
  Key key_of(const std::string& problem) const;

 private:
  Result<Kernel> build(const ops::Problem& problem, const CompileOptions& options,
                       const schedules::Scheduled* derived);
  /// Tells the host of a bug, and is what the caller gets.
  Failure bug(const std::string& what, const std::string& repro) const;
  Result<Kernel> single_flight(const std::string& name, const ops::Problem& problem,
                               const CompileOptions& options, const schedules::Scheduled* derived);

  std::mutex mutex_;
  std::shared_ptr<const ops::Library> library_;
  std::vector<std::pair<std::string, std::string>> sources_;  ///< texts added and their origins
  std::unordered_map<std::string, std::shared_future<Result<Kernel>>> flights_;
  /// Texts as they were given, to skip parsing when they come again.
  std::unordered_map<std::string, Kernel> aliases_;
};

/// How a problem without a given schedule gets its kernel: the best record, else a near one
/// adapted, else the default. `derived` is what the rules derive for it, or null.
Result<std::shared_ptr<const KernelState>> choose_kernel(
    EngineState* engine, const ops::Problem& problem,
    const schedules::Scheduled* derived = nullptr);

}  // namespace hone::runtime
