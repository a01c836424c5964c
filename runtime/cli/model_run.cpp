// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_run.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "runtime/cli/model_compare.h"
#include "runtime/cli/model_dot.h"
#include "runtime/cli/model_load.h"
#include "runtime/cli/model_memory.h"
#include "runtime/cli/model_report.h"
#include "runtime/cli/model_time.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trial_run.h"
#include "runtime/measure/spread.h"
#include "runtime/model/model_state.h"
#include "runtime/model/tune_model.h"

namespace hone::runtime {
namespace {

/// Calls a model. Its outputs, of the shapes that come.
Result<std::vector<NamedTensor>> call_once(const LoadedGraph& g, const ModelState& model) {
  std::vector<TensorShape> shapes(g.tensors.outputs.size());
  const auto done = model.run(g.tensors.inputs, g.tensors.outputs, {.shapes = shapes});
  if (!done) return done.failure();
  return with_shapes(g.tensors.outputs, shapes);
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
    const auto outputs = call_once(g, model);
    if (!outputs) return outputs.failure();
    results[fused] = elements_of(*outputs);
  }
  return difference_of(results[0], results[1]);
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
  int beside = 0;
  for (const ModelWave& wave : g.model->waves) beside += wave.count > 1 ? wave.count : 0;
  return fmt::format(
      "graph {} {}\n  target    {}\n  kernels   {}, of {} nodes{}\n  memory    {}\n",
      g.file.graph.name, g.dims, g.engine->target_text, g.model->calls.size(),
      g.file.graph.nodes.size(),
      beside ? fmt::format("; {} of them run at the same time as others", beside) : "",
      memory_text(g.model->memory));
}

/// Inputs or outputs that have files, a line for each. The tensors are in `lists`.
std::string files_text(const LoadedGraph& g, bool outputs,
                       std::initializer_list<std::span<const NamedTensor>> lists) {
  std::string text;
  for (const TensorFile& file : outputs ? g.outputs : g.inputs) {
    for (const auto& list : lists) {
      for (const NamedTensor& t : list) {
        if (t.name != file.tensor) continue;
        text += fmt::format("  {:<9} {} {} {}\n", outputs ? "output" : "input", text_of(t),
                            outputs ? "to" : "from", file.path);
      }
    }
  }
  return text;
}

/// The same as an object: files by tensor.
Json files_json(const LoadedGraph& g, bool outputs) {
  Json out = Json::object();
  for (const TensorFile& file : outputs ? g.outputs : g.inputs) out[file.tensor] = file.path;
  return out;
}

/// Measures the model and writes its report. The exit code.
int write_html(const Common& common, const LoadedGraph& g, const std::string& path) {
  // A path that cannot be written is told before anything is measured.
  std::ofstream file(path, std::ios::binary);
  const Failure unwritten{ErrorCode::kArgument, fmt::format("--html: {} cannot be written", path)};
  if (!file) return report(common, unwritten);
  const auto facts = model_report(g);
  if (!facts) return report(common, facts.failure());
  const std::string page = report_page(*facts);
  file << page;
  file.close();
  if (!file) return report(common, unwritten);
  if (common.json) {
    print_line({{"html", path}, {"bytes", page.size()}});
  } else {
    std::cout << fmt::format("{}: {} kernels, {:.1f} us a call, {} bytes\n", path,
                             g.model->calls.size(), (*facts)["time_us"].get<double>(), page.size());
  }
  return kExitOk;
}

/// Calls the model and writes the outputs that have files. All of them.
Result<std::vector<NamedTensor>> write_results(const LoadedGraph& g) {
  const auto outputs = call_once(g, *g.model);
  if (!outputs) return outputs.failure();
  if (auto f = write_outputs(g, *outputs); !f) return f.failure();
  return outputs;
}

/// The functions of the host that run before kernel `before`, a line for each; `--- ` stands before
/// them where kernels have it.
std::string host_lines(const ModelState& model, size_t before, std::string_view start) {
  std::string text;
  for (const ModelHostStep& h : model.host_steps) {
    if (h.before != before) continue;
    text += fmt::format("{}host {}: {} -> {}; its data tell {}, at most {}\n", start, h.function,
                        fmt::join(h.reads, ", "), fmt::join(h.makes, ", "), h.dim, h.most);
  }
  return text;
}

Json json_of(const ModelHostStep& h) {
  return {{"function", h.function}, {"reads", h.reads}, {"makes", h.makes},
          {"dim", h.dim},           {"most", h.most},   {"before", h.before}};
}

}  // namespace

bool names_graph(const std::vector<std::string>& words) {
  return !words.empty() && is_model_file(words[0]);
}

int run_graph(const Common& common, const ModelLine& line, bool check, bool time) {
  const auto loaded = load_graph(common, line);
  if (!loaded) return report(common, loaded.failure());
  const LoadedGraph& g = *loaded;
  Json object = {{"graph", g.file.graph.text},     {"dims", g.dims},
                 {"load_ms", g.load_ms},           {"memory", json_of(g.model->memory)},
                 {"inputs", files_json(g, false)}, {"outputs", files_json(g, true)}};
  if (!common.json) {
    std::cout << header(g) << fmt::format("  load      {:.1f} ms\n", g.load_ms)
              << files_text(g, false, {g.tensors.weights, g.tensors.inputs});
  }
  bool right = true;
  double sum_us = 0;
  for (const ModelHostStep& h : g.model->host_steps) object["host_steps"].push_back(json_of(h));
  for (size_t i = 0; i < g.model->calls.size(); ++i) {
    if (!common.json) std::cout << host_lines(*g.model, i, "  ");
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
  if (!common.json) std::cout << host_lines(*g.model, g.model->calls.size(), "  ");
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
  if (!g.outputs.empty()) {
    const auto outputs = write_results(g);
    if (!outputs) return report(common, outputs.failure());
    if (!common.json) std::cout << files_text(g, true, {*outputs});
  }
  if (common.json) print_line(object);
  return right ? kExitOk : kExitMismatch;
}

int tune_graph(const Common& common, const ModelLine& line, const TuneOptions& options) {
  const auto loaded = load_graph(common, line);
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
  Json object = {{"graph", g.file.graph.text}, {"dims", g.dims}};
  for (const TunedKernel& k : tuned->kernels) {
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
  object["changes"] = Json::array();
  for (const TriedChange& c : tuned->changes) {
    object["changes"].push_back(
        {{"what", c.what}, {"gone_us", c.gone_us}, {"come_us", c.come_us}, {"taken", c.taken}});
    if (common.json) continue;
    std::cout << fmt::format("  plan      {}: {:.1f} us, {:.1f} us before{}\n", c.what, c.come_us,
                             c.gone_us, c.taken ? ", taken" : "");
  }
  object["plan"] = tuned->plan;
  object["default_us"] = tuned->default_us;
  object["time_us"] = tuned->time_us;
  if (common.json) {
    print_line(object);
  } else {
    std::cout << fmt::format("  kernels   {:.1f} us together, {:.1f} us untuned\n", tuned->time_us,
                             tuned->default_us);
  }
  return kExitOk;
}

int show_graph(const Common& common, const ModelLine& line, const GraphViews& views) {
  const auto loaded = load_graph(common, line);
  if (!loaded) return report(common, loaded.failure());
  const LoadedGraph& g = *loaded;
  if (!views.html.empty()) return write_html(common, g, views.html);
  const bool kernels = !views.memory && !views.dot;
  if (common.json) {
    Json object = {
        {"graph", g.file.graph.text}, {"dims", g.dims}, {"memory", json_of(g.model->memory)}};
    if (views.memory) object["plan"] = memory_plan_json(*g.model);
    if (views.dot) object["dot"] = dot_of(*g.model);
    for (const ModelHostStep& h : g.model->host_steps) {
      if (kernels) object["host_steps"].push_back(json_of(h));
    }
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
  for (size_t i = 0; i <= g.model->steps.size(); ++i) {
    std::cout << host_lines(*g.model, i, "--- ");
    if (i == g.model->steps.size()) break;
    const ModelStep& step = g.model->steps[i];
    std::cout << fmt::format("--- {} {}: {} -> {}\n{}\n{} ({})\n", i + 1, kernel_name(step),
                             fmt::join(step.reads, ", "), fmt::join(step.makes, ", "),
                             step.kernel.problem(), schedule_lines(step.kernel.schedule()),
                             name_of(step.kernel.source()));
  }
  return kExitOk;
}

}  // namespace hone::runtime
