// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
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

/// A producer of a band: its variable over rows, and which of them the band needs. Of `scale` rows
/// of the root it needs one more.
struct BandMember {
  std::string var;
  Window rows;
  int64_t scale = 1;
};

using BandMembers = std::map<std::string, BandMember>;

/// The rows of a tensor that one access needs, as offsets from `var`: `var` and what is reduced
/// over few values. Nothing where that is no window of its dim `dim`.
/// A quotient of `var` scales them by its divisor.
std::optional<BandMember> window_of(const Access& a, size_t dim, const ir::Stage& reader,
                                    const std::string& var) {
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (d != dim && ir::mentions_var(a.indices[d], var)) return {};
  }
  const ir::Expr& at = a.indices[dim];
  int64_t divisor = 1;
  if (at->op == ir::Op::kDiv && plain_var(at->args[0]) == var &&
      ir::is_const(at->args[1], &divisor))
    return BandMember{"", {0, 0}, divisor};
  const auto index = affine_of(at);
  if (!index) return {};
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
  return BandMember{"", w};
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
      const BandMember whole{"", {0, 0}};
      const BandMember& behind = it == known.end() ? whole : it->second;
      const std::string& var = it == known.end() ? row : it->second.var;
      const StageFacts facts = plan.facts(reader.name);
      for (const Access& a : facts.loads) {
        if (a.buffer != s.output) continue;
        const auto w = all ? window_of(a, d, reader, var) : std::nullopt;
        const bool exact = w && (w->scale == 1 || behind.rows.repeated() == 0);
        all = exact && (first || m.scale == behind.scale * w->scale);
        if (!all) break;
        m.scale = behind.scale * w->scale;
        const Window sum{behind.rows.least + w->rows.least, behind.rows.most + w->rows.most};
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

/// Rows of the root for each row of a member: of the one that needs fewest.
int64_t scale_of(const BandMembers& members) {
  int64_t out = 1;
  for (const auto& [name, member] : members) out = std::max(out, member.scale);
  return out;
}

/// The most rows whose members a near cache holds; 0: too few for a band.
int64_t rows_of_band(const Plan& plan, const BandMembers& members, int64_t rows_of_root) {
  int64_t bytes = 0, repeated = 0;
  for (const auto& [name, member] : members) {
    const int64_t all = bytes_of(plan.program(), *plan.program().buffer(plan.stage(name).output));
    bytes += all / std::max<int64_t>(1, plan.facts(name).extent(member.var)) / member.scale;
    repeated = std::max(repeated, member.rows.repeated());
  }
  const int64_t scale = scale_of(members);
  int64_t parts = kMostRows / scale;
  while (parts > 0 && (parts * scale + repeated) * bytes > plan.machine().l2 / 2) parts /= 2;
  const int64_t rows = parts * scale;
  const bool enough = rows >= kRowsForRepeated * repeated && rows_of_root >= 2 * rows;
  return enough ? rows : 0;
}

/// Bytes that each band reads anew, as no near cache holds them beside it: of tensors that all rows
/// of the members share.
int64_t read_by_each(const Plan& plan, const BandMembers& members) {
  int64_t bytes = 0;
  std::set<std::string> seen;
  for (const auto& [name, member] : members) {
    for (const Access& a : plan.facts(name).loads) {
      const bool moves = std::any_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& e) {
        return ir::mentions_var(e, member.var);
      });
      if (moves || !seen.insert(a.buffer).second) continue;
      bytes += bytes_of(plan.program(), *plan.program().buffer(a.buffer));
    }
  }
  return bytes <= plan.machine().l2 / 2 ? 0 : bytes;
}

/// The rows of a stage, and what has a window of them.
struct Band {
  std::string row;
  BandMembers members;
};

/// The outermost index of `root` along which it needs windows of others, or a row of them for
/// several of its own. No members where there is none.
Band band_of(const Plan& plan, const ir::Stage& root) {
  for (const ir::Loop& l : root.loops) {
    if (plan.facts(root.name).store.stride(l.name) <= 1) continue;
    Band band{l.name, band_members(plan, root, l.name)};
    for (const auto& [name, member] : band.members) {
      if (member.rows.repeated() > 0 || member.scale > 1) return band;
    }
  }
  return {};
}

bool apply_bands(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (root.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (!root.at.root()) return plan.declines("the stage is computed inside another");
  if (root.vars.size() < 2) return plan.declines("the stage has fewer than two indices");
  if (!root.relations.empty()) return plan.declines("its loops are split or fused already");
  const Band band = band_of(plan, root);
  const auto& [row, members] = band;
  if (members.empty()) return plan.declines("it needs no window of rows of a stage");
  int64_t bytes = 0;
  for (const auto& [member, m] : members) {
    bytes += bytes_of(plan.program(), *plan.program().buffer(plan.stage(member).output));
  }
  if (bytes <= plan.machine().l2) return plan.declines("a near cache holds what it needs");
  const int64_t rows = rows_of_band(plan, members, plan.facts(name).extent(row));
  if (rows == 0) return plan.declines("bands of it that a near cache holds repeat too much");
  // Each member's rows would go to a far cache and back.
  const int64_t again = plan.facts(name).extent(row) / rows - 1;
  const bool pays = saturating_product(again, read_by_each(plan, members)) < 2 * bytes;
  if (plan.decide("bands of " + name, 2, pays ? 1 : 0) == 0) {
    if (!pays) return plan.declines("each band would read again more than it keeps near");
    return plan.declines("each stage was decided to go over all rows");
  }
  const int64_t scale = scale_of(members), least = scale > 1 ? scale : kRowsForRepeated;
  const auto h = plan.split(
      name, row, plan.knob(knob_name("band", name), {least, 2 * least, 4 * least, 8 * least}, rows),
      ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  if (plan.stage(name).loops.front().name != h.outer) {
    std::vector<ir::Place> order = {{name, h.outer}};
    for (const ir::Loop& l : plan.stage(name).loops) {
      if (l.name == h.outer) break;
      order.push_back({name, l.name});
    }
    if (!plan.add(step::reorder(order))) return false;
  }
  plan.set_window(name, row, rows);
  std::vector<std::string> computed;
  for (const auto& [member, m] : members) {
    computed.push_back(member);
    plan.set_window(member, m.var, rows / m.scale + m.rows.repeated());
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
