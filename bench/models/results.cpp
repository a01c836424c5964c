// SPDX-License-Identifier: Apache-2.0
#include "bench/models/results.h"

#include <algorithm>
#include <cmath>

namespace hone::bench {
namespace {

/// Fixed by: the prefix of units.
constexpr double kMicrosecondsOfMillisecond = 1e3;

}  // namespace

bool ModelRow::wrong() const {
  return std::any_of(peers.begin(), peers.end(), [](const PeerRow& peer) { return peer.wrong(); });
}

double start_ratio(const ModelRow& row, const PeerRow& peer) {
  return (row.start.load_ms + row.start.first_us / kMicrosecondsOfMillisecond) / peer.start.load_ms;
}

PeerMean mean_beside(const std::vector<ModelRow>& rows, const std::string& peer) {
  PeerMean mean;
  double call = 0, start = 0;
  for (const ModelRow& row : rows) {
    for (const PeerRow& p : row.peers) {
      if (p.name != peer || !p.measured() || p.wrong()) continue;
      ++mean.models;
      call += std::log(p.ratio.median);
      start += std::log(start_ratio(row, p));
    }
  }
  if (mean.models == 0) return mean;
  mean.call = std::exp(call / mean.models);
  mean.start = std::exp(start / mean.models);
  return mean;
}

}  // namespace hone::bench
