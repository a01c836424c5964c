// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/common.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <new>
#include <sstream>
#include <system_error>

#include "jit/ir/spelling.h"
#include "runtime/engine/failure.h"

namespace hone::runtime {
namespace {

constexpr const char* kCodeNames[] = {"ok",        "syntax",    "semantic", "argument",    "bounds",
                                      "schedule",  "not_found", "cache",    "unsupported", "memory",
                                      "cancelled", "internal",  "device"};

/// Milliseconds that a duration may have, which a clock can still add to its time.
/// Fixed by: clocks of 64 bits that count nanoseconds.
constexpr double kLongest = 1e12;

/// ` (did you mean X?)` where one of `words` is near what was given.
std::string meant(const std::vector<std::string>& words, const std::string& given) {
  const std::string word = ir::nearest_word(given, words);
  return word.empty() ? "" : fmt::format(" (did you mean {}?)", word);
}

/// The words of the line that `app` did not take, options or not.
std::vector<std::string> strangers(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  for (const std::string& word : app.remaining()) {
    // An option may have its value behind it: `--tagret=x86`.
    if (word.starts_with("-") == options) words.push_back(word.substr(0, word.find('=')));
  }
  return words;
}

/// What is wrong with a command line and what would be accepted; `path` names the verbs before
/// `app`.
std::string complaint(const CLI::ParseError& e, const CLI::App& app, const std::string& path) {
  const std::string here = path + app.get_name();
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return complaint(e, *chosen.front(), here + " ");
  std::vector<std::string> verbs, options;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  const auto words = strangers(app, false), flags = strangers(app, true);
  if (!flags.empty() && (verbs.empty() || words.empty())) {
    return fmt::format("{} has no option {}{}; see `{} --help`", here, flags[0],
                       meant(options, flags[0]), here);
  }
  if (verbs.empty()) return fmt::format("{}; see `{} --help`", e.what(), here);
  return fmt::format("{} takes one of {}{}; see `{} --help`", here, fmt::join(verbs, ", "),
                     words.empty() ? "" : meant(verbs, words[0]), here);
}

/// What run_program does but for its last look at the output.
int parse_and_run(CLI::App& app, int argc, char** argv, const int& exit) {
  Common asked;
  asked.json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
    return kExitOk;
  } catch (const CLI::ParseError& e) {
    return report(asked, {ErrorCode::kArgument, complaint(e, app, "")});
  } catch (const std::bad_alloc&) {
    return report(asked, {ErrorCode::kMemory, "the system has no more memory"});
  } catch (const std::system_error& e) {
    return report(asked,
                  {ErrorCode::kUnsupported, fmt::format("the system refuses: {}", e.what())});
  } catch (const std::exception& e) {
    return report(asked, {ErrorCode::kInternal, fmt::format("a bug: {}", e.what())});
  }
  return exit;
}

}  // namespace

void add_common(CLI::App& app, Common& common) {
  // An option given twice has its later value: scripts append to what they were given.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_flag("--json", common.json, "One JSON object a line");
  app.add_flag("--verbose,-v", common.verbose, "Say on stderr what the engine does");
  app.add_option("--cache", common.cache, "Cache file; else HONE_CACHE, else the XDG cache folder");
  app.add_option("--target", common.target,
                 "What to compile for, `x86 isa=avx2`; else this machine");
  app.add_option("--threads", common.threads,
                 "Threads, whatever the target says; else all of this machine, for every verb")
      ->check(CLI::Range(1, 4096));
  // One word each: what follows is a problem.
  app.add_option("--op", common.ops, "An op's text, which problems can then name")
      ->allow_extra_args(false);
  app.add_option("--ops", common.op_files, "A .hone file of ops")
      ->allow_extra_args(false)
      ->check(CLI::ExistingFile);
}

CLI::Option* add_schedule(CLI::App& app, std::optional<std::string>& schedule) {
  return app.add_option("--schedule", schedule,
                        "A schedule by hand, where the line names none: steps with `;` between; "
                        "an empty one leaves every loop as it stands");
}

Result<std::chrono::milliseconds> parse_duration(const std::string& text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(read.ptr, static_cast<size_t>(text.data() + text.size() - read.ptr));
  const double scale = unit == "ms"                  ? 1
                       : unit.empty() || unit == "s" ? 1e3
                       : unit == "m"                 ? 60e3
                       : unit == "h"                 ? 3600e3
                                                     : 0;
  // Written so that what is no number fails too.
  const bool fits = value * scale >= 0 && value * scale <= kLongest;
  if (read.ec != std::errc() || scale == 0 || !fits) {
    return Failure{ErrorCode::kArgument,
                   "`" + text + "` is no duration; accepted: 500ms, 10s, 2m, 1h"};
  }
  return std::chrono::milliseconds(static_cast<int64_t>(value * scale));
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return Failure{ErrorCode::kNotFound, fmt::format("{} cannot be read", path)};
  return text.str();
}

Result<std::shared_ptr<EngineState>> open_engine(const Common& common, const std::string& target) {
  EngineOptions options;
  options.target = target.empty() ? common.target : target;
  options.cache = common.cache;
  options.threads = common.threads;
  const bool verbose = common.verbose, notices = common.notices;
  options.on_event = [verbose, notices](const Event& event) {
    const bool serious = event.kind == Event::kBug || (notices && event.kind == Event::kNotice);
    if (serious || verbose) {
      std::cerr << fmt::format("hone: {}: {}\n", name_of(event.kind), event.text);
    }
  };
  auto engine = EngineState::create(std::move(options));
  if (!engine) return engine.failure();
  for (const std::string& op : common.ops) {
    const auto added = (*engine)->add_ops(op, "--op");
    if (!added) return added.failure();
  }
  for (const std::string& path : common.op_files) {
    const auto text = read_file(path);
    if (!text) return text.failure();
    const auto added = (*engine)->add_ops(*text, path);
    if (!added) return added.failure();
  }
  return engine;
}

Result<CompiledLine> compile_line(const Common& common, const ReproLine& line) {
  auto engine = open_engine(common, line.target);
  if (!engine) return engine.failure();
  auto problem = (*engine)->parse(line.problem);
  if (!problem) return problem.failure();
  auto kernel = line.scheduled ? (*engine)->compile_given(*problem, line.schedule)
                               : (*engine)->compile(*problem, {});
  if (!kernel) return kernel.failure();
  return CompiledLine{*std::move(engine), *std::move(problem), *std::move(kernel)};
}

int report(const Common& common, const Failure& failure) {
  if (common.json) {
    print_line(
        {{"error", kCodeNames[static_cast<int>(failure.code)]}, {"message", failure.message}});
  } else {
    std::cerr << "hone: " << failure.message << "\n";
  }
  return failure.code == ErrorCode::kInternal ? kExitMismatch : kExitUserError;
}

int run_program(CLI::App& app, int argc, char** argv, const int& exit) {
  const int code = parse_and_run(app, argc, argv, exit);
  // Output that nobody has is no success, whatever was found.
  std::cout.flush();
  if (std::cout.good() && std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  std::cerr << "hone: the output cannot be written\n";
  return std::max<int>(code, kExitUserError);
}

std::string line_of(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_line(const Json& object) { std::cout << line_of(object) << std::endl; }

}  // namespace hone::runtime
