// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/drafts.h"

#include <algorithm>
#include <limits>

#include "jit/ir/machine.h"
#include "jit/passes/lower.h"
#include "runtime/threads/at_once.h"
#include "schedules/model/model.h"
#include "schedules/space/analysis/facts.h"
#include "schedules/space/space.h"

namespace hone::runtime {

const Result<ops::Group>& KernelDrafts::group(const ops::Graph& graph,
                                              const std::vector<int>& nodes) {
  std::vector<int64_t> key(nodes.begin(), nodes.end());
  for (const int n : nodes) {
    const ops::GraphNode& node = graph.nodes[static_cast<size_t>(n)];
    for (const auto* side : {&node.reads, &node.makes}) {
      for (const int v : *side) {
        // No node, dim or value has the number -1.
        key.push_back(-1);
        if (v < 0) continue;
        const ops::GraphValue& value = graph.values[static_cast<size_t>(v)];
        key.insert(key.end(), value.order.begin(), value.order.end());
        key.push_back(-1);
        key.insert(key.end(), value.strides.begin(), value.strides.end());
      }
    }
  }
  const auto known = groups_.find(key);
  if (known != groups_.end()) return known->second;
  return groups_.emplace(std::move(key), ops::make_group(graph, nodes, dims_, ops_)).first->second;
}

const KernelDraft& KernelDrafts::of(const ops::Problem& problem) {
  prepare({&problem});
  return drafts_.at(problem.text);
}

void KernelDrafts::prepare(const std::vector<const ops::Problem*>& problems) {
  std::vector<std::pair<const ops::Problem*, KernelDraft*>> fresh;
  for (const ops::Problem* problem : problems) {
    const auto [at, absent] = drafts_.try_emplace(problem->text);
    if (absent) fresh.emplace_back(problem, &at->second);
  }
  at_once(fresh.size(), engine_.target.threads,
          [&](size_t i) { *fresh[i].second = draft_of(*fresh[i].first); });
}

KernelDraft KernelDrafts::draft_of(const ops::Problem& problem) const {
  KernelDraft draft;
  draft.scheduled = schedules::analytic_schedule(problem.program, engine_.target);
  auto nest = jit::lower(draft.scheduled.program, engine_.target);
  if (nest) {
    draft.cycles =
        schedules::weigh(schedules::terms_of(*nest, engine_.target), schedules::default_weights());
    draft.scheduled.nest = std::make_shared<const ir::Nest>(*std::move(nest));
  } else {
    draft.cycles = std::numeric_limits<double>::infinity();
  }
  for (const ir::Stage& s : draft.scheduled.program.stages) {
    draft.dots |= std::any_of(s.loops.begin(), s.loops.end(),
                              [](const ir::Loop& l) { return l.mark == ir::Mark::kTensor; });
  }
  return draft;
}

double KernelDrafts::rough_cycles(const ops::Problem& problem) const {
  const ir::Program& program = problem.program;
  const ir::Machine machine = ir::machine_of(engine_.target);
  double cycles = 0;
  for (const ir::Stage& s : program.stages) {
    const schedules::StageFacts facts = schedules::facts_of(program, s);
    // A multiply and an add are one instruction.
    const double bytes = static_cast<double>(facts.points(facts.extents)) *
                         std::max(1, facts.operations - 1) * size_of(s.accumulate);
    cycles += bytes / machine.vector_bytes / machine.arithmetic_ports;
  }
  for (const ir::Buffer& b : program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    cycles += static_cast<double>(schedules::bytes_of(program, b)) / machine.l3_bytes;
  }
  return cycles;
}

const schedules::Scheduled* KernelDrafts::known(const ops::Problem& problem) const {
  const auto at = drafts_.find(problem.text);
  return at == drafts_.end() ? nullptr : &at->second.scheduled;
}

}  // namespace hone::runtime
