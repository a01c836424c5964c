// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/equations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "jit/ir/functions/function.h"
#include "ops/gradient/terms.h"
#include "ops/lower.h"
#include "ops/scatter_indices.h"

namespace hone::ops {

using ir::Expr;

namespace {

bool is_position(const std::string& reduction) {
  return reduction == "argmax" || reduction == "argmin";
}

}  // namespace

Term Equation::element() const {
  std::vector<Term> at;
  for (const Bound& b : indices) at.push_back(name_term(b.name));
  return access_term(name, std::move(at));
}

std::vector<Bound> Scatter::plain(const std::vector<Bound>& indices) const {
  std::vector<Bound> out;
  for (size_t k = 0; k < indices.size(); ++k) {
    if (is_plain(k, indices[k].name)) out.push_back(indices[k]);
  }
  return out;
}

std::vector<Bound> Equation::own_indices() const {
  return scatter ? scatter->plain(indices) : indices;
}

Term Equation::reached() const {
  if (!scatter) return element();
  const Term out = access_term(name, scatter->at);
  return scatter->skip ? with_else(out, whole_term(0)) : out;
}

std::optional<std::string> Equation::without_numbers() const {
  const Bound* b = reduced.size() > 1 ? varying_range(reduced) : nullptr;
  if (!b) return {};
  const std::string how = !scatter ? reduction : std::string(row_of(scatter->assign).text);
  return fmt::format(
      "the gradient of `{}` over several indices needs plain ranges, and that of "
      "`{}` depends on others; {}",
      how, b->name,
      scatter ? "let its ends be of dims and numbers" : "reduce one index after the other");
}

Term Equation::right() const {
  if (reduction.empty() || scatter) return value;
  Term t;
  t.kind = Term::kReduce;
  t.name = reduction;
  t.type = accumulate;
  t.args = {value};
  for (const Bound& b : reduced) {
    t.ranges.push_back({b.name, {}, {index_term(b.lo), index_term(b.hi)}});
  }
  return t;
}

Equations::Equations(const Definition& d) : d_(d) {
  for (const Param& p : d.params) names_.insert(p.name);
  for (const std::string& dim : d.dims) names_.insert(dim);
  for (const Argument& a : d.args) {
    names_.insert(a.name);
    types_[a.name] = a.type;
  }
  for (const Statement& s : d.statements) {
    names_.insert(s.name);
    collect_names(s.indices);
    for (const Range& r : scattered_indices(s, [&](auto n) { return is_number(d, n); })) {
      names_.insert(r.name);
    }
    collect_names(s.value);
    for (const auto* terms : {&s.where, &s.otherwise}) {
      for (const Term& t : *terms) collect_names(t);
    }
  }
}

void Equations::collect_names(const std::vector<Range>& ranges) {
  for (const Range& r : ranges) names_.insert(r.name);
}

void Equations::collect_names(const Term& t) {
  any_part(t, [&](const Term& p) {
    collect_names(p.ranges);
    return false;
  });
}

std::string Equations::fresh(const std::string& name) {
  std::string out = name;
  for (int i = 2; !names_.insert(out).second; ++i) out = name + std::to_string(i);
  return out;
}

std::string Equations::fresh(const std::string& name, std::vector<Expr> shape) {
  const std::string out = fresh(name);
  shapes_[out] = std::move(shape);
  return out;
}

Result<Done> Equations::build() {
  Diagnostics none(d_.source);
  const ir::Program program = lower(d_, checking_binding(d_), none);
  if (none.failed()) return none.failure();
  for (const ir::Buffer& b : program.buffers) {
    std::vector<Expr>& shape = shapes_[b.name];  // of one element, too
    for (const Expr& extent : b.shape) shape.push_back(tidy(extent));
  }
  for (const Argument& a : d_.args) shapes_[a.name];  // of scalars, too
  for (size_t i = 0; i < d_.statements.size() && flaw_.empty(); ++i) add_statement(i);
  if (flaw_.empty()) return Done{};
  Diagnostics diagnostics(d_.source);
  diagnostics.error(flaw_span_, flaw_, ErrorCode::kUnsupported);
  return diagnostics.failure();
}

bool Equation::is_defined(const std::vector<Term>& where) const {
  return std::all_of(under.begin(), under.end(), [&](const Term& t) {
    return std::any_of(where.begin(), where.end(), [&](const Term& w) { return same(t, w); });
  });
}

const Equation* Equations::find(std::string_view name) const {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const Equation& e) { return e.name == name; });
  return at == all_.end() ? nullptr : &*at;
}

const std::vector<Expr>& Equations::shape(const std::string& tensor) const {
  return shapes_.at(tensor);
}

void Equations::add(Equation e, const std::string& before) {
  std::vector<Expr> shape;
  for (const Bound& b : e.indices) shape.push_back(b.hi);
  shapes_[e.name] = std::move(shape);
  types_[e.name] = e.type;
  auto at = std::find_if(all_.begin(), all_.end(),
                         [&](const Equation& other) { return other.name == before; });
  // A value of a recurrence stands within it; what else reads one comes after.
  for (auto other = at; other != all_.end() && !e.is_value_part(); ++other) {
    if (reads(e.value, other->name)) at = std::next(other);
  }
  all_.insert(at, std::move(e));
}

/// Reads of an inout after the statement that writes it are of its new value.
Term Equations::with_new_values(const Term& t, const std::string& own) const {
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    const auto at = renamed_.find(p.name);
    if (p.kind != Term::kAccess || p.name == own || at == renamed_.end()) return {};
    Term out = p;
    out.name = at->second;
    for (Term& a : out.args) a = with_new_values(a, own);
    return out;
  });
}

void Equations::add_statement(size_t i) {
  const Statement& s = d_.statements[i];
  if (s.scatters()) return add_scatter(i);
  const Argument* a = d_.arg(s.name);
  const bool inout = a && a->role == ir::Role::kInOut;
  Equation e;
  e.name = s.name;
  e.statement = i;
  e.span = s.span;
  std::vector<Term> old_at;
  for (size_t k = 0; k < s.indices.size(); ++k) {
    e.indices.push_back({s.indices[k].name, ir::make_int(0), shapes_.at(s.name)[k]});
    old_at.push_back(name_term(s.indices[k].name));
  }
  Term old = access_term(s.name, old_at);
  old.span = s.span;
  Term value = with_new_values(s.value, s.name);
  value = updated_term(s.assign, old, value);
  if (!s.where.empty() && s.otherwise.empty() && !inout) {
    e.domain = s.where;
  } else if (!s.where.empty()) {
    value = call_term(
        "select", {s.where[0], value,
                   inout && s.otherwise.empty() ? old : with_new_values(s.otherwise[0], s.name)});
  }
  value.span = s.value.span;
  e.type = a ? a->type : !s.type.empty() ? s.type : type_of(value);
  types_[s.name] = e.type;
  e.real = is_real_type(e.type);
  if (!a && s.type.empty()) e.real = is_real(value);
  Place place{i, e.indices, e.domain};
  if (value.kind == Term::kReduce) {
    e.reduced = bounds_of(value);
    e.reduction = value.name;
    e.accumulate = value.type;
    place.scope.insert(place.scope.end(), e.reduced.begin(), e.reduced.end());
    e.value = without_reductions(value.args[0], place);
  } else {
    e.value = without_reductions(value, place);
  }
  if (inout) {
    e.name = fresh(s.name + "_new");
    renamed_[s.name] = e.name;
    shapes_[e.name] = shapes_[s.name];
    types_[e.name] = e.type;
  }
  add_domains(e);
  all_.push_back(std::move(e));
}

/// What reads a tensor that is defined in a part of its range alone is defined there.
void Equations::add_domains(Equation& e) const {
  if (!e.reduction.empty() || d_.arg(e.name)) return;
  any_part(e.value, [&](const Term& p) {
    const Equation* from = p.kind == Term::kAccess && !p.guarded ? find(p.name) : nullptr;
    for (size_t i = 0; from && i < from->domain.size(); ++i) {
      const Term here = replaced(from->domain[i], [&](const Term& n) -> std::optional<Term> {
        for (size_t k = 0; n.kind == Term::kName && k < from->indices.size(); ++k) {
          if (from->indices[k].name == n.name) return p.args[k];
        }
        return {};
      });
      const auto known = std::any_of(e.domain.begin(), e.domain.end(),
                                     [&](const Term& c) { return same(c, here); });
      if (!known) e.domain.push_back(here);
    }
    return false;
  });
}

/// `t` with its reductions, which become equations, as what they are called.
Term Equations::without_reductions(const Term& t, Place& place) {
  if (t.kind == Term::kReduce) return reduction_part(t, place);
  if (t.kind == Term::kAccess) {
    Term out = t;  // its indices stay
    if (t.guarded) out.args.back() = without_reductions(t.args.back(), place);
    return out;
  }
  Term out = t;
  for (Term& a : out.args) a = without_reductions(a, place);
  return out;
}

Term Equations::reduction_part(const Term& t, Place& place) {
  Equation e;
  e.part = true;
  e.statement = place.statement;
  e.span = t.span;
  e.reduction = t.name;
  e.accumulate = t.type;
  e.reduced = bounds_of(t);
  e.real = !is_position(t.name) && t.name != "any" && t.name != "all" && is_real(t.args[0]);
  e.type = type_of(t);
  for (const Bound& b : place.scope) {
    bool used = mentions(t, b.name);
    for (const Term& c : place.domain) used |= mentions(c, b.name);
    if (!used) continue;
    int64_t lo = -1;
    bool plain = ir::is_const(b.lo, &lo) && lo >= 0;
    plain = plain && !ir::any_node(b.hi, [](const Expr& x) {
              return x->op == ir::Op::kVar || x->op == ir::Op::kLoad;
            });
    if (!plain && flaw_.empty()) {
      flaw_ = fmt::format(
          "this reduction stands in the range of `{}`, which depends on other values: give it a "
          "statement of its own to have a gradient",
          b.name);
      flaw_span_ = t.span;
    }
    e.indices.push_back({b.name, ir::make_int(0), b.hi});
  }
  const std::string& statement = d_.statements[place.statement].name;
  const std::string key = std::to_string(place.statement) + " " + print(t);
  const auto known = parts_.find(key);
  if (known != parts_.end()) {
    e.name = known->second;
    return e.element();
  }
  e.domain = place.domain;
  Place inside = place;
  inside.scope.insert(inside.scope.end(), e.reduced.begin(), e.reduced.end());
  e.value = without_reductions(t.args[0], inside);
  e.name = fresh(statement + "_" + t.name);
  parts_.emplace(key, e.name);
  std::vector<Expr> shape;
  for (const Bound& b : e.indices) shape.push_back(b.hi);
  shapes_[e.name] = std::move(shape);
  types_[e.name] = e.type;
  Term out = e.element();
  out.span = t.span;
  all_.push_back(std::move(e));
  return out;
}

std::optional<Term> Equations::on_indices(const Term& condition, bool holds) const {
  const Expr e = index_expr(d_, condition);
  if (!e || reads_data(e)) return std::nullopt;
  return index_term(holds ? e : negated(e));
}

std::vector<Term> Equations::index_domain(const Equation& e) const {
  std::vector<Term> out;
  for (const Term& condition : e.domain) {
    if (const auto at = on_indices(condition, true)) out.push_back(*at);
  }
  return out;
}

Term Equations::part_of(const Equation& of, const Term& t, std::vector<Bound> reduced,
                        std::vector<Term> under) {
  if (of.reduction.empty() && same(of.value, t)) return of.element();
  std::string key = std::to_string(of.statement) + " " + print(t);
  for (const Term& condition : under) key += " where " + print(condition);
  const auto known = parts_.find(key);
  Equation e;
  e.part = e.real = true;
  e.statement = of.statement;
  e.span = t.span;
  e.type = of.type;
  const std::vector<Bound> own = of.own_indices();
  reduced.insert(reduced.begin(), own.begin(), own.end());
  for (const Bound& b : reduced) {
    if (!mentions(t, b.name)) continue;
    int64_t lo = -1;
    const bool plain = ir::is_const(b.lo, &lo) && lo == 0 && !ir::any_node(b.hi, [](const Expr& x) {
                         return x->op == ir::Op::kVar || x->op == ir::Op::kLoad;
                       });
    if (!plain) return t;
    e.indices.push_back(b);
  }
  if (known != parts_.end()) {
    e.name = known->second;
    return e.element();
  }
  e.value = t;
  e.name = fresh(d_.statements[of.statement].name + "_" + (t.kind == Term::kCall ? t.name : "in"));
  parts_.emplace(key, e.name);
  e.domain = under;
  e.under = std::move(under);
  add_domains(e);
  const Term out = e.element();
  add(std::move(e), of.name);
  return out;
}

/// The ranges of a reduction: as stated, or of the dims that its indices index by themselves.
std::vector<Bound> Equations::bounds_of(const Term& reduction) {
  std::vector<Bound> out;
  for (const Range& r : reduction.ranges) {
    Bound b{r.name, ir::make_int(0), {}};
    if (!r.bounds.empty()) {
      b.lo = index_expr(d_, r.bounds[0]);
      b.hi = index_expr(d_, r.bounds[1]);
      if (b.lo && b.hi && (reads_data(b.lo) || reads_data(b.hi))) {
        b.extent = used_extent(reduction.args[0], r.name);
      }
    } else {
      b.hi = used_extent(reduction.args[0], r.name);
    }
    if ((!b.lo || !b.hi) && flaw_.empty()) {
      flaw_ = fmt::format("the range of `{}` is made of more than indices, dims and reads", r.name);
      flaw_span_ = r.span;
    }
    if (!b.lo || !b.hi) b.lo = b.hi = ir::make_int(0);
    out.push_back(std::move(b));
  }
  return out;
}

Expr Equations::used_extent(const Term& t, const std::string& index) const {
  Expr found;
  bool declared = false;  // rather than inferred
  any_part(t, [&](const Term& p) {
    const auto at = p.kind == Term::kAccess && !p.guarded ? shapes_.find(p.name) : shapes_.end();
    for (size_t i = 0; at != shapes_.end() && i < p.args.size(); ++i) {
      if (p.args[i].kind != Term::kName || p.args[i].name != index) continue;
      const bool here = d_.arg(p.name) != nullptr;
      if (!found || (here && !declared)) found = at->second[i];
      declared |= here;
    }
    return false;
  });
  return found;
}

bool Equations::states_type(const Equation& e) const {
  const Statement& s = d_.statements[e.statement];
  return !e.part && (d_.arg(s.name) || !s.type.empty());
}

bool Equations::is_real_type(std::string_view type) const {
  const auto named = dtype_named(type);
  if (named) return is_float(*named);
  const Param* p = d_.param(type);
  return p && p->is_type && is_float(p->type);
}

bool Equations::is_real(const Term& t) const {
  switch (t.kind) {
    case Term::kFloat:
      return true;
    case Term::kName:
    case Term::kAccess: {
      const Equation* e = t.kind == Term::kAccess ? find(t.name) : nullptr;
      if (e) return e->real;
      const auto at = types_.find(t.name);
      return at != types_.end() && is_real_type(at->second);
    }
    case Term::kNeg:
      return is_real(t.args[0]);
    case Term::kInfix: {
      const bool arithmetic = t.infix >= Infix::kAdd;
      return arithmetic && (is_real(t.args[0]) || is_real(t.args[1]));
    }
    case Term::kCall: {
      if (t.name == "select") return is_real(t.args[1]) || is_real(t.args[2]);
      const ir::Function* f = ir::function_named(t.name);
      if (f && !f->ints_too) return true;
      return std::any_of(t.args.begin(), t.args.end(), [&](const Term& a) { return is_real(a); });
    }
    case Term::kCast:
      return is_real_type(t.name);
    case Term::kReduce:
      return t.name != "any" && t.name != "all" && !is_position(t.name) && is_real(t.args[0]);
    default:
      return false;
  }
}

std::string Equations::type_of(const Term& t) const {
  switch (t.kind) {
    case Term::kCast:
      return t.name;
    case Term::kBool:
    case Term::kNot:
      return "bool";
    case Term::kName:
    case Term::kAccess: {
      const auto at = types_.find(t.name);
      return at == types_.end() ? "" : at->second;
    }
    case Term::kReduce:
      if (is_position(t.name)) return "i64";
      if (t.name == "any" || t.name == "all") return "bool";
      break;
    case Term::kInfix:
      if (t.infix < Infix::kBitOr) return "bool";
      break;
    default:
      break;
  }
  const size_t first = t.kind == Term::kCall && t.name == "select" ? 1 : 0;
  std::string narrow;
  for (size_t i = first; i < t.args.size(); ++i) {
    const std::string type = type_of(t.args[i]);
    if (is_real_type(type)) return type;
    if (narrow.empty()) narrow = type;
  }
  const bool counts = t.kind == Term::kInfix || t.kind == Term::kNeg || t.kind == Term::kReduce;
  const auto named = dtype_named(narrow);
  return named && counts && *named != DType::kI64 ? "i32" : narrow;
}

}  // namespace hone::ops
