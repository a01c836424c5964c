// SPDX-License-Identifier: Apache-2.0
// Verbs that describe: the machine and the library.
#include <fmt/format.h>

#include <iostream>

#include "runtime/cli/common.h"
#include "runtime/machine/gpu_limits.h"
#include "runtime/machine/host.h"
#include "runtime/machine/limits.h"

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
    Limits limits(target, (*engine)->services->pool(), (*engine)->services->gpu());
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
      add("l2_copy", "GB/s", limits.gbps(target.l2 / 4, true));
      add("memory_copy", "GB/s", limits.gbps(target.l2 * 8, true));
    }
    const std::pair<const char*, int64_t> levels[] = {{"l1", target.l1d},
                                                      {"l2", target.l2 * target.threads},
                                                      {"l3", target.l3},
                                                      {"memory", target.l3 * 8}};
    for (const auto& [name, bytes] : levels) {
      if (gpu) break;
      add(fmt::format("{}_read", name), "GB/s", limits.gbps(bytes, false));
      add(fmt::format("{}_copy", name), "GB/s", limits.gbps(bytes, true));
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
  const auto add = [&](std::string_view text, std::string_view origin) -> Failure {
    auto library = ops::parse_library(text, origin);
    if (!library) return library.failure();
    libraries.push_back(std::move(*library));
    return {ErrorCode::kOk, {}};
  };
  for (const std::string& op : options.common.ops) {
    if (Failure f = add(op, "--op"); f.code != ErrorCode::kOk) return report(options.common, f);
  }
  for (const std::string& path : options.common.op_files) {
    const auto text = read_file(path);
    if (!text) return report(options.common, text.failure());
    if (Failure f = add(*text, path); f.code != ErrorCode::kOk) return report(options.common, f);
  }
  libraries.push_back(ops::stock_library());
  std::string names;
  for (const ops::Library& library : libraries) {
    for (const ops::Op& op : library.ops) {
      names += (names.empty() ? "" : " ") + op.name();
      if (!options.name.empty() && op.name() != options.name) continue;
      print_op(options.common, op, library, !options.name.empty());
      if (!options.name.empty()) return kExitOk;
    }
  }
  if (options.name.empty()) return kExitOk;
  return report(options.common,
                {ErrorCode::kNotFound, fmt::format("no op {}; there are {}", options.name, names)});
}

void declare_ops(CLI::App& app, int& exit) {
  auto options = std::make_shared<OpsOptions>();
  add_common(app, options->common);
  app.add_option("name", options->name, "Show one op whole, with its cases");
  app.callback([options, &exit] { exit = list_ops(*options); });
}

}  // namespace

const Verb kTargetVerb = {"target", "This machine as a target text", declare_target};
const Verb kOpsVerb = {"ops", "The library's ops", declare_ops};

}  // namespace hone::runtime
