// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/torch.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "runtime/cli/common.h"

namespace hone::bench {

/// The text of bench/cuda/torch_peers.py.
std::string_view torch_script();

namespace {

/// Python with a limit, and without the libraries that lie beside this program: PyTorch has its
/// own.
std::string python_command() {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path own = fs::read_symlink("/proc/self/exe", none).parent_path().parent_path() / "lib";
  const char* set = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(set ? set : "");
  std::string kept;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty() || fs::equivalent(folder, own, none)) continue;
    kept += (kept.empty() ? "" : ":") + folder;
  }
  const std::string limit = "timeout -k 5 240 python3";
  return kept.empty() ? "env -u LD_LIBRARY_PATH " + limit
                      : "env LD_LIBRARY_PATH='" + kept + "' " + limit;
}

}  // namespace

void run_torch(const std::vector<GpuGroup>& groups, GpuResults& results) {
  namespace fs = std::filesystem;
  const std::string python = python_command();
  if (std::system((python + " -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' "
                            ">/dev/null 2>&1")
                      .c_str()) != 0) {
    std::cerr << "PyTorch is not here, done without\n";
    return;
  }
  const fs::path folder = fs::temp_directory_path() / ("hone-torch-" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "torch_peers.py") << torch_script();
  {
    std::ofstream wanted(folder / "problems");
    for (const GpuGroup& g : groups) {
      for (const std::string& problem : g.problems) {
        if (!results.done("torch: " + problem)) wanted << problem << "\n";
      }
    }
  }
  const std::string command =
      python + " " + (folder / "torch_peers.py").string() + " " + (folder / "problems").string();
  if (std::FILE* pipe = ::popen(command.c_str(), "r")) {
    std::string line;
    for (int c; (c = std::fgetc(pipe)) != EOF;) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      const runtime::Json j = runtime::Json::parse(line, nullptr, false);
      line.clear();
      if (j.is_discarded() || !j.contains("contender")) continue;
      GpuRow row{j["problem"], j["contender"], j.value("us", 0.0), 0, 0, j.value("error", "")};
      const std::vector<GpuRow> known = results.rows(row.problem);
      if (!known.empty()) row.bytes = known[0].bytes, row.operations = known[0].operations;
      results.add(row);
      if (j.value("last", false)) results.finish("torch: " + row.problem);
    }
    ::pclose(pipe);
  }
  fs::remove_all(folder);
}

}  // namespace hone::bench
