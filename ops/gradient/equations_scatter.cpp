// SPDX-License-Identifier: Apache-2.0
// Statements whose elements are told by positions, as equations.
#include <algorithm>
#include <cctype>
#include <utility>

#include "ops/gradient/equations.h"
#include "ops/gradient/terms.h"
#include "ops/scatter_indices.h"

namespace hone::ops {

using ir::Expr;

/// The terms of a scatter are an equation. An inout has another, which combines them with the old
/// value.
void Equations::add_scatter(size_t i) {
  const Statement& s = d_.statements[i];
  const Argument* a = d_.arg(s.name);
  const bool inout = a && a->role == ir::Role::kInOut;
  Equation e;
  e.name = inout ? fresh(s.name + "_terms") : s.name;
  e.part = inout;
  e.statement = i;
  e.span = s.span;
  e.reduction = s.assign == Assign::kSet ? "last" : std::string(row_of(s.assign).reduction);
  find_places(s, e);
  const Term value = with_new_values(s.value, s.name);
  e.type = type_of(value);
  if (a && (!inout || e.type.empty())) e.type = a->type;
  if (!s.type.empty()) e.type = s.type;
  e.real = a || !s.type.empty() ? is_real_type(e.type) : is_real(value);
  types_[e.name] = e.type;
  shapes_[e.name] = shapes_.at(s.name);
  Place place{i, e.own_indices(), {}};
  place.scope.insert(place.scope.end(), e.reduced.begin(), e.reduced.end());
  e.value = without_reductions(value, place);
  all_.push_back(e);
  if (inout) add_new_value(e);
}

/// Where terms go, and how many there are.
void Equations::find_places(const Statement& s, Equation& e) {
  e.reduced = bounds_of(terms_as_reduction(s, [&](auto name) { return is_number(d_, name); }));
  Scatter out;
  out.assign = s.assign;
  out.skip = s.skip;
  out.where = s.where;
  const std::vector<Expr>& shape = shapes_.at(s.name);
  for (size_t k = 0; k < s.indices.size(); ++k) {
    const Range& r = s.indices[k];
    const bool plain = r.at.empty();
    out.at.push_back(plain ? name_term(r.name) : with_new_values(r.at[0], s.name));
    e.indices.push_back({plain ? r.name : index_for(shape[k], e), ir::make_int(0), shape[k]});
  }
  e.scatter = std::move(out);
}

/// A name for the index of a dim that positions tell: the dim in small letters.
std::string Equations::index_for(const Expr& extent, const Equation& e) {
  std::string base = extent->op == ir::Op::kDim ? extent->name : "i";
  for (char& c : base) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto used = [&](const std::string& name) {
    const auto here = [&](const Bound& b) { return b.name == name; };
    return std::any_of(e.indices.begin(), e.indices.end(), here) ||
           std::any_of(e.reduced.begin(), e.reduced.end(), here);
  };
  for (int i = 1;; ++i) {
    std::string name = i == 1 ? base : base + std::to_string(i);
    if (used(name) || (taken(name) && indices_made_.count(name) == 0)) continue;
    names_.insert(name);
    indices_made_.insert(name);
    return name;
  }
}

namespace {

/// Drops the plain dims whose indices no position, range or condition names.
void drop_idle_dims(Equation& e) {
  Scatter& s = *e.scatter;
  const auto needed = [&](size_t k) {
    const std::string& index = e.indices[k].name;
    const auto in = [&](const Term& t) { return mentions(t, index); };
    bool found = !s.is_plain(k, index) || std::any_of(s.where.begin(), s.where.end(), in);
    for (size_t i = 0; i < s.at.size(); ++i) found |= i != k && in(s.at[i]);
    for (const Bound& b : e.reduced) {
      found |= ir::mentions_var(b.lo, index) || ir::mentions_var(b.hi, index);
    }
    return found;
  };
  for (size_t k = e.indices.size(); k-- > 0;) {
    if (needed(k)) continue;
    e.indices.erase(e.indices.begin() + static_cast<std::ptrdiff_t>(k));
    s.at.erase(s.at.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

}  // namespace

void Equations::add_new_value(const Equation& terms) {
  const Statement& s = d_.statements[terms.statement];
  Equation e;
  e.name = fresh(s.name + "_new");
  e.statement = terms.statement;
  e.span = s.span;
  e.type = types_.at(s.name);
  e.real = is_real_type(e.type);
  e.indices = terms.indices;
  Term old = e.element();
  old.name = s.name;
  old.span = s.span;
  e.value = s.assign == Assign::kSet
                ? call_term("select", {was_reached(terms), terms.element(), old})
                : updated_term(s.assign, old, terms.element());
  e.value.span = s.value.span;
  renamed_[s.name] = e.name;
  shapes_[e.name] = shapes_.at(s.name);
  types_[e.name] = e.type;
  all_.push_back(std::move(e));
}

/// Does a term go to the element?
Term Equations::was_reached(const Equation& terms) {
  const Scatter& s = *terms.scatter;
  if (const auto flaw = terms.without_numbers(); flaw && flaw_.empty()) {
    flaw_ = *flaw;
    flaw_span_ = terms.span;
  }
  if (!terms.reduced.empty()) {
    return infix_term(Infix::kLe, whole_term(0), last_of(terms).element());
  }
  std::vector<Term> here = s.where;
  for (size_t k = 0; k < s.at.size(); ++k) {
    const Term index = name_term(terms.indices[k].name);
    if (!same(index, s.at[k])) here.push_back(infix_term(Infix::kEq, index, as_index(s.at[k])));
  }
  return all_of_terms(here);
}

Equation Equations::last_of(const Equation& scatter) {
  const std::string& name = d_.statements[scatter.statement].name;
  const std::string key = std::to_string(scatter.statement) + " last";
  const auto known = parts_.find(key);
  if (known != parts_.end()) return *find(known->second);
  Equation e = scatter;
  e.name = fresh(name + "_last");
  e.type = "i64";
  e.real = false;
  e.part = true;
  e.reduction = "max";
  e.scatter->assign = Assign::kMax;
  drop_idle_dims(e);
  e.value = as_index(index_term(place_among(scatter.reduced)));
  parts_.emplace(key, e.name);
  add(e, scatter.name);
  return e;
}

/// `t` as an index, in which what is read counts as indices do.
Term Equations::as_index(const Term& t) const {
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kAccess || type_of(p) == "i64") return {};
    return cast_term("i64", p);
  });
}

}  // namespace hone::ops
