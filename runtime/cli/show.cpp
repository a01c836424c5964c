// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "jit/cuda/nvrtc.h"
#include "runtime/cli/common.h"
#include "runtime/cli/cpu_report.h"
#include "runtime/cli/cuda_report.h"
#include "runtime/cli/listing.h"
#include "runtime/cli/model_run.h"
#include "runtime/cli/report_text.h"
#include "runtime/cli/show_halide.h"
#include "runtime/device/backend.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

struct ShowOptions {
  Common common;
  std::vector<std::string> words;
  std::vector<std::string> dims;  ///< of --dim
  std::string given;              ///< with --schedule: a schedule by hand, or the problem
  bool schedule = false, ir = false, lir = false, source = false;
  bool assembly = false, report = false, why = false, halide = false;
  GraphViews views;  ///< of a model
};

/// What views are of.
struct Shown {
  EngineState& engine;
  const ops::Problem& problem;
  const KernelState& kernel;
  const Compiled& compiled;
};

/// One view of a compiled problem: a text, or an object of facts.
struct View {
  const char* name;
  bool ShowOptions::*asked;
  Json (*value)(const Shown& shown);
};

Json schedule_view(const Shown& s) {
  std::string text;
  for (const std::string& step : schedules::Schedule::parse(s.kernel.schedule).value().texts()) {
    text += step + "\n";
  }
  return text.empty() ? "(no steps)\n" : text;
}

/// What the rules made of each stage, which is the schedule that is taken untuned.
Json why_view(const Shown& s) {
  std::string text;
  for (const schedules::RuleTrial& t : schedules::explain(s.problem.program, s.engine.target)) {
    text += fmt::format("{:<10} {:<8} {} {}\n", t.rule, t.stage, t.applied ? "yes" : "no ", t.what);
    for (const schedules::Decision& d : t.decisions) {
      text +=
          fmt::format("{:<23} decided: {}: {} of 0 to {}\n", "", d.what, d.taken, d.options - 1);
    }
  }
  return text.empty() ? "no rule is for this target: every loop runs as it stands\n" : text;
}

Json ir_view(const Shown& s) {
  return ir::print(s.compiled.scheduled) + "\n" + ir::print(s.compiled.nest());
}

std::string no_code(const Compiled& c) {
  return "no machine code: " + (c.refusal.empty() ? "the interpreter serves" : c.refusal) + "\n";
}

Json lir_view(const Shown& s) {
  const Compiled& c = s.compiled;
  const jit::X86Code* code = jit::x86_code(*c.code);
  return code ? code->lir : no_code(c);
}

Json source_view(const Shown& s) {
  const jit::CudaSource* source = cuda_source(*s.compiled.code);
  return source ? source->kernels : "no source: machine code is made without\n";
}

/// PTX, where NVRTC is at hand.
std::string ptx(const ir::Target& target, const jit::CudaSource& source) {
  const auto nvrtc = jit::Nvrtc::open();
  if (!nvrtc) return "no PTX: " + nvrtc.failure().message + "\n";
  const auto binary = nvrtc->compile(source, target.sm, target.ptx);
  return binary ? binary->ptx : binary.failure().message + "\n";
}

Json assembly_view(const Shown& s) {
  const Compiled& c = s.compiled;
  if (const jit::CudaSource* source = cuda_source(*c.code)) return ptx(s.engine.target, *source);
  const jit::X86Code* code = jit::x86_code(*c.code);
  return code ? listing(*code, c.nest()) : no_code(c);
}

Json report_view(const Shown& s) {
  const KernelState& k = s.kernel;
  const Compiled& c = s.compiled;
  const jit::X86Code* code = jit::x86_code(*c.code);
  Json facts = {{"problem", k.problem},
                {"target", k.target},
                {"source", name_of(k.source)},
                {"numerics", k.numerics},
                {"launches", k.entry.launches.size()},
                {"workspace_bytes", k.workspace_bytes()},
                {"code_bytes", code ? code->bytes.size() : 0}};
  if (cuda_source(*c.code)) facts.update(cuda_report(c, s.engine.target));
  if (!code) return facts;
  const jit::Report& r = code->report;
  facts["instructions"] = r.instructions;
  facts["spills"] = r.spills;
  facts["inner_spills"] = r.inner_spills;
  facts["vector_registers"] = r.vec_peak;
  facts["frame_bytes"] = r.frame_bytes;
  facts["jit_us"] = rounded(k.report.build_us);
  facts.update(cpu_report(s.engine, s.problem, c));
  return facts;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return text_of_facts(value);
}

constexpr View kViews[] = {
    {"schedule", &ShowOptions::schedule, schedule_view},
    {"ir", &ShowOptions::ir, ir_view},
    {"lir", &ShowOptions::lir, lir_view},
    {"source", &ShowOptions::source, source_view},
    {"asm", &ShowOptions::assembly, assembly_view},
    {"why", &ShowOptions::why, why_view},
    {"report", &ShowOptions::report, report_view},
};

/// The line to show; settles what `--schedule` asks for.
Result<ReproLine> shown_line(ShowOptions& options) {
  std::vector<std::string> words = options.words;
  const bool text = !options.given.empty();
  const bool by_hand = text && !words.empty() && begins_line(words[0]);
  // `--schedule PROBLEM` asks for the steps of what is chosen.
  if (text && !by_hand) words.insert(words.begin(), options.given);
  auto line = only_line(words, "show");
  if (line && by_hand) line->prefer(options.given);
  options.schedule = options.schedule && !by_hand;
  return line;
}

/// A view by itself: it compiles nothing.
int show_halide(const Common& common, const ReproLine& line) {
  const auto text = halide_text(common, line);
  if (!text) return report(common, text.failure());
  if (common.json) {
    print_line({{"halide", *text}});
  } else {
    std::cout << *text;
  }
  return kExitOk;
}

int show(ShowOptions& options) {
  if (options.views.memory || options.views.dot || !options.views.html.empty()) {
    return report(options.common,
                  {ErrorCode::kArgument,
                   "--memory and --graph are of models, and so is --html: name a FILE.graph or "
                   "FILE.onnx"});
  }
  auto asked_line = shown_line(options);
  if (!asked_line) return report(options.common, asked_line.failure());
  if (options.halide) return show_halide(options.common, *asked_line);
  const auto line = compile_line(options.common, *asked_line);
  if (!line) return report(options.common, line.failure());
  const auto& [engine, problem, kernel] = *line;
  BuildOptions build;
  build.keep_lir = true;
  build.refusal_rejects = false;
  const auto compiled = compile_schedule(problem.program, engine->target, kernel->schedule, build);
  if (!compiled) return report(options.common, compiled.failure().failure());
  int asked = 0;
  for (const View& view : kViews) asked += options.*view.asked ? 1 : 0;
  if (asked == 0) options.schedule = options.report = true;
  Json object = {{"problem", kernel->problem}, {"target", kernel->target}};
  for (const View& view : kViews) {
    if (!(options.*view.asked)) continue;
    Json value = view.value({*engine, problem, *kernel, *compiled});
    if (options.common.json) {
      object[view.name] = std::move(value);
    } else {
      std::cout << (asked == 1 ? "" : fmt::format("--- {}\n", view.name)) << text_of(value);
    }
  }
  if (options.common.json) print_line(object);
  return kExitOk;
}

/// Shows the problem or the model that the words name.
int show_words(ShowOptions& options) {
  auto words = with_dims(options.words, options.dims);
  if (!words) return report(options.common, words.failure());
  options.words = *std::move(words);
  if (!names_graph(options.words)) return show(options);
  return show_graph(options.common, {.words = options.words}, options.views);
}

void declare_show(CLI::App& app, int& exit) {
  auto options = std::make_shared<ShowOptions>();
  add_common(app, options->common);
  app.add_option(
      "problem", options->words,
      "PROBLEM [ | TARGET [ | SCHEDULE]], in quotes or not; or FILE.graph or FILE.onnx and "
      "its dims");
  CLI::Option* steps =
      app.add_option("--schedule", options->given,
                     "The steps; with a text, a schedule by hand where the line names none")
          ->expected(0, 1);
  app.add_flag("--ir", options->ir, "Stages and the loop nest they lower to");
  app.add_flag("--lir", options->lir, "Instructions before and after register allocation");
  app.add_flag("--source", options->source, "CUDA C++, where the target is a GPU");
  app.add_flag("--asm", options->assembly, "The disassembly; PTX where the target is a GPU");
  app.add_flag("--halide", options->halide,
               "By itself: C++ for users of Halide, with the schedule given or the untuned one");
  app.add_flag("--why", options->why,
               "What each rule made of each stage, or why nothing; for the untuned schedule");
  app.add_flag("--report", options->report,
               "Counts, what binds, and how far from the limit the best known schedule is");
  add_dims(app, options->dims);
  app.add_flag("--memory", options->views.memory,
               "Of a model: where the tensors between kernels lie, and when they live");
  app.add_flag("--graph", options->views.dot,
               "Of a model: kernels, nodes and tensors in Graphviz's DOT");
  app.add_option("--html", options->views.html,
                 "Of a model: a file for a page with its graph, its kernels' times and limits, its "
                 "memory, and how they were tuned");
  app.callback([options, steps, &exit] {
    options->schedule = steps->count() > 0;
    exit = show_words(*options);
  });
}

}  // namespace

const Verb kShowVerb = {"show", "Show what was generated for a problem", declare_show};

}  // namespace hone::runtime
