// SPDX-License-Identifier: Apache-2.0
#include "bench/models/suite.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "bench/models/race.h"
#include "bench/models/report.h"
#include "runtime/device/gpu_target.h"
#include "runtime/model/model_file.h"

namespace hone::bench {
namespace {

/// The models of a folder whose names, without the ending, are among `cases`.
Result<std::vector<std::string>> model_files(const Options& o) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(o.models, error)) {
    const std::string path = entry.path().string(), name = entry.path().stem().string();
    if (!runtime::is_model_file(path)) continue;
    const bool asked = o.cases.empty() ||
                       std::any_of(o.cases.begin(), o.cases.end(), [&](const std::string& pattern) {
                         return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
                       });
    if (asked) files.push_back(path);
  }
  if (error) {
    return Failure{ErrorCode::kNotFound,
                   fmt::format("--models: {} cannot be read: {}", o.models, error.message())};
  }
  if (files.empty()) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("--models: {} has no .onnx or .graph files{}", o.models,
                               o.cases.empty() ? "" : " of the names that --case gives")};
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The machine, and what the peers say of themselves. Fails where a peer is asked for and there is
/// none.
Result<ModelsMachine> machine_of(const Options& options) {
  const auto engine = runtime::open_engine(options.common);
  if (!engine) return engine.failure();
  ModelsMachine machine;
  machine.target = (*engine)->target_text;
  machine.threads = (*engine)->target.threads;
  if (!options.peers) return machine;
  if (model_peers().empty()) {
    return Failure{ErrorCode::kUnsupported,
                   "--peers: no peer of this build runs whole models. ONNX Runtime does, where the "
                   "build finds libonnxruntime: `./dev trixie ./dev peers --models DIR`"};
  }
  for (const ModelPeer* peer : model_peers()) {
    const auto about = peer->about();
    if (!about) {
      return Failure{about.failure().code,
                     fmt::format("--peers: {}: {}", peer->name, about.failure().message)};
    }
    machine.peers.emplace_back(peer->name, *about);
  }
  return machine;
}

/// A model failed, a peer has other results, or all is well.
int exit_of(const std::vector<ModelRow>& rows) {
  int exit = runtime::kExitOk;
  for (const ModelRow& row : rows) {
    if (!row.failure.empty()) return runtime::kExitUserError;
    if (row.wrong()) exit = runtime::kExitMismatch;
  }
  return exit;
}

}  // namespace

int run_models(const Options& options) {
  if (runtime::names_gpu(options.common.target)) {
    return runtime::report(options.common,
                           {ErrorCode::kUnsupported,
                            "--models times whole models on CPUs so far; on a GPU `hone run FILE "
                            "--target cuda` times one"});
  }
  const auto files = model_files(options);
  if (!files) return runtime::report(options.common, files.failure());
  if (options.list) {
    for (const std::string& path : *files) {
      std::cout << std::filesystem::path(path).stem().string() << "\n";
    }
    return runtime::kExitOk;
  }
  auto machine = machine_of(options);
  if (!machine) return runtime::report(options.common, machine.failure());
  const ModelsReport report(*std::move(machine), options.common.json);
  report.begin();
  std::vector<ModelRow> rows;
  for (const std::string& path : *files) {
    rows.push_back(race_model(options, path));
    report.row(rows.back());
  }
  report.end(rows);
  return exit_of(rows);
}

}  // namespace hone::bench
