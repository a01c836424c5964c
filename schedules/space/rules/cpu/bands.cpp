// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/recurrence.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/read_again.h"
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
      const StageFacts& facts = plan.facts(reader.name);
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

/// The rows of a stage, and what has a window of them.
struct Band {
  std::string row;
  BandMembers members;
  std::vector<std::string> around;  ///< indices around the rows that all members have as well
  IteratedStages own;               ///< members with their names of these indices, and of the row
};

/// Bytes of all that the members compute.
int64_t bytes_of_members(const Plan& plan, const Band& band) {
  int64_t bytes = 0;
  for (const auto& [name, member] : band.members) {
    bytes += bytes_of(plan.program(), *plan.program().buffer(plan.stage(name).output));
  }
  return bytes;
}

/// The most rows whose members a near cache holds; 0: too few for a band.
int64_t rows_of_band(const Plan& plan, const Band& band, const ir::Stage& root) {
  const StageFacts& facts = plan.facts(root.name);
  int64_t bytes = 0, repeated = 0;
  for (const auto& [name, member] : band.members) {
    const int64_t all = bytes_of(plan.program(), *plan.program().buffer(plan.stage(name).output));
    const int64_t rows = std::max<int64_t>(1, plan.facts(name).extent(member.var)) * member.scale;
    bytes += all / saturating_product(rows, facts.points(band.around));
    repeated = std::max(repeated, member.rows.repeated());
  }
  const int64_t scale = scale_of(band.members);
  int64_t parts = kMostRows / scale;
  while (parts > 0 && (parts * scale + repeated) * bytes > plan.machine().l2 / 2) parts /= 2;
  const int64_t rows = parts * scale;
  const bool enough = rows >= kRowsForRepeated * repeated && facts.extent(band.row) >= 2 * rows;
  return enough ? rows : 0;
}

/// Finds the indices around the rows along which each member needs one value.
void find_around(const Plan& plan, const ir::Stage& root, Band& band) {
  for (const auto& [name, member] : band.members) band.own[name] = {{member.var}};
  for (const ir::Loop& l : root.loops) {
    if (l.name == band.row) return;
    const BandMembers along = band_members(plan, root, l.name);
    const bool all = std::all_of(band.members.begin(), band.members.end(), [&](const auto& m) {
      const auto it = along.find(m.first);
      return it != along.end() && it->second.scale == 1 && it->second.rows.repeated() == 0;
    });
    if (!all) continue;
    band.around.push_back(l.name);
    const int64_t count = plan.facts(root.name).extent(l.name);
    for (auto& [name, own] : band.own) own.push_back({along.at(name).var, count});
  }
}

/// The outermost index of `root` along which it needs windows of others, or a row of them for
/// several of its own. No members where there is none.
Band band_of(const Plan& plan, const ir::Stage& root) {
  for (const ir::Loop& l : root.loops) {
    if (plan.facts(root.name).store.stride(l.name) <= 1) continue;
    Band band{l.name, band_members(plan, root, l.name), {}, {}};
    for (const auto& [name, member] : band.members) {
      if (member.rows.repeated() == 0 && member.scale == 1) continue;
      find_around(plan, root, band);
      return band;
    }
  }
  return {};
}

/// Splits the rows of the root into bands of `rows`, and brings their loop outside all others but
/// those around. The loop's name; empty where that does not apply.
std::string split_rows(Plan& plan, const std::string& name, const Band& band, int64_t rows) {
  const int64_t scale = scale_of(band.members), least = scale > 1 ? scale : kRowsForRepeated;
  const Number knob =
      plan.knob(knob_name("band", name), {least, 2 * least, 4 * least, 8 * least}, rows);
  const std::string outer = plan.split(name, band.row, knob, ir::Tail::kPeel).outer;
  if (outer.empty()) return {};
  std::vector<std::string> order = band.around;
  order.push_back(outer);
  for (const ir::Loop& l : plan.stage(name).loops) {
    if (std::find(order.begin(), order.end(), l.name) == order.end()) order.push_back(l.name);
  }
  return order_loops(plan, name, order) ? outer : "";
}

bool apply_bands(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (root.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (!root.at.root()) return plan.declines("the stage is computed inside another");
  if (root.vars.size() < 2) return plan.declines("the stage has fewer than two indices");
  if (!root.relations.empty()) return plan.declines("its loops are split or fused already");
  Band band = band_of(plan, root);
  if (band.members.empty()) return plan.declines("it needs no window of rows of a stage");
  if (bytes_of_members(plan, band) <= plan.machine().l2) {
    return plan.declines("a near cache holds what it needs");
  }
  const int64_t rows = rows_of_band(plan, band, root);
  if (rows == 0) return plan.declines("bands of it that a near cache holds repeat too much");
  for (auto& [member, own] : band.own) own.front().count = plan.facts(name).extent(band.row) / rows;
  const bool pays = !read_again_too_much(plan, band.own);
  if (plan.decide("bands of " + name, 2, pays ? 1 : 0) == 0) {
    return plan.declines(pays ? "each stage was decided to go over all rows"
                              : "each band would read again more than it keeps near");
  }
  const std::string outer = split_rows(plan, name, band, rows);
  if (outer.empty()) return false;
  plan.set_window(name, band.row, rows);
  for (const std::string& var : band.around) plan.set_window(name, var, 1);
  std::vector<std::string> computed;
  for (const auto& [member, m] : band.members) {
    computed.push_back(member);
    for (const Iterations& own : band.own.at(member)) plan.set_window(member, own.var, 1);
    plan.set_window(member, m.var, rows / m.scale + m.rows.repeated());
  }
  return plan.add(step::compute(computed, {name, outer}));
}

}  // namespace

const Rule cpu::kBands = {
    "bands",
    "A stage that needs a window of rows of others, which no near cache holds: all are computed "
    "band by band of its rows, few rows twice.",
    apply_bands,
};

}  // namespace hone::schedules
