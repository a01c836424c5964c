// SPDX-License-Identifier: Apache-2.0
// Verbs that describe: the machine and the library.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "jit/ir/expr.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/spelling.h"
#include "ops/foreign.h"
#include "runtime/cli/common.h"
#include "runtime/cli/terminal.h"
#include "runtime/machine/host.h"
#include "runtime/measure/gpu_limits.h"
#include "runtime/measure/limits.h"

namespace hone::runtime {
namespace {

struct TargetOptions {
  Common common;
  bool limits = false;
};

int show_target(const TargetOptions& options) {
  auto engine = open_engine(options.common);
  if (!engine) return report(options.common, engine.failure());
  const ir::Target& target = (*engine)->target;
  Json object = {{"target", (*engine)->target_text}};
  std::string text = (*engine)->target_text + "\n";
  if (options.limits) {
    Limits limits = (*engine)->limits();
    const auto add = [&](const std::string& name, const char* unit, double value) {
      object[name + (std::string_view(unit) == "GB/s" ? "_gbps" : "_gflops")] = value;
      text += fmt::format("{:<12} {:8.1f} {}\n", name, value, unit);
    };
    add("f32", "GFLOP/s", limits.gflops(false));
    add("f64", "GFLOP/s", limits.gflops(true));
    const bool gpu = (*engine)->services->gpu() != nullptr;
    if (gpu) {
      add("f16_tensor", "GFLOP/s", gpu_tensor_gflops(target, DType::kF16));
      add("i8_tensor", "GFLOP/s", gpu_tensor_gflops(target, DType::kI8));
      add("l2_copy", "GB/s", limits.gbps(target.l2 / 4, 0.5));
      add("memory_copy", "GB/s", limits.gbps(target.l2 * 8, 0.5));
    }
    const std::pair<const char*, int64_t> levels[] = {{"l1", target.l1d},
                                                      {"l2", target.l2 * target.threads},
                                                      {"l3", target.l3},
                                                      {"memory", target.l3 * 8}};
    for (const auto& [name, bytes] : levels) {
      if (gpu) break;
      add(fmt::format("{}_read", name), "GB/s", limits.gbps(bytes, 0));
      add(fmt::format("{}_copy", name), "GB/s", limits.gbps(bytes, 0.5));
    }
  }
  if (options.common.json) {
    print_line(object);
  } else {
    std::cout << text;
  }
  return kExitOk;
}

void declare_target(CLI::App& app, int& exit) {
  auto options = std::make_shared<TargetOptions>();
  add_common(app, options->common);
  app.add_flag("--limits", options->limits, "Measure what the machine can do at best");
  app.callback([options, &exit] { exit = show_target(*options); });
}

struct OpsOptions {
  Common common;
  std::string name;
  bool functions = false;
};

void print_op(const Common& common, const ops::Op& op, const ops::Library& library, bool whole) {
  Json cases = Json::array();
  for (const ops::Case& c : library.cases) {
    const std::string name = c.problem.substr(0, c.problem.find(' '));
    if (name == op.name())
      cases.push_back({{"kind", c.small ? "small" : "bench"}, {"problem", c.problem}});
  }
  if (common.json) {
    print_line({{"name", op.name()}, {"op", op.text()}, {"cases", cases}});
    return;
  }
  const std::string head = op.text().substr(0, op.text().find(" {"));
  std::cout << (whole ? op.text() : head) << "\n";
  if (!whole) return;
  for (const Json& c : cases) {
    std::cout << fmt::format("case {} {}\n", c["kind"].get<std::string>(),
                             c["problem"].get<std::string>());
  }
}

int list_ops(const OpsOptions& options) {
  std::vector<ops::Library> libraries;
  ops::Library known;
  const auto add = [&](std::string_view text, std::string_view origin) -> Result<Done> {
    auto library = ops::parse_library(text, origin, &known);
    if (!library) return library.failure();
    known.ops.insert(known.ops.end(), library->ops.begin(), library->ops.end());
    libraries.push_back(std::move(*library));
    return Done{};
  };
  for (const std::string& op : options.common.ops) {
    if (auto f = add(op, "--op"); !f) return report(options.common, f.failure());
  }
  for (const std::string& path : options.common.op_files) {
    const auto text = read_file(path);
    if (!text) return report(options.common, text.failure());
    if (auto f = add(*text, path); !f) return report(options.common, f.failure());
  }
  libraries.push_back(ops::stock_library());
  std::vector<std::string> names;
  int listed = 0;
  for (const ops::Library& library : libraries) {
    for (const ops::Op& op : library.ops) {
      names.push_back(op.name());
      if (op.name() != options.name) continue;
      print_op(options.common, op, library, true);
      return kExitOk;
    }
  }
  // No op of that name: those that begin so.
  for (const ops::Library& library : libraries) {
    for (const ops::Op& op : library.ops) {
      if (!op.name().starts_with(options.name)) continue;
      print_op(options.common, op, library, false);
      ++listed;
    }
  }
  if (listed > 0 || options.name.empty()) return kExitOk;
  return report(options.common,
                {ErrorCode::kNotFound,
                 fmt::format("no op begins with {}{}; there are {}", options.name,
                             ir::did_you_mean(options.name, names), fmt::join(names, " "))});
}

/// What may stand in an expression.
int list_functions(const Common& common) {
  // Those that the language takes apart itself; the rest are rows of a table.
  std::vector<std::string> functions = {"cast<type>(x)", "max(x,y)", "min(x,y)", "relu(x)",
                                        "select(condition,x,y)"};
  for (const ir::Function& f : ir::functions()) {
    const char* const arguments = *f.arguments ? f.arguments : f.arity == 2 ? "x,y" : "x";
    functions.push_back(fmt::format("{}({})", f.name, arguments));
  }
  std::sort(functions.begin(), functions.end());
  std::vector<std::string> reductions;
  for (const std::string& name : ops::reduction_words()) reductions.push_back(name + "[i](x)");
  const std::vector<std::string>& types = ops::dtype_words();
  if (common.json) {
    print_line({{"functions", functions}, {"reductions", reductions}, {"types", types}});
    return kExitOk;
  }
  const size_t width = line_width() > 0 ? line_width() : 100;
  const auto print = [&](const char* label, const std::vector<std::string>& words) {
    std::cout << fmt::format("{:<12}", label)
              << in_lines(fmt::format("{}", fmt::join(words, "; ")), 12, width) << "\n";
  };
  print("functions", functions);
  print("reductions", reductions);
  print("types", types);
  print("operators", {"+ - * / %", "& | ^ ~ << >>", "== != < <= > >=", "&& || !"});
  return kExitOk;
}

void declare_ops(CLI::App& app, int& exit) {
  auto options = std::make_shared<OpsOptions>();
  add_common(app, options->common);
  app.add_option("name", options->name,
                 "Show one op whole, with its cases; else those whose names begin so");
  app.add_flag("--functions", options->functions, "What may stand in an expression");
  app.callback([options, &exit] {
    exit = options->functions ? list_functions(options->common) : list_ops(*options);
  });
}

}  // namespace

const Verb kTargetVerb = {"target", "This machine as a target text", declare_target};
const Verb kOpsVerb = {"ops", "The library's ops", declare_ops};

}  // namespace hone::runtime
