// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "include/hone/tune.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {

/// One of a model's kernels, which equal groups of nodes share, and what tuning found.
struct TunedKernel {
  std::vector<std::string> ops;  ///< of the nodes of the first group
  int uses = 0;                  ///< groups that it serves
  int runs = 0;                  ///< of the search, one after the other
  double seconds = 0;            ///< of all runs
  double default_us = 0;         ///< untuned, as the first run measured it; 0: it was not
  TuneResult result;             ///< of the last run that measured something, else the first
};

/// A change of a model's plan that was measured.
struct TriedChange {
  std::string what;                 ///< `conv+relu apart behind node 1`
  double gone_us = 0, come_us = 0;  ///< of the kernels that differ, in one call of the model
  bool taken = false;
};

/// What tuning a model found.
struct TunedModel {
  std::vector<TunedKernel> kernels;  ///< of the plan
  std::vector<TriedChange> changes;
  std::string plan;  ///< see ops/graph/plan.h
  /// Of a call's kernels together: of the model's own plan untuned, and of this one.
  double default_us = 0, time_us = 0;
};

/// Searches schedules for the kernels of a model and keeps the best in the cache: the next load
/// takes them. The budget is of all together. Each kernel gets a first part of it. Then other plans
/// are tried: groups of nodes cut or joined, other orders in memory. What is faster by measurement
/// is kept. The rest goes to whichever kernel should gain most for the model, as its last run
/// tells. `told` is called after each run.
Result<TunedModel> tune_model(EngineState& engine, const ModelState& model,
                              const TuneOptions& options,
                              const std::function<void(const TunedKernel&)>& told = {});

}  // namespace hone::runtime
