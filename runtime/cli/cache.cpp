// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>

#include "runtime/cache/text.h"
#include "runtime/cli/common.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trials.h"
#include "runtime/engine/records.h"
#include "runtime/tune/fitting.h"

namespace hone::runtime {
namespace {

struct CacheVerbOptions {
  Common common;
  std::vector<std::string> files;
  std::vector<std::string> words;
  std::string out;
  double older_days = 0;
  bool other_codegen = false;
  bool trials = false;
};

/// A record as text has it, field by field.
Json to_json(const Record& r) {
  return {{"problem", r.key.problem},   {"target", r.key.target},
          {"codegen", r.key.codegen},   {"schedule", r.schedule},
          {"verdict", r.verdict},       {"median_us", r.median_us},
          {"numerics", r.numerics},     {"seed", r.seed},
          {"samples_us", r.samples_us}, {"note", r.note}};
}

/// A record in lines of `width` columns: time and problem, target, schedule.
std::string page_of(const Record& r, const std::string& time, size_t width) {
  // Fixed by: the labels in front.
  constexpr size_t kIndent = 13;
  const std::string margin(kIndent, ' ');
  return fmt::format("{:>12} {}\n{}{}\n{}{}\n", time, fitted(r.key.problem, width - kIndent),
                     margin, fitted(r.key.target, width - kIndent), margin,
                     r.schedule.empty() ? "none" : in_lines(r.schedule, kIndent, width));
}

int list(CacheVerbOptions& o, EngineState& engine) {
  const size_t width = line_width();
  for (const Record& r : engine.cache->all()) {
    const std::string time = r.ok() ? fmt::format("{:.2f} us", r.median_us) : r.verdict;
    if (o.common.json) {
      print_line(to_json(r));
    } else if (width > 0) {
      std::cout << page_of(r, time, width);
    } else {
      std::cout << fmt::format("{:>12} {} | {} | {}\n", time, r.key.problem, r.key.target,
                               r.schedule);
    }
  }
  return kExitOk;
}

int stat(CacheVerbOptions& o, EngineState& engine) {
  const StoreCounts c = engine.cache->counts();
  if (o.common.json) {
    print_line({{"path", engine.cache->path()},
                {"keys", c.keys},
                {"records", c.records},
                {"quarantined", c.quarantined},
                {"trials", c.trials},
                {"binaries", c.binaries},
                {"bytes", c.bytes}});
  } else {
    std::cout << fmt::format(
        "{}\n{} records of {} problems and contexts, {} quarantined, {} trials logged, "
        "{} kernels for GPUs, {} bytes\n",
        engine.cache->path(), c.records, c.keys, c.quarantined, c.trials, c.binaries, c.bytes);
  }
  return kExitOk;
}

int export_text(CacheVerbOptions& o, EngineState& engine) {
  const std::vector<Record> records = engine.cache->all();
  std::string text;
  if (o.common.json) {
    for (const Record& r : records) text += line_of(to_json(r)) + "\n";
  } else {
    text = print_records(records);
  }
  if (o.out.empty() || o.out == "-") {
    std::cout << text;
    return kExitOk;
  }
  std::ofstream file(o.out, std::ios::binary);
  file << text;
  file.close();
  if (file) return kExitOk;
  return report(o.common, {ErrorCode::kCache, o.out + " cannot be written"});
}

/// Tells what is wrong with a record.
void tell_flaw(const CacheVerbOptions& o, std::ostream& out, const std::string& where,
               const std::string& what) {
  if (o.common.json) {
    print_line({{"record", where}, {"flaw", what}});
  } else {
    out << where << "\n  " << what << "\n";
  }
}

/// What one import or merge has read so far.
struct Intake {
  size_t kept = 0;
  size_t refused = 0;
};

/// Takes records of `origin` in, and tells of those that make no sense.
Result<Done> take_in(const CacheVerbOptions& o, EngineState& engine, const std::string& origin,
                     std::vector<Record> records, Intake* intake) {
  const auto report = take_in(engine, std::move(records));
  if (!report) return report.failure();
  for (const CacheFlaw& f : report->flaws) {
    tell_flaw(o, std::cerr, origin + ": " + f.record, f.flaw);
  }
  intake->refused += report->flaws.size();
  intake->kept += static_cast<size_t>(report->records);
  return Done{};
}

int tell_read(const CacheVerbOptions& o, const Intake& intake) {
  if (o.common.json) {
    print_line({{"records", intake.kept}});
  } else {
    std::cout << intake.kept << " records read";
    if (intake.refused > 0) std::cout << ", " << intake.refused << " refused";
    std::cout << "\n";
  }
  return intake.refused > 0 ? kExitUserError : kExitOk;
}

int import_text(CacheVerbOptions& o, EngineState& engine) {
  Intake intake;
  for (const std::string& path : o.files) {
    const auto text = read_file(path);
    if (!text) return report(o.common, text.failure());
    const auto records = parse_records(*text, path);
    if (!records) return report(o.common, records.failure());
    const auto f = take_in(o, engine, path, *records, &intake);
    if (!f) return report(o.common, f.failure());
  }
  return tell_read(o, intake);
}

int merge(CacheVerbOptions& o, EngineState& engine) {
  Intake intake;
  for (const std::string& path : o.files) {
    auto store = Store::open(path, Database::Mode::kRead);
    if (!store) {
      return report(o.common, {ErrorCode::kCache, path + ": " + store.failure().message});
    }
    const auto records = store->all();
    if (!records) {
      return report(o.common, {ErrorCode::kCache, path + ": " + records.failure().message});
    }
    const auto f = take_in(o, engine, path, *records, &intake);
    if (!f) return report(o.common, f.failure());
  }
  return tell_read(o, intake);
}

int verify(CacheVerbOptions& o, EngineState& engine) {
  const CacheReport found = verify(engine);
  for (const CacheFlaw& f : found.flaws) tell_flaw(o, std::cout, f.record, f.flaw);
  if (o.common.json) {
    print_line({{"records", found.records}, {"flaws", found.flaws.size()}});
  } else {
    std::cout << fmt::format("{} records, {} flaws\n", found.records, found.flaws.size());
  }
  return found.flaws.empty() ? kExitOk : kExitMismatch;
}

Json json_of(const schedules::Terms& weights) {
  Json row;
  for (size_t t = 0; t < schedules::kTerms; ++t) {
    row[std::string(schedules::name_of(static_cast<schedules::Term>(t)))] = weights[t];
  }
  return row;
}

/// Fits the weights of the estimate to the trials of the target's context.
int fit(CacheVerbOptions& o, EngineState& engine) {
  const auto fitting = fit_to_log(engine.log());
  if (!fitting) return report(o.common, fitting.failure());
  if (o.common.json) {
    print_line({{"target", engine.target_text},
                {"trials", fitting->logged},
                {"schedules", fitting->timed},
                {"problems", fitting->problems},
                {"error_before", fitting->error_before},
                {"error", fitting->error_after},
                {"rank_correlation_before", fitting->rank_before},
                {"rank_correlation", fitting->rank_after},
                {"weights", json_of(fitting->after)}});
    return kExitOk;
  }
  std::cout << fmt::format("{}\nfitted to {} schedules of {} problems; {} trials are logged\n",
                           engine.target_text, fitting->timed, fitting->problems, fitting->logged);
  for (size_t t = 0; t < schedules::kTerms; ++t) {
    std::cout << fmt::format("  {:<10} {:>10.3f} {:>10.3f}\n",
                             schedules::name_of(static_cast<schedules::Term>(t)),
                             fitting->before[t], fitting->after[t]);
  }
  std::cout << fmt::format(
      "error of a logarithm {:.3f} -> {:.3f}, mean rank correlation {:.3f} -> {:.3f}\n",
      fitting->error_before, fitting->error_after, fitting->rank_before, fitting->rank_after);
  return kExitOk;
}

int prune(CacheVerbOptions& o, EngineState& engine) {
  PruneOptions options;
  options.trials = o.trials;
  if (o.other_codegen) options.keep_codegen = jit::kCodeGeneration;
  if (o.older_days > 0) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    options.unused_since = std::chrono::duration_cast<std::chrono::seconds>(now).count() -
                           static_cast<int64_t>(o.older_days * 86400);
  }
  const int64_t gone = engine.cache->prune(options);
  if (o.common.json) {
    print_line({{"removed", gone}});
  } else {
    std::cout << gone << " records removed\n";
  }
  return kExitOk;
}

/// A verb below `cache`.
struct Action {
  const char* name;
  const char* doc;
  int (*run)(CacheVerbOptions& options, EngineState& engine);  ///< null: `declare` says
};

constexpr Action kActions[] = {
    {"ls", "The records: one a line, or as a terminal's lines hold them", list},
    {"stat", "The file and its counts", stat},
    {"export", "Records as sorted text, or with --json one object a line", export_text},
    {"import", "Reads records that export wrote, and refuses those that make no sense",
     import_text},
    {"merge", "Takes in the records of other cache files", merge},
    {"verify", "Checks the file and every record", verify},
    {"prune", "Removes records and logs", prune},
    {"fit", "Fits the weights of the cost model to the trials logged for the target", fit},
    {"trials", "What was tried for a problem: time, verdict, what differs from the default",
     nullptr},
};

void declare_cache(CLI::App& app, int& exit) {
  // Before the verb below or after it.
  auto common = std::make_shared<Common>();
  add_common(app, *common);
  app.require_subcommand(1);
  for (const Action& action : kActions) {
    CLI::App& sub = *app.add_subcommand(action.name, action.doc);
    auto options = std::make_shared<CacheVerbOptions>();
    add_common(sub, *common);
    const std::string name = action.name;
    if (name == "trials") {
      sub.add_option("problem", options->words, "PROBLEM [ | TARGET], in quotes or not");
      sub.callback([options, common, &exit] { exit = list_trials(*common, options->words); });
      continue;
    }
    if (name == "export") sub.add_option("file", options->out, "Where to; standard output if none");
    if (name == "import" || name == "merge") {
      sub.add_option("files", options->files, "What to read")->required()->check(CLI::ExistingFile);
    }
    if (name == "prune") {
      sub.add_option("--older", options->older_days, "Records not served for so many days")
          ->check(CLI::NonNegativeNumber);
      sub.add_flag("--other-codegen", options->other_codegen,
                   "Records of other versions of the code generator");
      sub.add_flag("--trials", options->trials, "The logs of tuning runs");
    }
    sub.callback([options, common, &action, &exit] {
      options->common = *common;
      auto engine = open_engine(options->common);
      exit = engine ? action.run(*options, **engine) : report(options->common, engine.failure());
    });
  }
}

}  // namespace

const Verb kCacheVerb = {"cache", "Look into the cache, and carry records about", declare_cache};

}  // namespace hone::runtime
