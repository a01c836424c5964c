// SPDX-License-Identifier: Apache-2.0
#include "ops/scatter_indices.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hone::ops {
namespace {

/// Calls `f` with each name in `t` that no reduction in it has for an index.
void each_free_name(const Term& t, std::vector<std::string>& bound,
                    const std::function<void(const Term&)>& f) {
  const size_t outer = bound.size();
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) each_free_name(b, bound, f);
    bound.push_back(r.name);
  }
  if (t.kind == Term::kName && std::find(bound.begin(), bound.end(), t.name) == bound.end()) f(t);
  for (const Term& a : t.args) each_free_name(a, bound, f);
  bound.resize(outer);
}

bool mentions_name(const Term& t, const std::string& name) {
  bool found = false;
  std::vector<std::string> bound;
  each_free_name(t, bound, [&](const Term& n) { found |= n.name == name; });
  return found;
}

/// The element that is written, by the indices of `for` that are positions by themselves: what they
/// index bounds them, as on the right.
Term written_by_loops(const Statement& s) {
  Term out;
  out.kind = Term::kAccess;
  out.name = s.name;
  out.span = s.span;
  for (const Range& r : s.indices) {
    const bool loop = !r.at.empty() && r.at[0].kind == Term::kName &&
                      std::any_of(s.loops.begin(), s.loops.end(),
                                  [&](const Range& l) { return l.name == r.at[0].name; });
    out.args.push_back(loop ? r.at[0] : Term{});
  }
  return out;
}

}  // namespace

std::vector<Range> scattered_indices(const Statement& s,
                                     const std::function<bool(std::string_view)>& known) {
  std::vector<Range> out;
  const auto named = [](const std::vector<Range>& ranges, const std::string& name) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range& r) { return r.name == name; });
  };
  const auto add = [&](const Term& t) {
    if (known(t.name) || named(s.indices, t.name) || named(s.loops, t.name)) return;
    if (!named(out, t.name)) out.push_back({t.name, t.span, {}, {}});
  };
  std::vector<std::string> bound;
  for (const Range& r : s.indices) {
    for (const Term& at : r.at) each_free_name(at, bound, add);
  }
  for (const Range& r : s.loops) {
    for (const Term& b : r.bounds) each_free_name(b, bound, add);
  }
  out.insert(out.end(), s.loops.begin(), s.loops.end());
  return out;
}

Term terms_as_reduction(const Statement& s, const std::function<bool(std::string_view)>& known) {
  Term all;
  all.kind = Term::kReduce;
  all.span = s.value.span;
  all.ranges = scattered_indices(s, known);
  Term body;
  body.kind = Term::kCall;
  body.name = "max";
  body.span = s.value.span;
  body.args.push_back(s.value);
  for (const Range& r : s.indices) body.args.insert(body.args.end(), r.at.begin(), r.at.end());
  body.args.insert(body.args.end(), s.where.begin(), s.where.end());
  if (!s.skip) body.args.push_back(written_by_loops(s));
  all.args.push_back(std::move(body));
  return all;
}

Statement with_scattered_indices(Statement s, const std::vector<Range>& scattered) {
  const std::vector<Range> left = s.indices;
  const auto names_one = [&](const Term& at) {
    return std::any_of(scattered.begin(), scattered.end(),
                       [&](const Range& r) { return mentions_name(at, r.name); });
  };
  for (Range& r : s.indices) {
    const bool used = std::any_of(left.begin(), left.end(), [&](const Range& other) {
      return !other.at.empty() && !names_one(other.at[0]) && mentions_name(other.at[0], r.name);
    });
    if (r.name.empty() || !used) continue;
    Term at;
    at.kind = Term::kName;
    at.name = std::exchange(r.name, {});
    at.span = r.span;
    r.at.push_back(std::move(at));
  }
  return s;
}

}  // namespace hone::ops
