// SPDX-License-Identifier: Apache-2.0
// The verb that makes adjoint ops.
#include <fmt/format.h>

#include <iostream>

#include "jit/ir/spelling.h"
#include "ops/einsum.h"
#include "ops/gradient/gradient.h"
#include "runtime/cli/common.h"

namespace hone::runtime {
namespace {

struct GradOptions {
  Common common;
  std::string op;
  std::vector<std::string> wrt, take;
};

bool is_text(const std::string& op) { return op.find('{') != op.npos || ops::is_einsum(op); }

/// The op that a text is, or the one of that name among those given and the library's.
Result<ops::Op> op_of(const GradOptions& options) {
  if (is_text(options.op)) return ops::Op::parse(options.op);
  std::vector<std::string> names;
  const auto found = [&](const ops::Library& library) {
    for (const ops::Op& op : library.ops) names.push_back(op.name());
    return library.find(options.op);
  };
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
    if (const ops::Op* op = found(*library)) return *op;
    known.ops.insert(known.ops.end(), library->ops.begin(), library->ops.end());
  }
  if (const ops::Op* op = found(ops::stock_library())) return *op;
  return Failure{ErrorCode::kNotFound,
                 fmt::format("there is no op `{}`{}; the text of one is `op f(...) -> (...) "
                             "{{ ... }}`, in quotes",
                             options.op, ir::did_you_mean(options.op, names))};
}

int print_gradient(const GradOptions& options) {
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
  app.add_option("name", options->op, "The name of an op, or its text")->required();
  app.add_option("--wrt", options->wrt,
                 "Arguments whose gradients are made, as in A,B; all tensors of floats where it is "
                 "left out")
      ->delimiter(',');
  app.add_option("--take", options->take,
                 "Results and intermediates that the caller has kept, so that they are arguments")
      ->delimiter(',');
  app.footer(
      "The adjoint of an op, as an op: from the arguments and the gradients of the results (dY) "
      "it\n"
      "makes the gradients of the arguments (dA). It runs as any other: hone run \"$(hone grad "
      "softmax) M=64 N=1000\"");
  app.callback([options, &exit] { exit = print_gradient(*options); });
}

}  // namespace

const Verb kGradVerb = {"grad", "The gradient of an op, as the text of an op", declare_grad};

}  // namespace hone::runtime
