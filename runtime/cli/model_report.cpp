// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/model_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "runtime/cli/model_memory.h"
#include "runtime/cli/model_time.h"
#include "runtime/cli/trial_run.h"
#include "runtime/measure/work.h"

namespace hone::runtime {
namespace {

/// A place of the graph that is drawn: a kernel, a node that takes none, an input or an output.
struct ReportUnit {
  const char* kind;
  std::string name;
};

/// Who reads what of whom.
class Wiring {
 public:
  explicit Wiring(const ModelState& model) : model_(model), graph_(model.graph) {
    for (size_t k = 0; k < model.calls.size(); ++k) {
      for (const int n : model.calls[k].nodes) unit_of_node_[n] = units_.size();
      units_.push_back({"kernel", kernel_name(model.steps[k])});
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto [at, view] = unit_of_node_.emplace(static_cast<int>(n), units_.size());
      const char* kind = graph_.nodes[n].host ? "host" : "view";
      if (view) units_.push_back({kind, graph_.nodes[n].op.name()});
      for (const int v : graph_.nodes[n].makes) {
        if (v >= 0) maker_[v] = at->second;
      }
    }
  }

  Json run() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (graph_.values[v].kind != ops::GraphValue::kInput) continue;
      maker_[static_cast<int>(v)] = units_.size();
      units_.push_back({"input", model_.values[v].name});
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (const int v : graph_.nodes[n].reads) add(v, unit_of_node_.at(static_cast<int>(n)));
    }
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      if (!graph_.values[v].output) continue;
      add(static_cast<int>(v), units_.size());
      units_.push_back({"output", model_.values[v].name});
    }
    Json units = Json::array();
    for (const ReportUnit& u : units_) units.push_back({{"kind", u.kind}, {"name", u.name}});
    return {{"units", std::move(units)}, {"edges", std::move(edges_)}};
  }

 private:
  void add(int v, size_t to) {
    const auto made = maker_.find(v);  // weights have no maker
    if (made == maker_.end() || made->second == to) return;
    if (!seen_.insert({v, to}).second) return;
    edges_.push_back({{"from", made->second}, {"to", to}, {"tensor", text_of(v)}});
  }

  std::string text_of(int v) const {
    const ModelValue& value = model_.values[static_cast<size_t>(v)];
    std::vector<std::string> extents;
    for (const ir::Expr& e : value.shape) extents.push_back(ir::print(e));
    return fmt::format("{} {}[{}]", value.name, name_of(value.type), fmt::join(extents, ","));
  }

  const ModelState& model_;
  const ops::Graph& graph_;
  std::vector<ReportUnit> units_;
  std::map<int, size_t> unit_of_node_;
  std::map<int, size_t> maker_;  ///< of a value: its unit
  std::set<std::pair<int, size_t>> seen_;
  Json edges_ = Json::array();
};

/// How the search of a problem went: the times that were the best so far, and by which trial. Null
/// where nothing was measured.
Json history_of(const std::vector<Trial>& trials) {
  Json best = Json::array();
  std::map<std::string, int> verdicts;
  double least = 0;
  for (size_t i = 0; i < trials.size(); ++i) {
    ++verdicts[trials[i].verdict];
    const double us = trials[i].median_us;
    if (trials[i].verdict != kVerdictOk || us <= 0 || (least > 0 && us >= least)) continue;
    least = us;
    best.push_back({i + 1, us});
  }
  if (best.empty()) return {};
  return {{"trials", trials.size()}, {"verdicts", verdicts}, {"best", std::move(best)}};
}

class ReportMaker {
 public:
  explicit ReportMaker(const LoadedGraph& g) : g_(g), limits_(g.engine->limits()) {}

  Result<Json> run() {
    const ModelState& model = *g_.model;
    const auto whole = time_calls(model, g_.tensors);
    if (!whole) return whole.failure();
    Json object = {{"file", std::filesystem::path(g_.path).filename().string()},
                   {"graph", g_.file.graph.name},
                   {"dims", g_.dims},
                   {"target", g_.engine->target_text},
                   {"nodes", g_.file.graph.nodes.size()},
                   {"load_ms", g_.load_ms},
                   {"time_us", whole->median},
                   {"time_low_us", whole->low},
                   {"time_high_us", whole->high}};
    Json kernels = Json::array();
    for (size_t k = 0; k < model.calls.size(); ++k) {
      auto kernel = kernel_facts(k);
      if (!kernel) return kernel.failure();
      kernels.push_back(*std::move(kernel));
    }
    object["kernels"] = std::move(kernels);
    object["searches"] = std::move(searches_);
    object["wiring"] = Wiring(model).run();
    object["plan"] = memory_plan_json(model);
    object["memory"] = {{"weights", model.memory.weights},
                        {"values", model.memory.values},
                        {"values_sum", model.memory.values_sum},
                        {"workspace", model.memory.workspace},
                        {"call", model.memory.call}};
    object["machine"] = machine_facts();
    return object;
  }

 private:
  Result<Json> kernel_facts(size_t k) {
    const ModelCall& call = g_.model->calls[k];
    const ModelStep& step = g_.model->steps[k];
    const std::string& problem = call.kernel->problem;
    auto known = measured_.find(problem);
    if (known == measured_.end()) {
      auto facts = measure(call);
      if (!facts) return facts.failure();
      known = measured_.emplace(problem, *std::move(facts)).first;
    }
    Json nodes = Json::array();
    for (const int n : call.nodes) {
      nodes.push_back(print(g_.model->graph.nodes[static_cast<size_t>(n)].use));
    }
    Json out = {{"ops", step.ops},
                {"nodes", std::move(nodes)},
                {"reads", step.reads},
                {"makes", step.makes},
                {"problem", problem},
                {"schedule", call.kernel->schedule},
                {"source", name_of(call.kernel->source)}};
    out.update(known->second);
    return out;
  }

  /// What all kernels of a problem have in common.
  Result<Json> measure(const ModelCall& call) {
    auto problem = g_.engine->parse(call.kernel->problem);
    if (!problem) return problem.failure();
    const auto speed = time_kernel(call.kernel, *problem, &limits_);
    if (!speed) return speed.failure();
    const Work work = work_of(problem->program, timing_dims(problem->program), g_.engine->target);
    Json facts = speed_json(&*speed);
    facts["operations"] = work.operations;
    facts["bytes"] = work.bytes();
    const auto trials = g_.engine->cache->trials(g_.engine->key_of(problem->text));
    Json history = history_of(trials);
    facts["search"] = history.is_null() ? Json() : Json(searches_.size());
    if (!history.is_null()) searches_.push_back(std::move(history));
    return facts;
  }

  /// The lines of a roofline: arithmetic of all cores together, and each level's bandwidth.
  Json machine_facts() {
    const ir::Target& target = g_.engine->target;
    const int64_t cores = target.threads;
    std::vector<std::pair<const char*, double>> levels;
    if (target.is_cuda()) {
      levels = {{"L2", limits_.gbps(target.l2 / 2, 0)}};
    } else {
      levels = {{"L1", limits_.gbps(target.l1d * cores / 2, 0)},
                {"L2", limits_.gbps(target.l2 * cores / 2, 0)},
                {"L3", limits_.gbps(target.l3 / 2, 0)}};
    }
    levels.emplace_back("memory", limits_.memory_gbps());
    Json out = {{"gflops", limits_.gflops(false)}, {"levels", Json::array()}};
    for (const auto& [name, gbps] : levels) {
      out["levels"].push_back({{"name", name}, {"gbps", gbps}});
    }
    return out;
  }

  const LoadedGraph& g_;
  Limits limits_;
  std::map<std::string, Json> measured_;  ///< by problem
  Json searches_ = Json::array();
};

}  // namespace

Result<Json> model_report(const LoadedGraph& g) { return ReportMaker(g).run(); }

std::string report_page(const Json& report) {
  // In a script element nothing but `<` ends the text or begins a comment, and JSON may have it in
  // strings alone.
  std::string data;
  for (const char c : line_of(report)) {
    if (c == '<') {
      data += "\\u003c";
    } else {
      data += c;
    }
  }
  constexpr std::string_view kMark = "@DATA@";
  std::string page(report_template());
  return page.replace(page.find(kMark), kMark.size(), data);
}

}  // namespace hone::runtime
