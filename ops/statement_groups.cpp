// SPDX-License-Identifier: Apache-2.0
#include "ops/statement_groups.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace hone::ops {
namespace {

void collect_reads(const Term& t, std::unordered_set<std::string_view>& out) {
  if (t.kind == Term::kAccess) out.insert(t.name);
  for (const Term& a : t.args) collect_reads(a, out);
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) collect_reads(b, out);
  }
}

std::unordered_set<std::string_view> reads_of(const Statement& s) {
  std::unordered_set<std::string_view> out;
  collect_reads(s.value, out);
  for (const auto* ranges : {&s.indices, &s.loops}) {
    for (const Range& r : *ranges) {
      for (const Term& t : r.at) collect_reads(t, out);
      for (const Term& t : r.bounds) collect_reads(t, out);
    }
  }
  for (const auto* terms : {&s.where, &s.otherwise}) {
    for (const Term& t : *terms) collect_reads(t, out);
  }
  return out;
}

}  // namespace

bool reads_tensor(const Term& t, std::string_view tensor, bool reduced) {
  if (t.kind == Term::kAccess && t.name == tensor && !reduced) return true;
  const bool inside = reduced && t.kind != Term::kReduce;
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Term& a) { return reads_tensor(a, tensor, inside); });
  };
  return any(t.args) || std::any_of(t.ranges.begin(), t.ranges.end(),
                                    [&](const Range& r) { return any(r.bounds); });
}

StatementGroups::StatementGroups(const Definition& d) : d_(d), count_(d.statements.size()) {
  std::unordered_map<std::string_view, size_t> makes;
  for (size_t i = 0; i < count_; ++i) {
    const Argument* a = d.arg(d.statements[i].name);
    // What reads an inout's old value waits for nobody.
    if (!a || a->role == ir::Role::kOutput) makes.emplace(d.statements[i].name, i);
  }
  std::vector<std::pair<size_t, size_t>> found;
  bool ahead = false;
  for (size_t i = 0; i < count_; ++i) {
    for (const std::string_view name : reads_of(d.statements[i])) {
      const auto at = makes.find(name);
      if (at == makes.end()) continue;
      found.emplace_back(i, at->second);
      ahead |= at->second > i;
    }
  }
  if (!ahead) return;
  reads_.resize(count_ * count_);
  for (const auto& [from, to] : found) reads_[from * count_ + to] = 1;
  reaches_ = reads_;
  for (size_t by = 0; by < count_; ++by) {
    for (size_t from = 0; from < count_; ++from) {
      if (reaches_[from * count_ + by] == 0) continue;
      for (size_t to = 0; to < count_; ++to) {
        reaches_[from * count_ + to] |= reaches_[by * count_ + to];
      }
    }
  }
}

bool StatementGroups::reaches(size_t from, size_t to) const {
  return !reaches_.empty() && reaches_[from * count_ + to] != 0;
}

std::vector<size_t> StatementGroups::of(size_t statement) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < count_; ++i) {
    const bool both = reaches(i, statement) && reaches(statement, i);
    if (both || i == statement) out.push_back(i);
  }
  return out.size() > 1 ? out : std::vector<size_t>();
}

bool StatementGroups::is_read_ahead(size_t statement) const {
  for (size_t i = 0; i <= statement && !reads_.empty(); ++i) {
    if (reads(i, statement) && reaches(statement, i)) return true;
  }
  return false;
}

size_t StatementGroups::numbered(std::string_view name) const {
  const auto at = std::find_if(d_.statements.begin(), d_.statements.end(),
                               [&](const Statement& s) { return s.name == name; });
  return static_cast<size_t>(at - d_.statements.begin());
}

bool StatementGroups::together(std::string_view a, std::string_view b) const {
  const size_t from = numbered(a), to = numbered(b);
  return from < count_ && to < count_ && from != to && reaches(from, to) && reaches(to, from);
}

std::vector<std::string> StatementGroups::way(std::string_view from, std::string_view to) const {
  const size_t first = numbered(from), last = numbered(to);
  if (reads_.empty() || first == count_ || last == count_) return {};
  std::vector<size_t> before(count_, count_), open{first};
  for (size_t next = 0; next < open.size() && before[last] == count_; ++next) {
    for (size_t s = 0; s < count_; ++s) {
      if (!reads(open[next], s) || before[s] != count_) continue;
      before[s] = open[next];
      open.push_back(s);
    }
  }
  if (before[last] == count_) return {};
  std::vector<std::string> out{d_.statements[last].name};
  for (size_t s = before[last]; s != first; s = before[s]) out.push_back(d_.statements[s].name);
  out.push_back(d_.statements[first].name);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace hone::ops
