// SPDX-License-Identifier: Apache-2.0
#include "bench/models/race.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include "runtime/cli/model_compare.h"
#include "runtime/cli/model_load.h"
#include "runtime/model/model_state.h"

namespace hone::bench {
namespace {

/// The least length of a sample, in microseconds.
/// Chosen: a few calls of a model of a millisecond (not measured).
constexpr double kModelSampleUs = 4000;

/// Rounds of one model end after so many seconds.
/// Chosen: patience with a model of a second a call (not measured).
constexpr double kMostModelSeconds = 30;

/// Times that a model is loaded and called first; the middle ones count.
/// Chosen: the least of which there is a middle one (not measured).
constexpr int kStarts = 3;

template <class Ratio>
double elapsed_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, Ratio>(std::chrono::steady_clock::now() - begin).count();
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

/// The middle values of starts.
ModelStart middle_of(const std::vector<ModelStart>& starts) {
  std::vector<double> load_ms, first_us;
  for (const ModelStart& s : starts) {
    load_ms.push_back(s.load_ms);
    first_us.push_back(s.first_us);
  }
  return {runtime::median(std::move(load_ms)), runtime::median(std::move(first_us))};
}

/// A peer beside a model of hone's.
struct PeerLane {
  const ModelPeer* peer = nullptr;
  std::unique_ptr<PeerModel> model;  ///< as loaded last
  std::vector<ModelStart> starts;
  PeerRow row;

  /// Tells why there are no figures.
  void give_up(const Failure& failure) {
    row.message = failure.message;
    model.reset();
  }
};

/// All that is measured of one model.
class ModelRace {
 public:
  ModelRace(const Options& options, runtime::LoadedGraph loaded)
      : options_(options), g_(std::move(loaded)) {
    shapes_.resize(g_.tensors.outputs.size());
    load_.path = g_.path;
    load_.threads = g_.engine->target.threads;
    for (const ir::Dim& dim : g_.model->bound_dims) {
      if (dim.lo == dim.hi) load_.dims.emplace_back(dim.name, dim.lo);
    }
    given_ = g_.tensors.inputs;
    given_.insert(given_.end(), g_.tensors.weights.begin(), g_.tensors.weights.end());
    if (!options.peers) return;
    for (const ModelPeer* peer : model_peers()) {
      PeerLane& lane = lanes_.emplace_back();
      lane.peer = peer;
      lane.row.name = peer->name;
    }
  }

  Result<ModelRow> run() {
    const auto apart = runtime::ModelState::load(
        *g_.engine, g_.file, {.dims = g_.dims, .weights = g_.tensors.weights, .fuse = false});
    if (!apart) return apart.failure();
    ModelRow row;
    row.name = std::filesystem::path(g_.path).stem().string();
    row.kernels = g_.model->calls.size();
    row.nodes = g_.file.graph.nodes.size();
    row.memory = g_.model->memory;
    if (auto f = start_all(row); !f) return f.failure();
    if (auto f = compare(); !f) return f.failure();
    if (auto f = race_all(**apart, row); !f) return f.failure();
    runtime::Limits limits = g_.engine->limits();
    const auto limit = limit_of(*g_.engine, *g_.model, limits);
    if (!limit) return limit.failure();
    row.limit_us = *limit;
    row.share = runtime::share_of(*limit, row.fused.median);
    for (PeerLane& lane : lanes_) row.peers.push_back(finish(lane));
    return row;
  }

 private:
  Result<Done> call(const runtime::ModelState& model) const {
    return model.run(g_.tensors.inputs, g_.tensors.outputs, {.shapes = shapes_});
  }

  void park() const {
    if (load_.threads > 1) let_threads_park();
  }

  /// Loads the file into an engine of its own, and calls it.
  Result<ModelStart> start() const {
    park();
    const auto engine = runtime::open_engine(options_.common);
    if (!engine) return engine.failure();
    ModelStart out;
    auto begin = std::chrono::steady_clock::now();
    const auto file = runtime::read_model_file(g_.path, (*engine)->library().get());
    if (!file) return file.failure();
    const auto model = runtime::ModelState::load(**engine, *file,
                                                 {.dims = g_.dims, .weights = g_.tensors.weights});
    if (!model) return model.failure();
    out.load_ms = elapsed_since<std::milli>(begin);
    begin = std::chrono::steady_clock::now();
    if (auto f = call(**model); !f) return f.failure();
    out.first_us = elapsed_since<std::micro>(begin);
    return out;
  }

  /// The same of a peer, whose model stays.
  void start(PeerLane& lane) const {
    if (!lane.row.measured()) return;
    lane.model.reset();
    park();
    ModelStart out;
    auto begin = std::chrono::steady_clock::now();
    auto model = lane.peer->load(load_);
    if (!model) return lane.give_up(model.failure());
    out.load_ms = elapsed_since<std::milli>(begin);
    lane.model = *std::move(model);
    if (auto f = lane.model->bind(given_, g_.tensors.outputs); !f) return lane.give_up(f.failure());
    begin = std::chrono::steady_clock::now();
    if (auto f = lane.model->run(); !f) return lane.give_up(f.failure());
    out.first_us = elapsed_since<std::micro>(begin);
    lane.starts.push_back(out);
  }

  Result<Done> start_all(ModelRow& row) {
    std::vector<ModelStart> starts;
    for (int i = 0; i < kStarts; ++i) {
      const auto own = start();
      if (!own) return own.failure();
      starts.push_back(*own);
      for (PeerLane& lane : lanes_) start(lane);
    }
    row.start = middle_of(starts);
    return Done{};
  }

  /// Compares the outputs of peers with hone's, in whose memory they lie.
  Result<Done> compare() {
    if (auto f = call(*g_.model); !f) return f.failure();
    const auto want = runtime::elements_of(g_.tensors.outputs);
    for (PeerLane& lane : lanes_) {
      if (!lane.model) continue;
      clear_outputs();
      if (auto f = lane.model->run(); !f) {
        lane.give_up(f.failure());
        continue;
      }
      lane.row.error = runtime::difference_of(want, runtime::elements_of(g_.tensors.outputs));
      lane.row.tolerance = runtime::tolerance_of(g_.file.graph);
    }
    return Done{};
  }

  /// What nobody writes is no result.
  void clear_outputs() const {
    for (const NamedTensor& t : g_.tensors.outputs) {
      std::vector<int64_t> shape;
      for (int i = 0; i < t.tensor.rank(); ++i) shape.push_back(t.tensor.extent(i));
      const int64_t bytes = runtime::dense_bytes(t.tensor.type(), shape);
      std::memset(const_cast<void*>(t.tensor.data()), 0xff, static_cast<size_t>(bytes));
    }
  }

  Result<Done> race_all(const runtime::ModelState& apart, ModelRow& row) {
    Result<Done> outcome = Done{};
    const bool alone = load_.threads == 1;
    std::vector<Contender> all;
    for (const runtime::ModelState* model : {g_.model.get(), &apart}) {
      const auto run = [this, &outcome, model](int64_t n) {
        for (int64_t i = 0; i < n && outcome; ++i) outcome = call(*model);
      };
      all.push_back({model == &apart ? "node by node" : "fused", run, alone});
    }
    std::vector<PeerLane*> beside;
    for (PeerLane& lane : lanes_) {
      if (!lane.model) continue;
      beside.push_back(&lane);
      const auto run = [&outcome, model = lane.model.get()](int64_t n) {
        for (int64_t i = 0; i < n && outcome; ++i) outcome = model->run();
      };
      all.push_back({lane.row.name, run, alone});
    }
    row.rounds = race(all, options_.rounds, kModelSampleUs, kMostModelSeconds);
    row.fused = all[0].spread();
    row.apart = all[1].spread();
    row.ratio = ratio_of(all[0], all[1], row.rounds);
    for (size_t i = 0; i < beside.size(); ++i) {
      beside[i]->row.time_us = all[i + 2].spread();
      beside[i]->row.ratio = ratios_of(all[i + 2], all[0]);
    }
    return outcome;
  }

  PeerRow finish(PeerLane& lane) const {
    if (!lane.model) return lane.row;
    lane.row.start = middle_of(lane.starts);
    lane.model.reset();
    if (lane.peer->call_bytes) {
      const auto bytes = lane.peer->call_bytes(load_, given_, g_.tensors.outputs);
      if (bytes) lane.row.call_bytes = *bytes;
    }
    return lane.row;
  }

  const Options& options_;
  runtime::LoadedGraph g_;
  PeerLoad load_;
  std::vector<NamedTensor> given_;  ///< all that a peer is given: random weights as well
  std::vector<PeerLane> lanes_;
  mutable std::vector<TensorShape> shapes_;  ///< of outputs, as the last call made them
};

}  // namespace

ModelRow race_model(const Options& options, const std::string& path) {
  auto loaded = runtime::load_graph(options.common, {.words = {path}, .maybe = options.dims});
  auto row =
      loaded ? ModelRace(options, *std::move(loaded)).run() : Result<ModelRow>(loaded.failure());
  if (row) return *std::move(row);
  ModelRow failed;
  failed.name = std::filesystem::path(path).stem().string();
  failed.failure = row.failure().message;
  return failed;
}

}  // namespace hone::bench
