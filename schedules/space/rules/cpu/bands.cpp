// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/recurrence.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Rows of a band, at least, for each row that the next band computes again.
/// Tuned on: Zen 3 (AVX2).
constexpr int64_t kRowsForRepeated = 8;
/// The most rows of a band.
/// Tuned on: Zen 3 (AVX2).
constexpr int64_t kMostRows = 32;

/// Rows of a producer, counted from the root's own row.
struct Window {
  int64_t least, most;
  int64_t repeated() const { return most - least; }
};

/// A producer of a band: its variable over rows, and which of them the band needs.
struct BandMember {
  std::string var;
  Window rows;
};

using BandMembers = std::map<std::string, BandMember>;

/// The rows of a tensor that one access needs, as offsets from `var`: `var` and what is reduced
/// over few values. Nothing where that is no window of its dim `dim`.
std::optional<Window> window_of(const Access& a, size_t dim, const ir::Stage& reader,
                                const std::string& var) {
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (d != dim && ir::mentions_var(a.indices[d], var)) return {};
  }
  const auto index = affine_of(a.indices[dim]);
  if (!index || a.gathers) return {};
  Window w{index->constant, index->constant};
  bool moves = false;
  for (const auto& [name, coefficient] : index->terms) {
    if (coefficient != 1) return {};
    if (name == var) {
      moves = true;
      continue;
    }
    const ir::IndexVar* r = reader.var(name);
    int64_t extent = 0;
    if (!r || r->lo || !reader.is_reduction_var(name) || !ir::is_const(r->hi, &extent)) return {};
    w.most += extent - 1;
  }
  if (!moves || w.repeated() > kMostRows / kRowsForRepeated) return {};
  return w;
}

/// What all readers need of `s` by one dim of it; nothing where some need other rows.
std::optional<BandMember> needed(const Plan& plan, const ir::Stage& s, const ir::Stage& root,
                                 const std::string& row, const BandMembers& known) {
  std::optional<BandMember> out;
  for (size_t d = 0; d < s.out_index.size() && !out; ++d) {
    BandMember m{plain_var(s.out_index[d]), {0, 0}};
    bool first = true, all = !m.var.empty();
    for (size_t r : readers_of(plan.program(), s.output)) {
      const ir::Stage& reader = plan.program().stages[r];
      const auto it = known.find(reader.name);
      if (reader.name != root.name && it == known.end()) return {};
      const Window behind = it == known.end() ? Window{0, 0} : it->second.rows;
      const std::string& var = it == known.end() ? row : it->second.var;
      const StageFacts facts = plan.facts(reader.name);
      for (const Access& a : facts.loads) {
        if (a.buffer != s.output) continue;
        const auto w = all ? window_of(a, d, reader, var) : std::nullopt;
        all = w.has_value();
        if (!all) break;
        const Window sum{behind.least + w->least, behind.most + w->most};
        m.rows = first ? sum
                       : Window{std::min(m.rows.least, sum.least), std::max(m.rows.most, sum.most)};
        first = false;
      }
    }
    if (all && !first) out = m;
  }
  return out;
}

/// The producers of `root` that its rows need windows of.
BandMembers band_members(const Plan& plan, const ir::Stage& root, const std::string& row) {
  BandMembers known;
  const auto& stages = plan.program().stages;
  for (size_t i = stages.size(); i-- > 0;) {
    const ir::Stage& s = stages[i];
    const ir::Buffer& b = *plan.program().buffer(s.output);
    if (s.name == root.name || b.role != ir::Role::kTemp || !b.axes.empty()) continue;
    if (!s.at.root() || !s.relations.empty() || plan.finished(s.name)) continue;
    if (best_at_bind(plan, s) || ir::is_recurrence(s)) continue;
    if (const auto member = needed(plan, s, root, row, known)) known[s.name] = *member;
  }
  return known;
}

/// The most rows whose members a near cache holds; 0: too few for a band.
int64_t rows_of_band(const Plan& plan, const BandMembers& members, int64_t rows_of_root) {
  int64_t bytes = 0, repeated = 0;
  for (const auto& [name, member] : members) {
    const int64_t all = bytes_of(plan.program(), *plan.program().buffer(plan.stage(name).output));
    bytes += all / std::max<int64_t>(1, plan.facts(name).extent(member.var));
    repeated = std::max(repeated, member.rows.repeated());
  }
  int64_t rows = kMostRows;
  while (rows > 0 && (rows + repeated) * bytes > plan.machine().l2 / 2) rows /= 2;
  const bool enough = rows >= kRowsForRepeated * repeated && rows_of_root >= 2 * rows;
  return enough ? rows : 0;
}

bool apply_bands(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (root.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (!root.at.root()) return plan.declines("the stage is computed inside another");
  if (root.vars.size() < 2) return plan.declines("the stage has fewer than two indices");
  if (!root.relations.empty()) return plan.declines("its loops are split or fused already");
  const std::string row = root.loops.front().name;
  if (plan.facts(name).store.stride(row) <= 1) {
    return plan.declines("its outermost index " + row + " is not one of rows");
  }
  const BandMembers members = band_members(plan, root, row);
  const bool windows = std::any_of(members.begin(), members.end(),
                                   [](const auto& m) { return m.second.rows.repeated() > 0; });
  if (!windows) return plan.declines("it needs no window of rows of a stage along " + row);
  int64_t bytes = 0;
  for (const auto& [member, m] : members) {
    bytes += bytes_of(plan.program(), *plan.program().buffer(plan.stage(member).output));
  }
  if (bytes <= plan.machine().l2) return plan.declines("a near cache holds what it needs");
  const int64_t rows = rows_of_band(plan, members, plan.facts(name).extent(row));
  if (rows == 0) return plan.declines("bands of it that a near cache holds repeat too much");
  if (plan.decide("bands of " + name, 2, 1) == 0) {
    return plan.declines("each stage was decided to go over all rows");
  }
  const auto h = plan.split(name, row, plan.knob(knob_name("band", name), {8, 16, 32, 64}, rows),
                            ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  plan.set_window(name, row, rows);
  std::vector<std::string> computed;
  for (const auto& [member, m] : members) {
    computed.push_back(member);
    plan.set_window(member, m.var, rows + m.rows.repeated());
  }
  return plan.add(step::compute(computed, {name, h.outer}));
}

}  // namespace

const Rule cpu::kBands = {
    "bands",
    "A stage that needs a window of rows of others, which no near cache holds: all are computed "
    "band by band of its rows, few rows twice.",
    apply_bands,
};

}  // namespace hone::schedules
