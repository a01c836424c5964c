// SPDX-License-Identifier: Apache-2.0
#include "bench/models/suite.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>

#include "bench/contender.h"
#include "runtime/cli/model_load.h"
#include "runtime/cli/trial_run.h"
#include "runtime/device/gpu_target.h"
#include "runtime/measure/bound.h"

namespace hone::bench {
namespace {

using runtime::Json;

/// The least length of a sample, in microseconds.
/// Chosen: a few calls of a model of a millisecond (not measured).
constexpr double kModelSampleUs = 4000;

/// Rounds of one model end after so many seconds.
/// Chosen: patience with a model of a second a call (not measured).
constexpr double kMostModelSeconds = 30;

/// Fixed by: the prefix of units.
constexpr double kMega = 1e6;

/// The models of a folder whose names, without the ending, are among `cases`.
Result<std::vector<std::string>> model_files(const Options& o) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(o.models, error)) {
    const std::string path = entry.path().string(), name = entry.path().stem().string();
    if (!runtime::is_model_file(path)) continue;
    const bool asked = o.cases.empty() ||
                       std::any_of(o.cases.begin(), o.cases.end(), [&](const std::string& pattern) {
                         return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
                       });
    if (asked) files.push_back(path);
  }
  if (error) {
    return Failure{ErrorCode::kNotFound,
                   fmt::format("--models: {} cannot be read: {}", o.models, error.message())};
  }
  if (files.empty()) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("--models: {} has no .onnx or .graph files{}", o.models,
                               o.cases.empty() ? "" : " of the names that --case gives")};
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What the kernels of a model take at least, each by itself, in microseconds.
Result<double> limit_of(runtime::EngineState& engine, const runtime::ModelState& model,
                        runtime::Limits& limits) {
  std::map<std::string, double> known;  // equal nodes share a problem
  double sum = 0;
  for (const runtime::ModelCall& call : model.calls) {
    const auto [at, fresh] = known.emplace(call.kernel->problem, 0);
    if (fresh) {
      const auto problem = engine.parse(call.kernel->problem);
      if (!problem) return problem.failure();
      const ir::Program& program = problem->program;
      at->second = bound_of(program, runtime::timing_dims(program), &limits).time_us;
    }
    sum += at->second;
  }
  return sum;
}

/// What was found of a model.
struct ModelRow {
  std::string name;
  double load_ms = 0, first_us = 0;
  size_t kernels = 0, nodes = 0;
  ModelMemory memory;
  runtime::Spread fused, apart;
  Rounds rounds;
  double ratio = 0;  ///< how many times as long node by node; 0: unknown
  double limit_us = 0;
  runtime::Share share;
};

class ModelRaces {
 public:
  explicit ModelRaces(const Options& options) : options_(options) {}

  Result<ModelRow> run(const std::string& path) {
    const auto loaded =
        runtime::load_graph(options_.common, {.words = {path}, .maybe = options_.dims});
    if (!loaded) return loaded.failure();
    const runtime::LoadedGraph& g = *loaded;
    const auto apart = runtime::ModelState::load(
        *g.engine, g.file, {.dims = g.dims, .weights = g.tensors.weights, .fuse = false});
    if (!apart) return apart.failure();
    ModelRow row;
    row.name = std::filesystem::path(path).stem().string();
    row.load_ms = g.load_ms;
    row.kernels = g.model->calls.size();
    row.nodes = g.file.graph.nodes.size();
    row.memory = g.model->memory;
    std::vector<TensorShape> shapes(g.tensors.outputs.size());
    const auto begin = std::chrono::steady_clock::now();
    const auto first = g.model->run(g.tensors.inputs, g.tensors.outputs, {.shapes = shapes});
    if (!first) return first.failure();
    row.first_us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    if (auto f = race_both(g, **apart, row); !f) return f.failure();
    runtime::Limits limits = g.engine->limits();
    const auto limit = limit_of(*g.engine, *g.model, limits);
    if (!limit) return limit.failure();
    row.limit_us = *limit;
    row.share = runtime::share_of(*limit, row.fused.median);
    return row;
  }

 private:
  Result<Done> race_both(const runtime::LoadedGraph& g, const runtime::ModelState& apart,
                         ModelRow& row) const {
    Result<Done> outcome = Done{};
    std::vector<TensorShape> shapes(g.tensors.outputs.size());
    std::vector<Contender> both;
    for (const runtime::ModelState* model : {g.model.get(), &apart}) {
      const auto run = [&g, &outcome, &shapes, model](int64_t n) {
        for (int64_t i = 0; i < n && outcome; ++i) {
          outcome = model->run(g.tensors.inputs, g.tensors.outputs, {.shapes = shapes});
        }
      };
      both.push_back(
          {model == &apart ? "node by node" : "fused", run, g.engine->target.threads == 1});
    }
    row.rounds = race(both, options_.rounds, kModelSampleUs, kMostModelSeconds);
    row.fused = both[0].spread();
    row.apart = both[1].spread();
    row.ratio = ratio_of(both[0], both[1], row.rounds);
    return outcome;
  }

  const Options& options_;
};

Json json_of(const ModelRow& row) {
  Json object = {{"model", row.name},
                 {"load_ms", row.load_ms},
                 {"first_us", row.first_us},
                 {"time_us", row.fused.median},
                 {"low_us", row.fused.low},
                 {"high_us", row.fused.high},
                 {"apart_us", row.apart.median},
                 {"rounds", row.rounds.counted},
                 {"noisy", row.rounds.noisy},
                 {"kernels", row.kernels},
                 {"nodes", row.nodes},
                 {"weights_bytes", row.memory.weights},
                 {"call_bytes", row.memory.call},
                 {"limit_us", row.limit_us}};
  if (row.ratio > 0) object["apart_ratio"] = row.ratio;
  if (row.share.of_limit > 0) object["of_limit"] = row.share.of_limit;
  if (row.share.busy) object["busy"] = true;
  return object;
}

std::string header() {
  return fmt::format("{:<20} {:>9} {:>10} {:>11} {:>23} {:>9} {:>9} {:>10} {:>9} {:>10}  {}\n",
                     "model", "load ms", "first us", "call us", "middle half", "unfused", "kernels",
                     "weights MB", "call MB", "limit us", "share");
}

/// How many times as long a call takes node by node. `~` stands where too few rounds were quiet:
/// that is the ratio of the medians.
std::string ratio_text(const ModelRow& row) {
  if (row.ratio > 0) return fmt::format("{:.2f}x", row.ratio);
  return fmt::format("~{:.2f}x", row.apart.median / row.fused.median);
}

std::string text_of(const ModelRow& row) {
  return fmt::format(
      "{:<20} {:>9.1f} {:>10.1f} {:>11.1f} {:>23} {:>9} {:>9} {:>10.2f} {:>9.2f} {:>10.1f}  {}\n",
      row.name, row.load_ms, row.first_us, row.fused.median,
      fmt::format("{:.1f} to {:.1f}", row.fused.low, row.fused.high), ratio_text(row),
      fmt::format("{}/{}", row.kernels, row.nodes), static_cast<double>(row.memory.weights) / kMega,
      static_cast<double>(row.memory.call) / kMega, row.limit_us, runtime::text_of(row.share));
}

}  // namespace

int run_models(const Options& options) {
  if (options.peers) {
    return runtime::report(options.common,
                           {ErrorCode::kUnsupported,
                            "--peers solve problems; none of them runs a whole model so far"});
  }
  if (runtime::names_gpu(options.common.target)) {
    return runtime::report(options.common,
                           {ErrorCode::kUnsupported,
                            "--models times whole models on CPUs so far; on a GPU `hone run FILE "
                            "--target cuda` times one"});
  }
  const auto files = model_files(options);
  if (!files) return runtime::report(options.common, files.failure());
  if (!options.common.json && !options.list) std::cout << header();
  int exit = runtime::kExitOk;
  ModelRaces races(options);
  for (const std::string& path : *files) {
    const std::string name = std::filesystem::path(path).stem().string();
    if (options.list) {
      std::cout << name << "\n";
      continue;
    }
    const auto row = races.run(path);
    if (!row) exit = runtime::kExitUserError;
    if (options.common.json) {
      runtime::print_line(row ? json_of(*row)
                              : Json{{"model", name}, {"message", row.failure().message}});
    } else {
      std::cout << (row ? text_of(*row) : fmt::format("{:<20} {}\n", name, row.failure().message))
                << std::flush;
    }
  }
  return exit;
}

}  // namespace hone::bench
