// SPDX-License-Identifier: Apache-2.0
// The verb that makes adjoint ops, and graphs of gradients.
#include <fmt/format.h>

#include <iostream>

#include "jit/ir/spelling.h"
#include "ops/einsum.h"
#include "ops/gradient/gradient.h"
#include "ops/graph/gradient.h"
#include "runtime/cli/common.h"
#include "runtime/model/model_file.h"

namespace hone::runtime {
namespace {

struct GradOptions {
  Common common;
  std::string op;
  std::vector<std::string> wrt, take;
  ops::GraphGradientRequest graph;
};

bool is_text(const std::string& op) { return op.find('{') != op.npos || ops::is_einsum(op); }

/// The ops that the command line gives.
Result<ops::Library> given_ops(const GradOptions& options) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& op : options.common.ops) texts.emplace_back(op, "--op");
  for (const std::string& path : options.common.op_files) {
    auto text = read_file(path);
    if (!text) return text.failure();
    texts.emplace_back(std::move(*text), path);
  }
  ops::Library known;
  for (const auto& [text, origin] : texts) {
    const auto library = ops::parse_library(text, origin, &known);
    if (!library) return library.failure();
    known.ops.insert(known.ops.end(), library->ops.begin(), library->ops.end());
  }
  return known;
}

/// The op that a text is, or the one of that name among those given and the library's.
Result<ops::Op> op_of(const GradOptions& options) {
  if (is_text(options.op)) return ops::Op::parse(options.op);
  const auto known = given_ops(options);
  if (!known) return known.failure();
  std::vector<std::string> names;
  for (const ops::Library* library : {&*known, &ops::stock_library()}) {
    if (const ops::Op* op = library->find(options.op)) return *op;
    for (const ops::Op& op : library->ops) names.push_back(op.name());
  }
  return Failure{ErrorCode::kNotFound,
                 fmt::format("there is no op `{}`{}; the text of one is `op f(...) -> (...) "
                             "{{ ... }}`, in quotes",
                             options.op, ir::did_you_mean(options.op, names))};
}

int print_graph_gradient(const GradOptions& options) {
  const auto known = given_ops(options);
  if (!known) return report(options.common, known.failure());
  const auto file = read_model_file(options.op, &*known);
  if (!file) return report(options.common, file.failure());
  ops::GraphGradientRequest request = options.graph;
  request.wrt = options.wrt;
  const auto made = ops::graph_gradient(file->graph, request, &*known);
  if (!made) return report(options.common, made.failure());
  if (options.common.json) {
    print_line({{"name", file->graph.name + "_grad"}, {"graph", *made}});
  } else {
    std::cout << *made;
  }
  return kExitOk;
}

int print_gradient(const GradOptions& options) {
  const bool graph = is_model_file(options.op);
  const ops::GraphGradientRequest& of = options.graph;
  if (graph ? !options.take.empty()
            : !of.loss.empty() || !of.outputs.empty() || !of.scale.empty()) {
    return report(
        options.common,
        {ErrorCode::kArgument,
         graph ? "--take is for ops; what a graph computes is kept where it is of use"
               : "--loss, --outputs and --scale are for graphs, FILE.graph or FILE.onnx"});
  }
  if (graph) return print_graph_gradient(options);
  const auto op = op_of(options);
  if (!op) return report(options.common, op.failure());
  const auto made = ops::gradient(*op, {options.wrt, options.take});
  if (!made) return report(options.common, made.failure());
  if (options.common.json) {
    print_line({{"name", made->name()}, {"op", made->text()}});
  } else {
    std::cout << ops::lines_of_op(*made);
  }
  return kExitOk;
}

void declare_grad(CLI::App& app, int& exit) {
  auto options = std::make_shared<GradOptions>();
  add_common(app, options->common);
  app.add_option("name", options->op, "The name of an op, or its text; FILE.graph, FILE.onnx")
      ->required();
  app.add_option("--wrt", options->wrt,
                 "Arguments whose gradients are made, as in A,B; all tensors of floats where it is "
                 "left out. Of a graph: inputs, weights, values; else all weights")
      ->delimiter(',');
  app.add_option("--take", options->take,
                 "Results and intermediates that the caller has kept, so that they are arguments")
      ->delimiter(',');
  app.add_option("--loss", options->graph.loss,
                 "Of a graph: the value that is differentiated, of one element; where it is left "
                 "out, all outputs, whose gradients are inputs");
  app.add_option(
         "--outputs", options->graph.outputs,
         "Of a graph: what is made besides the gradients; where it is left out, its outputs")
      ->delimiter(',');
  app.add_option("--scale", options->graph.scale,
                 "Of a graph: an input that is the gradient of the loss, rather than 1");
  app.footer(
      "The adjoint of an op, as an op: from the arguments and the gradients of the results (dY) "
      "it\n"
      "makes the gradients of the arguments (dA). It runs as any other: hone run \"$(hone grad "
      "softmax) M=64 N=1000\"\n"
      "Of a graph it is a graph: hone grad net.graph --loss L --wrt w1,w2 > step.graph");
  app.callback([options, &exit] { exit = print_gradient(*options); });
}

}  // namespace

const Verb kGradVerb = {
    "grad", "The gradient of an op, as the text of an op; of a graph, as a graph", declare_grad};

}  // namespace hone::runtime
