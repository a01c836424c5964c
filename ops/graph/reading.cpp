// SPDX-License-Identifier: Apache-2.0
#include "ops/graph/reading.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/gradient/terms.h"
#include "ops/graph/places.h"

namespace hone::ops {
namespace {

/// True of a term that is the number `value`.
bool is_whole_number(const Term& t, int64_t value) { return t.kind == Term::kInt && t.i == value; }

/// Is dim `d` of an argument told to have one element?
bool has_one(const Definition& op, const std::string& tensor, size_t d) {
  const Argument* a = op.arg(tensor);
  return a && d < a->shape.size() && is_whole_number(a->shape[d], 1);
}

/// Is `access` at the indices of the statement, in their order?
bool is_in_place(const Definition& op, const Statement& s, const Term& access) {
  if (access.guarded || access.args.size() != s.indices.size()) return false;
  for (size_t i = 0; i < access.args.size(); ++i) {
    const Term& at = access.args[i];
    if (is_whole_number(at, 0) && has_one(op, access.name, i)) continue;
    if (at.kind != Term::kName || at.name != s.indices[i].name) return false;
  }
  return true;
}

/// The names at which `access` stands; none where one stands twice, or something else does.
std::optional<std::set<std::string>> plain_indices(const Term& access) {
  std::set<std::string> names;
  if (access.guarded) return {};
  for (const Term& at : access.args) {
    if (is_whole_number(at, 0)) continue;
    if (at.kind != Term::kName || !names.insert(at.name).second) return {};
  }
  return names;
}

/// A statement that sets each element of its tensor, and not from others of it.
bool sets_all(const Statement& s) {
  return !s.scatters() && s.assign == Assign::kSet && s.where.empty() && !reads(s.value, s.name);
}

/// Calls `f` with each part of the right side of a statement.
template <class F>
void each_part(const Statement& s, const F& f) {
  const auto look = [&](const Term& t) {
    f(t);
    return false;
  };
  any_part(s.value, look);
  for (const auto* terms : {&s.where, &s.otherwise}) {
    for (const Term& t : *terms) any_part(t, look);
  }
}

/// Indices of a reduction and of its statement, but for those of one value.
std::set<std::string> loops_of(const Definition& op, const Statement& s, const Term& reduction) {
  std::set<std::string> loops;
  for (size_t i = 0; i < s.indices.size(); ++i) {
    if (!has_one(op, s.name, i)) loops.insert(s.indices[i].name);
  }
  for (const Range& r : reduction.ranges) loops.insert(r.name);
  return loops;
}

}  // namespace

bool goes_along(const Definition& op, const std::string& name) {
  std::set<std::string> along{name};
  size_t rank = 0;
  for (const Argument& a : op.args) {
    if (a.name == name) rank = a.shape.size();
    if (a.role == ir::Role::kInOut) return false;
  }
  for (const Statement& s : op.statements) {
    if (s.scatters() || s.assign != Assign::kSet || s.indices.size() != rank) return false;
    bool in_place = true;
    each_part(s, [&](const Term& t) {
      in_place &= t.kind != Term::kReduce;
      if (t.kind != Term::kAccess) return;
      in_place &= t.name != s.name && (!along.contains(t.name) || is_in_place(op, s, t));
    });
    if (!in_place) return false;
    along.insert(s.name);
  }
  return true;
}

bool reads_plainly(const Definition& op, const std::string& name) {
  std::set<std::string> of_it{name};
  for (const Statement& s : op.statements) {
    bool plain = sets_all(s), read = false;
    each_part(s, [&](const Term& t) {
      if (t.kind != Term::kAccess || !of_it.contains(t.name)) return;
      read = true;
      plain &= plain_indices(t).has_value();
    });
    if (read && !plain) return false;
    if (read) of_it.insert(s.name);
  }
  return true;
}

bool is_light(const Definition& op) {
  for (const Argument& a : op.args) {
    if (a.role == ir::Role::kInOut) return false;
  }
  for (const Statement& s : op.statements) {
    if (!sets_all(s)) return false;
    bool light = true;
    each_part(s, [&](const Term& reduction) {
      if (reduction.kind != Term::kReduce) return;
      const std::set<std::string> loops = loops_of(op, s, reduction);
      bool whole = false;
      any_part(reduction, [&](const Term& t) {
        const auto at = t.kind == Term::kAccess ? plain_indices(t) : std::nullopt;
        whole |= at && std::includes(at->begin(), at->end(), loops.begin(), loops.end());
        return false;
      });
      light &= whole;
    });
    if (!light) return false;
  }
  return true;
}

int moved_argument(const GraphNode& node) {
  const Definition& op = *node.op.definition;
  if (!node.plain || node.makes.size() != 1 || node.makes[0] < 0) return -1;
  if (op.statements.size() != 1 || !sets_all(op.statements[0])) return -1;
  const Statement& s = op.statements[0];
  const bool casts = !s.type.empty() && s.type != op.arg(s.name)->type;
  if (s.value.kind != Term::kAccess || !s.otherwise.empty() || casts) return -1;
  int tensor = 0;
  for (const Argument& a : op.args) {
    if (a.role != ir::Role::kInput || a.scalar) continue;
    if (a.name == s.value.name) return a.type == op.arg(s.name)->type ? tensor : -1;
    ++tensor;
  }
  return -1;
}

int moved_by_indices(const GraphNode& node) {
  const int moved = moved_argument(node);
  return node.reads.size() == 1 ? moved : -1;
}

namespace {

/// Rows of elements that share bytes begin at whole bytes: do they at the same elements?
bool same_rows(DType type, const std::vector<ir::Expr>& in, const std::vector<ir::Expr>& out,
               const Places& places) {
  if (!is_packed(type)) return true;
  if (in.empty() || out.empty()) return in.empty() && out.empty();
  const ir::Poly one = places.extent(in.back()), other = places.extent(out.back());
  const int whole = elements_per_byte(type);
  return one == other || (ir::is_multiple(one, whole) && ir::is_multiple(other, whole));
}

}  // namespace

bool is_view(const Graph& graph, const GraphNode& node, const std::vector<ir::Dim>& dims) {
  if (moved_by_indices(node) != 0) return false;
  const Statement& s = node.op.definition->statements[0];
  if (s.value.guarded) return false;
  const std::vector<ir::Expr>& in = graph.values[static_cast<size_t>(node.reads[0])].shape;
  const std::vector<ir::Expr>& out = graph.values[static_cast<size_t>(node.makes[0])].shape;
  Places places(node, dims);
  if (!(places.elements(in) == places.elements(out))) return false;
  if (!same_rows(graph.values[static_cast<size_t>(node.reads[0])].type, in, out, places)) {
    return false;
  }
  places.define_loops(out);
  std::vector<Term> own;
  for (const Range& r : s.indices) own.push_back(name_term(r.name));
  const auto from = places.of(in, s.value.args), to = places.of(out, own);
  return from && to && !from->wraps() && *from == *to;
}

}  // namespace hone::ops
