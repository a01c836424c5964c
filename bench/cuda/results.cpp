// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/cli/common.h"

namespace hone::bench {
namespace {

using runtime::Json;

bool by_hone(const GpuRow& r) { return r.contender == "hone" || r.contender == "hone tuned"; }

/// The least time of the rows that `counts` takes; 0 where there is none.
template <class F>
double least(const std::vector<GpuRow>& rows, const F& counts) {
  double out = 0;
  for (const GpuRow& r : rows) {
    if (r.us > 0 && counts(r) && (out == 0 || r.us < out)) out = r.us;
  }
  return out;
}

/// `1.23 TFLOP/s` where arithmetic is much, else `234 GB/s`.
std::string rate(const GpuRow& r) {
  if (r.operations > 16 * r.bytes) return fmt::format("{:.1f} TFLOP/s", r.operations / r.us * 1e-6);
  return fmt::format("{:.0f} GB/s", r.bytes / r.us * 1e-3);
}

const char* against(Against a) {
  return a == Against::kCopy   ? "of the copy bandwidth"
         : a == Against::kPeer ? "of the fastest peer"
                               : "of the bare product";
}

}  // namespace

Result<GpuResults> GpuResults::open(const std::string& path, const std::string& gpu, bool resume) {
  GpuResults out;
  out.path_ = path;
  out.gpu_ = gpu;
  if (resume) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) out.take(line);
    return out;
  }
  if (!std::ofstream(path, std::ios::trunc)) {
    return Failure{ErrorCode::kArgument, path + " cannot be written"};
  }
  return out;
}

void GpuResults::take(const std::string& line) {
  // A line that the end of an earlier run cut off is not one.
  const Json j = Json::parse(line, nullptr, false);
  if (j.is_discarded() || j.value("gpu", "") != gpu_) return;
  if (j.contains("copy_gbps")) copy_gbps_ = j["copy_gbps"];
  if (j.contains("done")) done_.insert(j["done"]);
  if (j.contains("begun")) ++begun_[j["begun"]];
  if (!j.contains("contender")) return;
  rows_.push_back({j.value("problem", ""), j.value("contender", ""), j.value("us", 0.0),
                   j.value("bytes", 0.0), j.value("operations", 0.0), j.value("error", "")});
}

void GpuResults::write(const std::string& line) const {
  std::ofstream(path_, std::ios::app) << line << "\n";
}

void GpuResults::add(const GpuRow& row) {
  rows_.push_back(row);
  Json j = {{"gpu", gpu_}, {"problem", row.problem}, {"contender", row.contender}};
  if (row.error.empty()) {
    j["us"] = row.us;
  } else {
    j["error"] = row.error;
  }
  j["bytes"] = row.bytes;
  j["operations"] = row.operations;
  write(runtime::line_of(j));
}

int GpuResults::begun(const std::string& problem) const {
  const auto found = begun_.find(problem);
  return found == begun_.end() ? 0 : found->second;
}

void GpuResults::begin(const std::string& problem) {
  ++begun_[problem];
  write(runtime::line_of({{"gpu", gpu_}, {"begun", problem}}));
}

void GpuResults::give_up(const std::string& problem, const std::string& why) const {
  write(runtime::line_of(
            {{"gpu", gpu_}, {"problem", problem}, {"contender", "hone"}, {"error", why}}) +
        "\n" + runtime::line_of({{"gpu", gpu_}, {"done", problem}}));
}

void GpuResults::finish(const std::string& problem) {
  done_.insert(problem);
  write(runtime::line_of({{"gpu", gpu_}, {"done", problem}}));
}

void GpuResults::set_copy_gbps(double gbps) {
  copy_gbps_ = gbps;
  write(runtime::line_of({{"gpu", gpu_}, {"copy_gbps", gbps}}));
}

std::vector<GpuRow> GpuResults::rows(const std::string& problem) const {
  std::vector<GpuRow> out;
  for (const GpuRow& r : rows_) {
    if (r.problem == problem) out.push_back(r);
  }
  return out;
}

double gpu_ratio(const GpuResults& results, const GpuGroup& group, const std::string& problem) {
  const std::vector<GpuRow> rows = results.rows(problem);
  const double own = least(rows, by_hone);
  if (own == 0) return 0;
  switch (group.against) {
    case Against::kCopy:
      return results.copy_gbps() > 0 ? rows[0].bytes / own * 1e-3 / results.copy_gbps() : 0;
    case Against::kPeer:
      return least(rows, [](const GpuRow& r) { return r.contender.rfind("hone", 0) != 0; }) / own;
    case Against::kBare:
      return least(rows, [](const GpuRow& r) { return r.contender == "hone bare"; }) / own;
  }
  return 0;
}

std::string gpu_table(const GpuResults& results, const std::vector<GpuGroup>& groups) {
  std::string out = fmt::format("{}: a copy within the device moves {:.0f} GB/s\n", results.gpu(),
                                results.copy_gbps());
  for (const GpuGroup& group : groups) {
    double logs = 0;
    int count = 0;
    std::string lines;
    for (const std::string& problem : group.problems) {
      const double ratio = gpu_ratio(results, group, problem);
      bool first = true;
      for (const GpuRow& r : results.rows(problem)) {
        const std::string what = r.error.empty()
                                     ? fmt::format("{:>11.2f} us  {:<16}", r.us, rate(r))
                                     : r.error.substr(0, r.error.find('\n'));
        lines += fmt::format("  {:<62.62} {:<14} {}{}\n", first ? problem : "", r.contender, what,
                             first && ratio > 0 ? fmt::format("{:>6.3f}", ratio) : "");
        first = false;
      }
      if (ratio > 0) logs += std::log(ratio), ++count;
    }
    if (lines.empty()) continue;
    out += "\n" + std::string(group.name) + ", " + against(group.against);
    if (count > 0) out += fmt::format(": {:.3f}", std::exp(logs / count));
    if (group.goal > 0) out += fmt::format(" (goal {:.2f})", group.goal);
    out += "\n" + lines;
  }
  return out;
}

}  // namespace hone::bench
