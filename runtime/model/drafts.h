// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/graph/group.h"
#include "runtime/engine/engine_state.h"
#include "schedules/schedule.h"

namespace hone::runtime {

/// An untuned kernel before it is compiled.
struct KernelDraft {
  schedules::Scheduled scheduled;  ///< as the rules derive it
  double cycles = 0;               ///< of a call by the estimate; infinite where it does not lower
  bool dots = false;               ///< it has dot product instructions
};

/// The kernels of a model while it is loaded. Passes compare forms of the graph by what would run,
/// and what they asked for is made once: problems of groups, and schedules of problems.
class KernelDrafts {
 public:
  /// Both outlive the drafts.
  KernelDrafts(const std::vector<ir::Dim>& dims, EngineState& engine)
      : dims_(dims), engine_(engine), library_(engine.library()), ops_(library_.get()) {}

  const ops::Library* library() const { return library_.get(); }
  int threads() const { return engine_.target.threads; }
  /// Nodes of a graph as one problem; see ops::make_group. From the first call on the nodes and
  /// values of the graph stay, but for how values lie in memory.
  const Result<ops::Group>& group(const ops::Graph& graph, const std::vector<int>& nodes);
  const KernelDraft& of(const ops::Problem& problem);
  /// Makes the drafts that are not there yet, over the engine's threads.
  void prepare(const std::vector<const ops::Problem*>& problems);
  /// Cycles of a problem's operations and of the memory that they touch, one after the other. This
  /// weighs problems that have no drafts yet.
  double rough_cycles(const ops::Problem& problem) const;
  /// The cycles of a draft that there is, by the text of its problem.
  double cycles(const std::string& text) const { return drafts_.at(text).cycles; }
  /// What the rules derive for a problem, if a pass asked for it; else null.
  const schedules::Scheduled* known(const ops::Problem& problem) const;

 private:
  KernelDraft draft_of(const ops::Problem& problem) const;

  const std::vector<ir::Dim>& dims_;
  EngineState& engine_;
  std::shared_ptr<const ops::Library> library_;
  ops::GroupOps ops_;
  /// By nodes, and how their values lie.
  std::map<std::vector<int64_t>, Result<ops::Group>> groups_;
  std::map<std::string, KernelDraft> drafts_;  ///< by the problem's text
};

}  // namespace hone::runtime
