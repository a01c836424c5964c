// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cli/common.h"
#include "runtime/cli/model_load.h"

namespace hone::runtime {

/// Do the words of a command line name a graph's file, `mlp.graph B=8`?
bool names_graph(const std::vector<std::string>& words);

/// Loads the graph of `line`, checks each kernel against its definition and the whole against the
/// graph without fusion, and times both. Outputs that have files are written. The exit code.
int run_graph(const Common& common, const ModelLine& line, bool check, bool time);

/// Searches schedules for the kernels of the graph of `line`, and tells of each. The exit code.
int tune_graph(const Common& common, const ModelLine& line, const TuneOptions& options);

/// What is shown of a graph; of nothing asked for, its kernels.
struct GraphViews {
  bool memory = false;  ///< where tensors between kernels lie
  bool dot = false;     ///< kernels, nodes and tensors as text for Graphviz
  std::string html;     ///< a file for a report, which is all then; empty: none
};

/// Shows the graph of `line` as it would run: kernels with their nodes and schedules, or `views`.
int show_graph(const Common& common, const ModelLine& line, const GraphViews& views);

}  // namespace hone::runtime
