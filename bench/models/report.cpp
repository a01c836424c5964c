// SPDX-License-Identifier: Apache-2.0
#include "bench/models/report.h"

#include <fmt/format.h>

#include <iostream>

#include "runtime/cli/common.h"
#include "runtime/cli/trial_run.h"

namespace hone::bench {
namespace {

using runtime::Json;

/// Fixed by: the prefix of units.
constexpr double kMega = 1e6;

Json json_of(const ModelRow& row, const PeerRow& peer) {
  Json object = {{"peer", peer.name}};
  if (!peer.measured()) {
    object["message"] = peer.message;
    return object;
  }
  object.update({{"load_ms", peer.start.load_ms},
                 {"first_us", peer.start.first_us},
                 {"time_us", peer.time_us.median},
                 {"low_us", peer.time_us.low},
                 {"high_us", peer.time_us.high},
                 {"ratio", peer.ratio.median},
                 {"ratio_low", peer.ratio.low},
                 {"ratio_high", peer.ratio.high},
                 {"start_ratio", start_ratio(row, peer)},
                 {"error", peer.error},
                 {"tolerance", peer.tolerance},
                 {"wrong", peer.wrong()}});
  if (peer.call_bytes) object["call_bytes"] = *peer.call_bytes;
  return object;
}

Json json_of(const ModelRow& row) {
  if (!row.failure.empty()) return {{"model", row.name}, {"message", row.failure}};
  Json object = {{"model", row.name},
                 {"load_ms", row.start.load_ms},
                 {"first_us", row.start.first_us},
                 {"time_us", row.fused.median},
                 {"low_us", row.fused.low},
                 {"high_us", row.fused.high},
                 {"apart_us", row.apart.median},
                 {"rounds", row.rounds.counted},
                 {"noisy", row.rounds.noisy},
                 {"kernels", row.kernels},
                 {"nodes", row.nodes},
                 {"weights_bytes", row.memory.weights},
                 {"call_bytes", row.memory.call},
                 {"limit_us", row.limit_us}};
  if (row.ratio > 0) object["apart_ratio"] = row.ratio;
  if (row.share.of_limit > 0) object["of_limit"] = row.share.of_limit;
  if (row.share.busy) object["busy"] = true;
  for (const PeerRow& peer : row.peers) object["peers"].push_back(json_of(row, peer));
  return object;
}

std::string header() {
  return fmt::format("{:<20} {:>9} {:>10} {:>11} {:>23} {:>9} {:>9} {:>10} {:>9} {:>10}  {}\n",
                     "model", "load ms", "first us", "call us", "middle half", "unfused", "kernels",
                     "weights MB", "call MB", "limit us", "share");
}

/// How many times as long a call takes node by node. `~` stands where too few rounds were quiet:
/// that is the ratio of the medians.
std::string ratio_text(const ModelRow& row) {
  if (row.ratio > 0) return fmt::format("{:.2f}x", row.ratio);
  return fmt::format("~{:.2f}x", row.apart.median / row.fused.median);
}

/// Load, first call, a call, and the middle half of its rounds.
std::string times_text(const std::string& name, const ModelStart& start,
                       const runtime::Spread& time_us) {
  return fmt::format("{:<20} {:>9.1f} {:>10.1f} {:>11.1f} {:>23}", name, start.load_ms,
                     start.first_us, time_us.median,
                     fmt::format("{:.1f} to {:.1f}", time_us.low, time_us.high));
}

std::string megabytes_text(int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / kMega);
}

std::string text_of(const ModelRow& row, const PeerRow& peer) {
  const std::string name = "  " + peer.name;
  if (!peer.measured()) return fmt::format("{:<20} {}\n", name, peer.message);
  std::string text =
      fmt::format("{} {:>40}  hone {}{:.2f}x ({:.2f}x to {:.2f}x), start {:.2f}x\n",
                  times_text(name, peer.start, peer.time_us),
                  peer.call_bytes ? megabytes_text(*peer.call_bytes) : "", row.quiet() ? "" : "~",
                  peer.ratio.median, peer.ratio.low, peer.ratio.high, start_ratio(row, peer));
  if (peer.wrong()) {
    text += fmt::format("    WRONG: {}: {:.1e} of the largest element apart, {:.0e} is accepted\n",
                        peer.name, peer.error, peer.tolerance);
  }
  return text;
}

std::string text_of(const ModelRow& row) {
  if (!row.failure.empty()) return fmt::format("{:<20} {}\n", row.name, row.failure);
  std::string text =
      fmt::format("{} {:>9} {:>9} {:>10} {:>9} {:>10.1f}  {}\n",
                  times_text(row.name, row.start, row.fused), ratio_text(row),
                  fmt::format("{}/{}", row.kernels, row.nodes), megabytes_text(row.memory.weights),
                  megabytes_text(row.memory.call), row.limit_us, runtime::text_of(row.share));
  for (const PeerRow& peer : row.peers) text += text_of(row, peer);
  return text;
}

}  // namespace

void ModelsReport::begin() const {
  if (json_) {
    if (machine_.peers.empty()) return;
    Json peers = Json::object();
    for (const auto& [name, about] : machine_.peers) peers[name] = about;
    runtime::print_line({{"suite", "models"},
                         {"target", machine_.target},
                         {"threads", machine_.threads},
                         {"peers", std::move(peers)}});
    return;
  }
  if (!machine_.peers.empty()) {
    std::cout << fmt::format("{}\n{} thread{}\n", machine_.target, machine_.threads,
                             machine_.threads == 1 ? "" : "s");
  }
  for (const auto& [name, about] : machine_.peers) std::cout << name << ": " << about << "\n";
  std::cout << header() << std::flush;
}

void ModelsReport::row(const ModelRow& row) const {
  if (json_) {
    runtime::print_line(json_of(row));
  } else {
    std::cout << text_of(row) << std::flush;
  }
}

void ModelsReport::end(const std::vector<ModelRow>& rows) const {
  Json means = Json::object();
  for (const auto& [name, about] : machine_.peers) {
    const PeerMean mean = mean_beside(rows, name);
    if (mean.models == 0) {
      if (!json_) std::cout << fmt::format("{} has run none of these models\n", name);
      continue;
    }
    means[name] = {{"models", mean.models}, {"ratio", mean.call}, {"start_ratio", mean.start}};
    if (json_) continue;
    std::cout << fmt::format(
        "geometric means over {} model{}: a call takes {:.2f}x that of {}, load and first call "
        "{:.2f}x of its load\n",
        mean.models, mean.models == 1 ? "" : "s", mean.call, name, mean.start);
  }
  if (json_ && !machine_.peers.empty()) runtime::print_line({{"means", std::move(means)}});
}

}  // namespace hone::bench
