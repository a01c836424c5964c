// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cli/lines.h"
#include "runtime/engine/engine_state.h"

namespace hone::runtime {

using Json = nlohmann::ordered_json;

/// Exit codes of the program.
enum ExitCode : int { kExitOk = 0, kExitMismatch = 1, kExitUserError = 2 };

/// Options that every verb has.
struct Common {
  bool json = false;
  bool verbose = false;
  bool notices = true;  ///< on stderr; of random problems they help nobody
  std::string cache;
  std::string target;
  int threads = 0;
  std::vector<std::string> ops;       ///< `op ...` texts
  std::vector<std::string> op_files;  ///< .hone files
};

/// Declares the options of `common`, which may be those of several apps: of a verb and of the verbs
/// below it.
void add_common(CLI::App& app, Common& common);

/// Declares --schedule, for lines that name none.
CLI::Option* add_schedule(CLI::App& app, std::optional<std::string>& schedule);

/// An engine as the options say; `target` of the line, if it has one, goes before --target.
Result<std::shared_ptr<EngineState>> open_engine(const Common& common,
                                                 const std::string& target = "");

/// What a repro line asks for: its schedule where it has one, else what the engine chooses.
struct CompiledLine {
  std::shared_ptr<EngineState> engine;
  ops::Problem problem;
  std::shared_ptr<const KernelState> kernel;
};

Result<CompiledLine> compile_line(const Common& common, const ReproLine& line);

/// `10s`, `500ms`, `2m`, `1h`, or a plain number of seconds.
Result<std::chrono::milliseconds> parse_duration(const std::string& text);

/// The whole of a file.
Result<std::string> read_file(const std::string& path);

/// Prints a failure as text on stderr or as a JSON object on stdout; the exit code it asks for.
int report(const Common& common, const Failure& failure);

/// An object as one line.
std::string line_of(const Json& object);

/// Prints one object a line.
void print_line(const Json& object);

/// Parses the command line, runs its verb, and returns the program's exit code. Errors in the line,
/// and exceptions of a verb, are reported as text, or with --json as a JSON object.
int run_program(CLI::App& app, int argc, char** argv, const int& exit);

/// One verb of the program: a row of kVerbs.
struct Verb {
  const char* name;
  const char* doc;
  /// Adds the verb's options to `app` and sets what parsing then runs; `exit` takes its exit code.
  void (*declare)(CLI::App& app, int& exit);
};

extern const Verb kRunVerb;
extern const Verb kTuneVerb;
extern const Verb kShowVerb;
extern const Verb kCacheVerb;
extern const Verb kBenchVerb;
extern const Verb kFuzzVerb;
extern const Verb kTargetVerb;
extern const Verb kOpsVerb;
extern const Verb kGradVerb;
extern const Verb kQuantizeVerb;

}  // namespace hone::runtime
