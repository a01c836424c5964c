// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "runtime/cli/common.h"
#include "runtime/cli/listing.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

struct ShowOptions {
  Common common;
  std::string line;
  bool schedule = false, ir = false, lir = false, assembly = false, report = false;
};

/// One view of a compiled problem.
struct View {
  const char* name;
  bool ShowOptions::*asked;
  std::string (*text)(const KernelState& kernel, const Compiled& compiled);
};

std::string schedule_text(const KernelState& k, const Compiled&) {
  std::string text;
  for (const std::string& step : schedules::Schedule::parse(k.schedule).value().steps) {
    text += step + "\n";
  }
  return text.empty() ? "(no steps)\n" : text;
}

std::string ir_text(const KernelState&, const Compiled& c) {
  return ir::print(c.scheduled) + "\n" + ir::print(c.nest);
}

std::string no_code(const Compiled& c) {
  return "no machine code: " + (c.refusal.empty() ? "the interpreter serves" : c.refusal) + "\n";
}

std::string lir_text(const KernelState&, const Compiled& c) {
  return c.code ? c.code->lir : no_code(c);
}

std::string assembly_text(const KernelState&, const Compiled& c) {
  return c.code ? listing(*c.code) : no_code(c);
}

std::string report_text(const KernelState& k, const Compiled& c) {
  std::string text = fmt::format(
      "problem      {}\ntarget       {}\nsource       {}\nnumerics     {}\nlaunches     {}\n"
      "workspace    {} bytes\n",
      k.problem, k.target, name_of(k.source), k.numerics, k.entry.launches.size(),
      k.workspace_bytes());
  if (!c.code) return text + "machine code none\n";
  const jit::Report& r = c.code->report;
  return text + fmt::format(
                    "code         {} bytes, {} instructions\nspills       {}, {} of them in an "
                    "innermost loop\nvectors      {} registers at once at most\nframe        {} "
                    "bytes\nbuilt in     {:.0f} us\n",
                    c.code->bytes.size(), r.instructions, r.spills, r.inner_spills, r.vec_peak,
                    r.frame_bytes, k.report.build_us);
}

constexpr View kViews[] = {
    {"schedule", &ShowOptions::schedule, schedule_text},
    {"ir", &ShowOptions::ir, ir_text},
    {"lir", &ShowOptions::lir, lir_text},
    {"asm", &ShowOptions::assembly, assembly_text},
    {"report", &ShowOptions::report, report_text},
};

int show(ShowOptions& options) {
  const auto line = parse_line(options.line);
  if (!line) return report(options.common, line.failure());
  auto engine = open_engine(options.common, line->target);
  if (!engine) return report(options.common, engine.failure());
  auto problem = (*engine)->parse(line->problem);
  if (!problem) return report(options.common, problem.failure());
  const auto kernel = line->scheduled ? (*engine)->compile_given(*problem, line->schedule)
                                      : (*engine)->compile(*problem, {});
  if (!kernel) return report(options.common, kernel.failure());
  BuildOptions build;
  build.keep_lir = true;
  build.refusal_rejects = false;
  const auto compiled =
      compile_schedule(problem->program, (*engine)->target, (*kernel)->schedule, build);
  if (!compiled) return report(options.common, compiled.failure().failure);
  int asked = 0;
  for (const View& view : kViews) asked += options.*view.asked ? 1 : 0;
  if (asked == 0) options.schedule = options.report = true;
  Json object = {{"problem", (*kernel)->problem}};
  for (const View& view : kViews) {
    if (!(options.*view.asked)) continue;
    const std::string text = view.text(**kernel, *compiled);
    if (options.common.json) {
      object[view.name] = text;
    } else {
      std::cout << (asked == 1 ? "" : fmt::format("--- {}\n", view.name)) << text;
    }
  }
  if (options.common.json) print_line(object);
  return kExitOk;
}

void declare(CLI::App& app, int& exit) {
  auto options = std::make_shared<ShowOptions>();
  add_common(app, options->common);
  app.add_option("line", options->line, "PROBLEM [ | TARGET [ | SCHEDULE]]")->required();
  app.add_flag("--schedule", options->schedule, "The steps");
  app.add_flag("--ir", options->ir, "Stages and the loop nest they lower to");
  app.add_flag("--lir", options->lir, "Instructions before and after register allocation");
  app.add_flag("--asm", options->assembly, "The disassembly");
  app.add_flag("--report", options->report, "Counts");
  app.callback([options, &exit] { exit = show(*options); });
}

}  // namespace

const Verb kShowVerb = {"show", "Show what was generated for a problem", declare};

}  // namespace hone::runtime
