// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "runtime/cli/model_run.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trial_run.h"
#include "runtime/tune/trials.h"

namespace hone::runtime {
namespace {

/// Chosen: patience with one run (not measured).
constexpr int kMostRunMs = 120'000;  // one run of a schedule by hand; longer is a hang

struct RunOptions {
  Common common;
  std::vector<std::string> words;
  std::vector<std::string> dims;             ///< of --dim
  std::vector<std::string> inputs, outputs;  ///< files of a model's tensors
  std::optional<std::string> schedule;       ///< for lines that have none
  bool no_check = false;
  bool no_time = false;
};

/// What a time comes to, against the limit of what binds.
std::string text_of_rate(const Speed& s) {
  std::string text =
      fmt::format("{:.1f} GFLOP/s, {:.1f} GB/s: {}", s.gflops, s.gbps, text_of(s.share));
  if (s.limit > 0) {
    text += fmt::format(", {:.0f} {}", s.limit, s.bound == "flops" ? "GFLOP/s" : "GB/s");
  }
  return text;
}

void print_speed(const Speed& speed) {
  std::cout << fmt::format("  time      {}, {}\n  speed     {}\n",
                           text_of_time(speed.time_us, speed.low_us, speed.high_us),
                           text_of_rounds(speed.rounds, speed.noisy), text_of_rate(speed));
  for (const Speed& p : speed.points) {
    std::cout << fmt::format("  at {:<6} {}, {}\n", p.at,
                             text_of_time(p.time_us, p.low_us, p.high_us), text_of_rate(p));
  }
}

void print_text(const KernelState& k, const CheckOutcome& check, const Speed* speed) {
  std::cout << fmt::format("{}\n  target    {}\n  schedule  {} ({})\n  numerics  {}\n", k.problem,
                           k.target, schedule_lines(k.schedule), name_of(k.source), k.numerics);
  std::cout << fmt::format("  build     {:.0f} us, {} bytes of code, {} spills{}\n",
                           k.report.build_us, k.report.code_bytes, k.report.spills,
                           k.report.interpreted ? ", interpreted" : "");
  if (k.report.compile_us > 0) {
    std::cout << fmt::format("  halide    schedule {:.0f} us, compile {:.0f} us\n",
                             k.report.schedule_us, k.report.compile_us);
  }
  if (!check.mismatch.empty()) {
    std::cout << "  WRONG     " << check.mismatch << "\n";
  } else if (check.compared > 0) {
    std::cout << fmt::format("  right     {} elements, the error is at most {:.3g} of the bound\n",
                             check.compared, check.max_err);
  }
  if (!speed) return;
  print_speed(*speed);
}

/// No output has an element, whatever the call says.
bool is_empty(const ir::Program& program) {
  return std::all_of(program.buffers.begin(), program.buffers.end(), [](const ir::Buffer& b) {
    int64_t extent = 1;
    const bool none = std::any_of(b.shape.begin(), b.shape.end(), [&](const ir::Expr& e) {
      return ir::is_const(e, &extent) && extent == 0;
    });
    return none || (b.role != ir::Role::kOutput && b.role != ir::Role::kInOut);
  });
}

/// Has the worker run the kernel of a schedule by hand: what is wrong with it, or empty. Damage
/// stays in that process, and what was right there may run here.
Result<std::string> try_in_worker(const CompiledLine& line) {
  const EngineState& engine = *line.engine;
  Trials trials(find_worker(engine.options.worker), line.problem.text, engine.target_text,
                engine.options.gpu);
  trials.set_timeout_ms(kMostRunMs);
  const auto tried = trials.run(line.kernel->schedule, {.samples = 0});
  if (!tried) return tried.failure();
  if (tried->ok() || tried->slow()) return std::string();
  if (tried->verdict == "wrong") return tried->note;
  const std::string what = tried->verdict + ": " + tried->note;
  if (tried->refused()) return Failure{ErrorCode::kSchedule, what};
  if (tried->lost()) return Failure{ErrorCode::kUnsupported, "no worker lasts: " + tried->note};
  return what;
}

int run_line(const RunOptions& options, const std::string& text) {
  auto given = parse_line(text);
  if (!given) return report(options.common, given.failure());
  given->prefer(options.schedule);
  const auto line = compile_line(options.common, *given);
  if (!line) return report(options.common, line.failure());
  const auto& [engine, problem, kernel] = *line;
  CheckOutcome check;
  const bool by_hand = given->scheduled && !kernel->report.interpreted;
  if (by_hand && !(options.no_check && options.no_time)) {
    auto wrong = try_in_worker(*line);
    if (!wrong) return report(options.common, wrong.failure());
    check.mismatch = *std::move(wrong);
  }
  if (!options.no_check && check.mismatch.empty()) {
    auto outcome = check_kernel(kernel, problem);
    if (!outcome) return report(options.common, outcome.failure());
    check = std::move(*outcome);
  }
  Speed speed;
  const bool timed = !options.no_time && check.mismatch.empty();
  if (timed) {
    Limits limits = engine->limits();
    auto measured = time_kernel(kernel, problem, &limits);
    if (!measured) return report(options.common, measured.failure());
    speed = *measured;
  }
  if (options.common.json) {
    print_line(run_json(*kernel, options.no_check && check.mismatch.empty() ? nullptr : &check,
                        timed ? &speed : nullptr, engine->target.threads));
  } else {
    print_text(*kernel, check, timed ? &speed : nullptr);
    if (is_empty(problem.program)) {
      std::cout << "  empty     its outputs have no elements: there is nothing to compute\n";
    }
  }
  if (check.mismatch.empty()) return kExitOk;
  if (!options.common.json) std::cerr << "hone: wrong result\n  " << kernel->repro() << "\n";
  return kExitMismatch;
}

/// All lines of the words, or the model that they name.
int run_words(const RunOptions& options) {
  auto words = with_dims(options.words, options.dims);
  if (!words) return report(options.common, words.failure());
  if (names_graph(*words)) {
    const ModelLine line{.words = *words, .inputs = options.inputs, .outputs = options.outputs};
    return run_graph(options.common, line, !options.no_check, !options.no_time);
  }
  if (!options.inputs.empty() || !options.outputs.empty()) {
    return report(options.common, {ErrorCode::kArgument,
                                   "--input and --output are of models: name a FILE.graph or "
                                   "FILE.onnx"});
  }
  const std::vector<std::string> lines = lines_of(*words);
  if (lines.empty()) return report(options.common, no_problem("run"));
  int exit = kExitOk;
  for (const std::string& line : lines) exit = std::max(exit, run_line(options, line));
  return exit;
}

constexpr const char* kRunFigures =
    "Times are medians with the middle half of the rounds; a round in which another process had a "
    "core is left out. The limit is the best that was ever measured of this machine, for as many "
    "threads; where a kernel is faster than that the machine was too busy to measure it. A kernel "
    "on several threads is timed as one has it who calls now and then. At several points (`at`) "
    "times and shares are geometric means over the points.";

void declare_run(CLI::App& app, int& exit) {
  app.footer(kRunFigures);
  auto options = std::make_shared<RunOptions>();
  add_common(app, options->common);
  app.add_option("problem", options->words,
                 "PROBLEM [ | TARGET [ | SCHEDULE]], in quotes or not; or FILE.graph and its dims");
  add_schedule(app, options->schedule);
  add_dims(app, options->dims);
  app.add_option("--input", options->inputs,
                 "Of a model: `x=x.npy`, the file of an input or of a graph's weight; those that "
                 "have none are random")
      ->allow_extra_args(false);
  app.add_option("--output", options->outputs, "Of a model: `y=y.npy`, a file for an output")
      ->allow_extra_args(false);
  app.add_flag("--no-check", options->no_check, "Do not compare with the reference");
  app.add_flag("--no-time", options->no_time, "Do not time");
  app.callback([options, &exit] { exit = std::max(exit, run_words(*options)); });
}

}  // namespace

const Verb kRunVerb = {"run", "Check a problem against the reference, and time it", declare_run};

}  // namespace hone::runtime
