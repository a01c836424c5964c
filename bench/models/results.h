// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/models/peer.h"
#include "include/hone/model.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/spread.h"

namespace hone::bench {

/// From a file to results. The engine, or what a peer has for it, is there before.
struct ModelStart {
  double load_ms = 0;   ///< until the model may be called
  double first_us = 0;  ///< its first call
};

/// What a peer made of a model.
struct PeerRow {
  std::string name;
  std::string message;  ///< why there are no figures; empty: there are
  ModelStart start;
  runtime::Spread time_us;
  runtime::Spread ratio;  ///< how many times as long a call of hone takes, by rounds
  double error = 0;       ///< its outputs from hone's, as a share of the largest element
  double tolerance = 0;   ///< what is accepted
  std::optional<int64_t> call_bytes;  ///< see ModelPeer

  bool measured() const { return message.empty(); }
  bool wrong() const { return measured() && !(error <= tolerance); }
};

/// What was found of a model.
struct ModelRow {
  std::string name;
  std::string failure;  ///< why there is nothing; empty: there is
  ModelStart start;
  size_t kernels = 0, nodes = 0;
  ModelMemory memory;
  runtime::Spread fused, apart;
  Rounds rounds;
  double ratio = 0;  ///< how many times as long node by node; 0: unknown
  double limit_us = 0;
  runtime::Share share;
  std::vector<PeerRow> peers;

  /// Whether enough rounds were quiet for ratios; else they say little.
  bool quiet() const { return rounds.counted >= kFewRounds; }
  bool wrong() const;
};

/// Load and first call of hone together, as a share of the load alone of a peer.
double start_ratio(const ModelRow& row, const PeerRow& peer);

/// Geometric means over the models that a peer has run, with hone's results.
struct PeerMean {
  int models = 0;
  double call = 0;   ///< of how many times as long a call of hone takes; 0: of none
  double start = 0;  ///< of start_ratio
};
PeerMean mean_beside(const std::vector<ModelRow>& rows, const std::string& peer);

}  // namespace hone::bench
