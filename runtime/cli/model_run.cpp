// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_run.h"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "jit/interp/data.h"
#include "jit/interp/scalar.h"
#include "ops/graph/extent_range.h"
#include "runtime/cli/model_dot.h"
#include "runtime/cli/model_memory.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trial_run.h"
#include "runtime/measure/spread.h"
#include "runtime/model/model_state.h"
#include "runtime/model/tune_model.h"

namespace hone::runtime {
namespace {

/// Calls of a model in one round, and rounds.
/// Chosen: as long as a kernel's rounds for models of 10 us and more (not measured).
constexpr int kRounds = 15;
constexpr double kRoundSeconds = 0.002;

/// How far results may lie apart, as a share of the largest: kernels that add in another order.
/// Chosen: sums of thousands of terms in f32 (not measured).
constexpr double kTolerance = 1e-3;
/// The same where values between nodes are rounded to 8 bits. A sum at the other side of a half is
/// a step away, and results follow. Tuned on: ResNet-50, BERT and MobileNetV2 in 8 bits, where it
/// is 0.005 to 0.007.
constexpr double kByteTolerance = 2e-2;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Memory for the tensors that a model is given.
struct Tensors {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<NamedTensor> weights, inputs, outputs;
};

/// The tensors of a graph: inputs and weights hold numbers below 1, outputs nothing. Dims that
/// calls tell have their largest value.
class TensorMaker {
 public:
  TensorMaker(const ModelFile& file, const std::vector<ir::Dim>& dims)
      : file_(file), graph_(file.graph) {
    for (ir::Dim dim : dims) {
      dim.lo = dim.hi;
      dims_.push_back(dim);
    }
  }

  Tensors run() {
    ir::Program program;
    std::vector<jit::TensorView> views;
    Tensors out;
    for (const ops::GraphValue& v : graph_.values) {
      if ((v.kind == ops::GraphValue::kMade && !v.output) || in_file(v)) continue;
      const std::vector<int64_t> shape = shape_of(v);
      const auto bytes = static_cast<size_t>(dense_bytes(v.type, shape));
      out.memory.push_back(std::make_unique<std::byte[]>(bytes + kAlignment));
      void* data = out.memory.back().get();
      size_t room = bytes + kAlignment;
      std::align(kAlignment, bytes, data, room);
      auto& list = v.output                               ? out.outputs
                   : v.kind == ops::GraphValue::kConstant ? out.weights
                                                          : out.inputs;
      list.push_back({name_of_given(v), TensorRef(data, v.type, shape)});
      if (v.output) continue;
      // Elements that share bytes are any bytes.
      const bool packed = is_packed(v.type);
      ir::Buffer b;
      b.name = v.name;
      b.type = packed ? DType::kU8 : v.type;
      b.role = ir::Role::kInput;
      const std::vector<int64_t> flat{static_cast<int64_t>(bytes) / size_of(v.type)};
      b.shape.push_back(ir::make_int(flat[0]));
      program.buffers.push_back(std::move(b));
      views.push_back({data, packed ? DType::kU8 : v.type, flat, {1}});
    }
    jit::fill_parameters(program, views, {}, {}, jit::DataSet::kTimed, 1);
    for (const jit::TensorView& view : views) keep_small(view);
    return out;
  }

 private:
  /// Fixed by: a cache line.
  static constexpr size_t kAlignment = 64;

  /// Wide integers may be positions: 0 and 1 are so in nearly all tensors.
  static void keep_small(const jit::TensorView& view) {
    if (view.type != DType::kI64 && view.type != DType::kI32) return;
    for (int64_t i = 0; i < view.elements(); ++i) {
      jit::write_int(view.type, view.data, i, jit::read_int(view.type, view.data, i) & 1);
    }
  }

  std::vector<int64_t> shape_of(const ops::GraphValue& v) const {
    std::vector<int64_t> shape;
    for (const ir::Expr& extent : v.shape) {
      shape.push_back(ops::with_fixed_dims(extent, dims_)->i);
    }
    return shape;
  }

  /// As calls have it.
  std::string_view name_of_given(const ops::GraphValue& v) const {
    const auto at = file_.names.find(v.name);
    return at == file_.names.end() ? v.name : at->second;
  }

  bool in_file(const ops::GraphValue& v) const {
    const auto& own = file_.weight_names;
    return std::find(own.begin(), own.end(), v.name) != own.end();
  }

  const ModelFile& file_;
  const ops::Graph& graph_;
  std::vector<ir::Dim> dims_;
};

/// A graph with all that it takes to run it.
struct LoadedGraph {
  std::shared_ptr<EngineState> engine;
  ModelFile file;
  std::string dims;
  Tensors tensors;
  std::shared_ptr<const ModelState> model;
  double load_ms = 0;
};

Result<LoadedGraph> load(const Common& common, const std::vector<std::string>& words) {
  LoadedGraph out;
  auto engine = open_engine(common);
  if (!engine) return engine.failure();
  out.engine = std::move(*engine);
  auto file = read_model_file(words[0], out.engine->library().get());
  if (!file) return file.failure();
  out.file = std::move(*file);
  out.dims = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  const auto dims = bind_dims(out.file.graph, out.dims);
  if (!dims) return dims.failure();
  out.tensors = TensorMaker(out.file, *dims).run();
  const auto begin = Clock::now();
  auto model =
      ModelState::load(*out.engine, out.file, {.dims = out.dims, .weights = out.tensors.weights});
  if (!model) return model.failure();
  out.load_ms = seconds_since(begin) * 1e3;
  out.model = std::move(*model);
  return out;
}

/// Times of whole calls, in microseconds.
Result<Spread> time_calls(const ModelState& model, const Tensors& t) {
  int64_t calls = 1;
  std::vector<double> rounds;
  for (int round = -1; round < kRounds; ++round) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < calls; ++i) {
      if (auto f = model.run(t.inputs, t.outputs, {}); !f) return f.failure();
    }
    const double each = seconds_since(begin) / static_cast<double>(calls);
    if (round >= 0) rounds.push_back(each * 1e6);
    if (round < 0) calls = std::max<int64_t>(1, std::llround(kRoundSeconds / each));
  }
  return spread_of(std::move(rounds));
}

/// The elements of a dense tensor.
std::vector<double> values_of(const TensorRef& t) {
  std::vector<double> out;
  if (is_packed(t.type())) {  // byte by byte
    std::vector<int64_t> shape;
    for (int i = 0; i < t.rank(); ++i) shape.push_back(t.extent(i));
    const auto* bytes = static_cast<const uint8_t*>(t.data());
    return {bytes, bytes + dense_bytes(t.type(), shape)};
  }
  for (int64_t i = 0; i < t.count(); ++i) {
    out.push_back(is_float(t.type()) ? jit::read_float(t.type(), t.data(), i)
                                     : static_cast<double>(jit::read_int(t.type(), t.data(), i)));
  }
  return out;
}

/// The largest difference from what the graph makes node by node, as a share of the largest element
/// of its output.
Result<double> difference(const LoadedGraph& g) {
  auto apart = ModelState::load(*g.engine, g.file,
                                {.dims = g.dims, .weights = g.tensors.weights, .fuse = false});
  if (!apart) return apart.failure();
  std::vector<std::vector<double>> results[2];
  for (const bool fused : {false, true}) {
    const ModelState& model = fused ? *g.model : **apart;
    if (auto f = model.run(g.tensors.inputs, g.tensors.outputs, {}); !f) return f.failure();
    for (const NamedTensor& t : g.tensors.outputs) {
      results[fused].push_back(values_of(t.tensor));
    }
  }
  double most = 0;
  for (size_t i = 0; i < results[0].size(); ++i) {
    double largest = 0, apart_by = 0;
    for (size_t j = 0; j < results[0][i].size(); ++j) {
      const double want = results[0][i][j], got = results[1][i][j];
      if (std::isfinite(want)) largest = std::max(largest, std::abs(want));
      if (want == got || (std::isnan(want) && std::isnan(got))) continue;
      apart_by = std::max(apart_by, std::isfinite(want - got) ? std::abs(want - got) : INFINITY);
    }
    if (apart_by > 0) most = std::max(most, apart_by / largest);
  }
  return most;
}

/// How far results of a graph may lie apart.
double tolerance_of(const ops::Graph& graph) {
  const bool bytes = std::any_of(graph.values.begin(), graph.values.end(), [](const auto& v) {
    const bool byte = v.type == DType::kI8 || v.type == DType::kU8;
    return v.kind == ops::GraphValue::kMade && byte;
  });
  return bytes ? kByteTolerance : kTolerance;
}

/// One kernel of the model by itself.
struct StepOutcome {
  CheckOutcome check;
  std::optional<Speed> speed;
};

Result<StepOutcome> try_step(const LoadedGraph& g, const ModelCall& call, bool check, bool time) {
  StepOutcome out;
  auto problem = g.engine->parse(call.kernel->problem);
  if (!problem) return problem.failure();
  if (check) {
    auto checked = check_kernel(call.kernel, *problem);
    if (!checked) return checked.failure();
    out.check = std::move(*checked);
  }
  if (time) {
    Limits limits = g.engine->limits();
    auto speed = time_kernel(call.kernel, *problem, &limits);
    if (!speed) return speed.failure();
    out.speed = std::move(*speed);
  }
  return out;
}

std::string kernel_name(const ModelStep& step) {
  return fmt::format("{}", fmt::join(step.ops, "+"));
}

Json json_of(const ModelStep& step) {
  return {{"ops", step.ops},
          {"reads", step.reads},
          {"makes", step.makes},
          {"problem", step.kernel.problem()},
          {"schedule", step.kernel.schedule()},
          {"source", name_of(step.kernel.source())}};
}

Json json_of(const ModelMemory& m) {
  return {{"weights", m.weights},
          {"values", m.values},
          {"values_sum", m.values_sum},
          {"workspace", m.workspace},
          {"call", m.call}};
}

std::string memory_text(const ModelMemory& m) {
  return fmt::format("weights {} bytes; a call {}: values {} ({} if none shared), workspace {}",
                     m.weights, m.call, m.values, m.values_sum, m.workspace);
}

std::string header(const LoadedGraph& g) {
  return fmt::format("graph {} {}\n  target    {}\n  kernels   {}, of {} nodes\n  memory    {}\n",
                     g.file.graph.name, g.dims, g.engine->target_text, g.model->calls.size(),
                     g.file.graph.nodes.size(), memory_text(g.model->memory));
}

}  // namespace

bool names_graph(const std::vector<std::string>& words) {
  return !words.empty() && is_model_file(words[0]);
}

int run_graph(const Common& common, const std::vector<std::string>& words, bool check, bool time) {
  const auto loaded = load(common, words);
  if (!loaded) return report(common, loaded.failure());
  const LoadedGraph& g = *loaded;
  Json object = {{"graph", g.file.graph.text},
                 {"dims", g.dims},
                 {"load_ms", g.load_ms},
                 {"memory", json_of(g.model->memory)}};
  if (!common.json) std::cout << header(g) << fmt::format("  load      {:.1f} ms\n", g.load_ms);
  bool right = true;
  double sum_us = 0;
  for (size_t i = 0; i < g.model->calls.size(); ++i) {
    const ModelStep& step = g.model->steps[i];
    const auto tried = try_step(g, g.model->calls[i], check, time);
    if (!tried) return report(common, tried.failure());
    right &= tried->check.mismatch.empty();
    Json row = json_of(step);
    if (!tried->check.mismatch.empty()) row["mismatch"] = tried->check.mismatch;
    if (tried->speed) {
      sum_us += tried->speed->time_us;
      row.update(speed_json(&*tried->speed));
    }
    object["steps"].push_back(std::move(row));
    if (common.json) continue;
    std::cout << fmt::format("  {:<9} {}", i + 1, kernel_name(step));
    if (tried->speed) {
      std::cout << fmt::format(": {:.1f} us, {}", tried->speed->time_us,
                               text_of(tried->speed->share));
    }
    std::cout << (tried->check.mismatch.empty() ? "" : "\n  WRONG     " + tried->check.mismatch)
              << "\n";
  }
  if (check) {
    const auto apart = difference(g);
    if (!apart) return report(common, apart.failure());
    right &= *apart <= tolerance_of(g.file.graph);
    object["difference"] = *apart;
    if (!common.json) {
      std::cout << fmt::format("  {:<9} at most {:.2g} of the largest element from node by node\n",
                               right ? "right" : "WRONG", *apart);
    }
  }
  if (time) {
    const auto whole = time_calls(*g.model, g.tensors);
    if (!whole) return report(common, whole.failure());
    object["time_us"] = whole->median;
    if (!common.json) {
      std::cout << fmt::format("  time      {}; kernels by themselves {:.1f} us\n",
                               text_of_time(whole->median, whole->low, whole->high), sum_us);
    }
  }
  if (common.json) print_line(object);
  return right ? kExitOk : kExitMismatch;
}

int tune_graph(const Common& common, const std::vector<std::string>& words,
               const TuneOptions& options) {
  const auto loaded = load(common, words);
  if (!loaded) return report(common, loaded.failure());
  const LoadedGraph& g = *loaded;
  if (!common.json) std::cout << header(g);
  const auto tell = [&](const TunedKernel& k) {
    if (common.json) return;
    const TuneResult& r = k.result;
    std::cout << fmt::format("  run {:<5} {}{}: {}\n", k.runs, fmt::join(k.ops, "+"),
                             k.uses > 1 ? fmt::format(", {} times", k.uses) : "",
                             r.end == TuneEnd::kHit
                                 ? fmt::format("{:.1f} us, from the cache", r.time_us)
                                 : fmt::format("{:.1f} us, {} ({})", r.time_us,
                                               text_of(Share{r.of_limit, r.busy}), name_of(r.end)))
              << std::flush;
  };
  const auto tuned = tune_model(*g.engine, *g.model, options, tell);
  if (!tuned) return report(common, tuned.failure());
  double before = 0, after = 0;
  Json object = {{"graph", g.file.graph.text}, {"dims", g.dims}};
  for (const TunedKernel& k : *tuned) {
    before += k.uses * (k.default_us > 0 ? k.default_us : k.result.time_us);
    after += k.uses * k.result.time_us;
    object["kernels"].push_back({{"ops", k.ops},
                                 {"uses", k.uses},
                                 {"problem", k.result.problem},
                                 {"schedule", k.result.schedule},
                                 {"default_us", k.default_us},
                                 {"time_us", k.result.time_us},
                                 {"of_limit", k.result.of_limit},
                                 {"runs", k.runs},
                                 {"seconds", k.seconds},
                                 {"end", name_of(k.result.end)}});
  }
  object["default_us"] = before;
  object["time_us"] = after;
  if (common.json) {
    print_line(object);
  } else {
    std::cout << fmt::format("  kernels   {:.1f} us together, {:.1f} us untuned\n", after, before);
  }
  return kExitOk;
}

int show_graph(const Common& common, const std::vector<std::string>& words,
               const GraphViews& views) {
  const auto loaded = load(common, words);
  if (!loaded) return report(common, loaded.failure());
  const LoadedGraph& g = *loaded;
  const bool kernels = !views.memory && !views.dot;
  if (common.json) {
    Json object = {
        {"graph", g.file.graph.text}, {"dims", g.dims}, {"memory", json_of(g.model->memory)}};
    if (views.memory) object["plan"] = memory_plan_json(*g.model);
    if (views.dot) object["dot"] = dot_of(*g.model);
    for (const ModelStep& step : g.model->steps) {
      if (kernels) object["steps"].push_back(json_of(step));
    }
    print_line(object);
    return kExitOk;
  }
  if (views.memory) {
    std::cout << (views.dot ? "--- memory\n" : "") << memory_plan_text(*g.model);
  }
  if (views.dot) {
    std::cout << (views.memory ? "--- graph\n" : "") << dot_of(*g.model);
  }
  if (!kernels) return kExitOk;
  std::cout << header(g);
  for (size_t i = 0; i < g.model->steps.size(); ++i) {
    const ModelStep& step = g.model->steps[i];
    std::cout << fmt::format("--- {} {}: {} -> {}\n{}\n{} ({})\n", i + 1, kernel_name(step),
                             fmt::join(step.reads, ", "), fmt::join(step.makes, ", "),
                             step.kernel.problem(), schedule_lines(step.kernel.schedule()),
                             name_of(step.kernel.source()));
  }
  return kExitOk;
}

}  // namespace hone::runtime
