// SPDX-License-Identifier: Apache-2.0
#include "ops/ranges.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/values.h"

namespace hone::ops {
namespace {

using ir::Expr;

/// `t` with the index `from` called `to`.
Term renamed(Term t, const std::string& from, const std::string& to) {
  if (t.kind == Term::kName && t.name == from) t.name = to;
  for (Term& a : t.args) a = renamed(std::move(a), from, to);
  for (Range& r : t.ranges) {
    if (r.name == from) r.name = to;
    for (Term& b : r.bounds) b = renamed(std::move(b), from, to);
  }
  return t;
}

}  // namespace

bool Ranges::check_fresh(const Range& r) {
  if (c_.index_named(r.name)) {
    c_.error(r.span, "`{}` is an index here already; choose another name", r.name);
  } else if (c_.names_something(r.name)) {
    c_.error(r.span, "`{}` names something else in this op; choose another name for the index",
             r.name);
  }
  return !c_.failed();
}

/// The same for a reduction's index, which is told what to write.
bool Ranges::check_fresh(const Range& r, const Term& reduction) {
  if (!c_.index_named(r.name)) return check_fresh(r);
  std::string fresh;
  for (int i = 2; fresh.empty() || c_.index_named(fresh) || c_.names_something(fresh); ++i) {
    fresh = r.name + std::to_string(i);
  }
  const std::string text = print(renamed(reduction, r.name, fresh));
  c_.error(r.span, "`{}` is an index here already, and a reduction has its own; write {}", r.name,
           text.size() < 80 ? fmt::format("`{}`", text)
                            : fmt::format("another name in it, such as `{}`", fresh));
  return false;
}

void Ranges::find_extents(const Term& t, std::string_view name, std::vector<Found>& out) const {
  if (t.kind == Term::kAccess && !t.guarded) {
    const auto at = c_.tensors.find(t.name);
    for (size_t i = 0; at != c_.tensors.end() && !at->second.shapeless && i < t.args.size(); ++i) {
      const ir::Buffer& b = c_.program.buffers[at->second.buffer];
      if (t.args[i].kind == Term::kName && t.args[i].name == name && i < b.shape.size()) {
        const std::vector<size_t>& inferred = at->second.inferred;
        const bool told = std::find(inferred.begin(), inferred.end(), i) != inferred.end();
        out.push_back({b.shape[i], t.args[i].span, t.name, i, told});
      }
    }
  }
  for (const Term& a : t.args) find_extents(a, name, out);
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) find_extents(b, name, out);
  }
}

Expr Ranges::agreed_extent(const Range& r, std::vector<Found> found) {
  if (found.empty()) {
    c_.error(
        r.span,
        "nothing says how far `{}` runs: it indexes no tensor by itself; state its range, `{} in "
        "0..N`",
        r.name, r.name);
    return ir::make_int(0);
  }
  // What readers decide says nothing where something else does.
  const auto own =
      std::stable_partition(found.begin(), found.end(), [](const Found& f) { return !f.inferred; });
  if (own != found.begin()) found.erase(own, found.end());
  const Found& first = found.front();
  for (const Found& other : found) {
    const Linear gap = difference(normal_form(first.extent), normal_form(other.extent));
    if (gap.is_constant() && gap.constant == 0) continue;
    c_.error(
        other.span,
        "`{}` runs over {} (dim {} of `{}`) and over {} (dim {} of `{}`); make the shapes agree, "
        "or state its range, `{} in 0..{}`",
        r.name, print(first.extent), first.dim, first.tensor, print(other.extent), other.dim,
        other.tensor, r.name, print(first.extent));
    break;
  }
  return first.extent;
}

/// Ends read from a tensor: what the index itself indexes bounds it, and checks make that hold.
void Ranges::bound_from_data(const Range& r, const std::vector<Found>& found, Index& index) {
  index.from_data = true;
  if (found.empty()) {
    c_.error(r.span,
             "the range of `{}` is read from data, so `{}` must index some tensor by itself: that "
             "bounds it",
             r.name, r.name);
    return;
  }
  index.end = agreed_extent(r, found);
  if (c_.failed()) return;
  ir::Check start;
  start.vars = checks_.check_vars(index.lo, c_.scope);
  start.value = index.lo;
  start.lo = ir::make_int(0);
  start.hi = reads_data(index.hi) ? index.end : index.hi;
  if (reads_data(index.lo) && !checks_.add_check(start, index.lo, r.span, Checks::Of::kRange))
    return;
  ir::Check finish;
  finish.vars = checks_.check_vars(index.hi + index.lo, c_.scope);
  finish.value = index.hi;
  finish.lo = index.lo;
  finish.hi = index.end;
  if (reads_data(index.hi) && !checks_.add_check(finish, index.hi, r.span, Checks::Of::kRange))
    return;
  Prover prover(c_.binding.ranged);
  for (const Index& outer : c_.scope) prover.add_variable(interval_of(outer));
  const bool low = reads_data(index.lo) || prover.non_negative(index.lo) == Proof::kYes;
  const bool high =
      reads_data(index.hi) || prover.non_negative(index.end - index.hi) == Proof::kYes;
  if (!c_.binding.checking && (!low || !high)) {
    c_.error(r.span, "this range may leave 0..{}, the extent that `{}` indexes", print(index.end),
             r.name);
  }
}

Index Ranges::right_index(const Range& r, const Term& body) {
  Index index;
  index.name = r.name;
  index.lo = ir::make_int(0);
  std::vector<Found> found;
  find_extents(body, r.name, found);
  if (r.bounds.empty()) {
    index.hi = index.end = agreed_extent(r, found);
    return index;
  }
  index.lo = values_.lower_index(r.bounds[0]);
  index.hi = index.end = values_.lower_index(r.bounds[1]);
  if (c_.failed()) return index;
  if (reads_data(index.lo) || reads_data(index.hi)) {
    bound_from_data(r, found, index);
  } else if (!is_variable_free(index.hi)) {
    Prover prover(c_.binding.ranged);
    for (const Index& outer : c_.scope) prover.add_variable(interval_of(outer));
    index.end = prover.most(index.hi);
    if (!index.end) {
      c_.error(r.bounds[1].span, "this end of the range is not linear in the indices around it");
    }
  }
  return index;
}

void Ranges::open_ranges(const Term& t, Draft& draft) {
  for (const Range& r : t.ranges) {
    if (c_.failed() || !check_fresh(r, t)) return;
    draft.rvars.push_back(right_index(r, t.args[0]));
    c_.scope.push_back(draft.rvars.back());
  }
}

}  // namespace hone::ops
