// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/adjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "ops/gradient/shifts.h"
#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

bool has_reduction(const Term& t) {
  return any_part(t, [](const Term& p) { return p.kind == Term::kReduce; });
}

/// One element, and perhaps a sign and a number.
bool is_scaled_read(const Term& t) {
  Monomial m;
  m.multiply(t);
  return m.factors.size() == 1 && m.divisors.empty() && m.factors[0].kind == Term::kAccess;
}

/// Equations that read one another, or themselves.
std::set<std::string> recurrent(const Equations& equations) {
  std::map<std::string, std::set<std::string>> reads;
  for (const Equation& e : equations.all()) {
    any_part(e.value, [&](const Term& p) {
      if (p.kind == Term::kAccess && equations.find(p.name)) reads[e.name].insert(p.name);
      return false;
    });
  }
  std::set<std::string> out;
  for (const Equation& e : equations.all()) {
    std::vector<std::string> open(reads[e.name].begin(), reads[e.name].end());
    std::set<std::string> seen(open.begin(), open.end());
    while (!open.empty() && seen.count(e.name) == 0) {
      const std::string next = open.back();
      open.pop_back();
      for (const std::string& r : reads[next]) {
        if (seen.insert(r).second) open.push_back(r);
      }
    }
    if (seen.count(e.name) != 0) out.insert(e.name);
  }
  return out;
}

}  // namespace

Adjoint::Adjoint(Equations& equations, const std::vector<std::string>& wrt,
                 const std::set<std::string>& take, Diagnostics& diagnostics)
    : e_(equations),
      wrt_(wrt),
      diagnostics_(diagnostics),
      backward_(equations, wrt, take, diagnostics),
      in_steps_(recurrent(equations)) {}

bool Adjoint::build() {
  name_gradients();
  if (!collect()) return false;
  for (const std::string& name : in_order()) build_equation(*e_.find(name));
  for (const std::string& name : wrt_) build_argument(name);
  return true;
}

/// The equations, the last first, and each after those that read it where there is no circle.
std::vector<std::string> Adjoint::in_order() {
  std::vector<std::string> open, out;
  for (const Equation& e : e_.all()) {
    if (from_.count(e.name) != 0) open.insert(open.begin(), e.name);
  }
  const auto is_ready = [&](const std::string& name) {
    return std::none_of(to_[name].begin(), to_[name].end(), [&](const Contribution& c) {
      return c.from != name && std::find(open.begin(), open.end(), c.from) != open.end();
    });
  };
  while (!open.empty()) {
    const auto ready = std::find_if(open.begin(), open.end(), is_ready);
    const auto next = ready == open.end() ? open.begin() : ready;
    out.push_back(*next);
    open.erase(next);
  }
  return out;
}

/// `dY` of a result and `dA` of an argument; of a result that is read again, `dY_total` is the
/// gradient with what the reads add.
void Adjoint::name_gradients() {
  const Definition& d = e_.op();
  for (const Argument& a : d.args) {
    if (a.role == ir::Role::kInput || !e_.is_real_type(a.type)) continue;
    given_[a.name] = e_.fresh("d" + a.name, e_.shape(a.name));
  }
  for (const std::string& name : wrt_) {
    const bool inout = d.arg(name)->role == ir::Role::kInOut;
    made_[name] = e_.fresh("d" + name + (inout ? "_old" : ""));
  }
  for (const Equation& e : e_.all()) {
    const std::string& result = d.statements[e.statement].name;
    if (e.part || given_.count(result) == 0) {
      names_[e.name] = e_.fresh("d" + e.name, e_.shape(e.name));
      continue;
    }
    const bool read = std::any_of(e_.all().begin(), e_.all().end(), [&](const Equation& other) {
      return backward_.depends(other.name) && reads(other.value, e.name);
    });
    names_[e.name] = read ? e_.fresh("d" + result + "_total", e_.shape(e.name)) : given_[result];
  }
}

Term Adjoint::seed_of(const Equation& e) {
  Term seed = e.reached();
  if (names_.count(e.name) == 0) {  // a part made since
    names_[e.name] = e_.fresh("d" + e.name, e_.shape(e.name));
  }
  seed.name = names_.at(e.name);
  return seed;
}

/// Follows gradients from the results to all that they reach.
bool Adjoint::collect() {
  std::vector<std::string> open;
  std::set<std::string> seen;
  const Definition& d = e_.op();
  for (const Equation& e : e_.all()) {
    if (e.part || !d.arg(d.statements[e.statement].name) || !e.real) continue;
    if (backward_.depends(e.name) && seen.insert(e.name).second) open.push_back(e.name);
  }
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const std::vector<Contribution> found = backward_.through(name, seed_of(*e_.find(name)));
    if (diagnostics_.failed()) return false;
    from_[name];
    for (const Contribution& c : found) {
      const Equation* target = e_.find(c.target);
      const bool extreme = target && (target->reduction == "max" || target->reduction == "min");
      if (extreme && in_steps_.count(c.target) == 0 && shift_changes_nothing(e_, c.target))
        continue;
      from_[name].push_back(c);
      if (target && seen.insert(c.target).second) open.push_back(c.target);
    }
  }
  read_parts();
  // Targets take what is later first, as the text does.
  std::vector<std::string> order;
  for (const Equation& e : e_.all()) order.push_back(e.name);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto found = from_.find(*at);
    if (found == from_.end()) continue;
    for (const Contribution& c : found->second) to_[c.target].push_back(c);
  }
  return true;
}

/// Costly values that have become parts are read, wherever a contribution has them and lies where
/// they are defined.
void Adjoint::read_parts() {
  for (auto& [name, contributions] : from_) {
    const Equation& from = *e_.find(name);
    const std::vector<Term> domain = e_.index_domain(from);
    const auto read = [&](const Term& t, const std::vector<Term>& where) {
      return replaced(t, [&](const Term& p) -> std::optional<Term> {
        if (p.kind != Term::kCall && p.kind != Term::kInfix) return {};
        for (const Equation& e : e_.all()) {
          if (!e.is_value_part() || e.statement != from.statement || !same(e.value, p)) continue;
          if (e.is_defined(where)) return e.element();
        }
        return {};
      });
    };
    for (Contribution& c : contributions) {
      std::vector<Term> where = domain;
      for (const Condition& k : c.conditions) {
        if (const auto at = e_.on_indices(k.term, k.holds)) where.push_back(*at);
      }
      for (Condition& k : c.conditions) k.term = read(k.term, domain);
      for (Term& t : c.value.factors) t = read(t, where);
      for (Term& t : c.value.divisors) t = read(t, where);
    }
  }
}

/// The gradient of an element of `e`, which is `value` at its indices, where `element` reads it.
Term Adjoint::at_element(const Term& value, const Equation& e, const Term& element) const {
  const auto placed = [&](const Term& t) {
    return replaced(t, [&](const Term& p) -> std::optional<Term> {
      for (size_t k = 0; p.kind == Term::kName && k < e.indices.size(); ++k) {
        if (e.indices[k].name == p.name) return element.args[k];
      }
      return {};
    });
  };
  if (!element.guarded) return placed(value);
  return replaced(value, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kAccess) return {};
    return with_else(placed(p), whole_term(0));
  });
}

/// What a contribution is worth, with the gradient that it begins with written out if that is no
/// line.
Monomial Adjoint::with_seed(const Contribution& c) const {
  const auto at = inlined_.find(c.from);
  if (at == inlined_.end()) return c.value;
  const std::string& name = names_.at(c.from);
  const Equation& from = *e_.find(c.from);
  Monomial out;
  out.coefficient = c.value.coefficient;
  out.divisors = c.value.divisors;
  for (const Term& f : c.value.factors) {
    out.multiply(replaced(f, [&](const Term& p) -> std::optional<Term> {
      if (p.kind == Term::kAccess && p.name == name) return at_element(at->second, from, p);
      return {};
    }));
  }
  return out;
}

/// What contributions add to the gradient of `name`.
std::vector<Addend> Adjoint::addends_for(const std::string& name, const Target& target) {
  std::vector<Addend> out;
  const bool in_steps = in_steps_.count(name) != 0;
  for (Contribution c : to_[name]) {
    c.value = with_seed(c);
    if (c.value.coefficient == 0) continue;
    auto addend = Transposition(e_, target, indices_made_, in_steps).run(std::move(c));
    if (addend) out.push_back(*std::move(addend));
  }
  return out;
}

/// Puts a gradient, which is a scaled read, into the lines of earlier steps that read it.
void Adjoint::write_out(const Equation& e, const Term& value) {
  const std::string& name = names_.at(e.name);
  for (Line& l : lines_) {
    l.value = replaced(l.value, [&](const Term& p) -> std::optional<Term> {
      if (p.kind == Term::kAccess && p.name == name) return at_element(value, e, p);
      return {};
    });
  }
}

/// A gradient that is used once, or that is no more than a read, stands where it is used.
bool Adjoint::may_inline(const Equation& e, const Term& value) const {
  if (is_number(value, 0)) return true;
  if (reads(value, names_.at(e.name))) return false;
  const std::vector<Contribution>& uses = from_.at(e.name);
  // As a line it limits sums that read it, as its equation does.
  const bool limited = std::any_of(uses.begin(), uses.end(), [&](const Contribution& c) {
    const Equation* target = e_.find(c.target);
    return !e.domain.empty() && (!target || target->domain.empty());
  });
  if (limited) return false;
  if (is_scaled_read(value)) return true;
  if (in_steps_.count(e.name) != 0) return is_inner_sum(e);
  if (e.scatter || uses.size() > 1) return false;
  return std::all_of(uses.begin(), uses.end(), [&](const Contribution& c) {
    const bool plain =
        std::all_of(c.at.begin(), c.at.end(), [](const Term& t) { return t.kind == Term::kName; });
    if (!plain || c.scope.size() != c.outer) return false;
    return !has_reduction(value) || stays_apart(c, value);
  });
}

/// Is it a part of a step that has fewer indices than the step? What sums over it goes on along
/// others then, so that both are one statement, as they are in the op.
bool Adjoint::is_inner_sum(const Equation& e) const {
  const std::vector<Contribution>& uses = from_.at(e.name);
  if (!e.part || e.reduction != "sum" || e.scatter || uses.size() != 1) return false;
  const Equation* target = e_.find(uses[0].target);
  if (!target || in_steps_.count(target->name) == 0) return false;
  return std::any_of(target->indices.begin(), target->indices.end(), [&](const Bound& b) {
    return std::none_of(e.indices.begin(), e.indices.end(),
                        [&](const Bound& own) { return own.name == b.name; });
  });
}

/// A step's gradient to be written out in an earlier one: its sums have names of their own, and
/// what they read has an `else`.
Term Adjoint::as_inner_sum(const Term& value) {
  const Term apart = replaced(value, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kReduce) return {};
    Term out = p;
    for (Range& r : out.ranges) {
      const std::string name = e_.fresh(r.name);
      indices_made_.insert(name);
      out.args[0] = replaced(out.args[0], [&](const Term& q) -> std::optional<Term> {
        if (q.kind != Term::kName || q.name != r.name) return {};
        return name_term(name);
      });
      r.name = name;
    }
    return out;
  });
  return replaced(apart, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kAccess) return {};
    return with_else(p, whole_term(0));
  });
}

/// Do the indices of what is used, and of the sums in `value`, have other names?
bool Adjoint::stays_apart(const Contribution& c, const Term& value) const {
  const Equation* target = e_.find(c.target);
  if (!target || c.at.size() != c.scope.size()) return false;
  return !any_part(value, [&](const Term& p) {
    return std::any_of(p.ranges.begin(), p.ranges.end(), [&](const Range& r) {
      return std::any_of(target->indices.begin(), target->indices.end(),
                         [&](const Bound& b) { return b.name == r.name; });
    });
  });
}

void Adjoint::build_equation(const Equation& e) {
  const Target target{e.name, e.indices, e.domain};
  std::vector<Addend> addends;
  const std::string& result = e_.op().statements[e.statement].name;
  const bool given = !e.part && given_.count(result) != 0;
  if (given && names_[e.name] == given_[result]) return;
  if (given) {
    Addend own;
    Term read = e.element();
    read.name = given_[result];
    own.outer.factors.push_back(std::move(read));
    addends.push_back(std::move(own));
  }
  std::vector<Addend> others = addends_for(e.name, target);
  addends.insert(addends.end(), others.begin(), others.end());
  Line line;
  line.name = names_[e.name];
  line.type = e.type;
  line.indices = e.indices;
  line.where = e.domain;
  put_together(line, target, std::move(addends));
  if (!line.scatter && may_inline(e, line.value)) {
    if (in_steps_.count(e.name) != 0 && has_reduction(line.value)) {
      line.value = as_inner_sum(line.value);
    }
    write_out(e, line.value);
    inlined_[e.name] = std::move(line.value);
    return;
  }
  lines_.push_back(std::move(line));
}

/// Of a scatter, indices of terms that are places by themselves have the names of the dims. Indices
/// of other dims that positions tell have none.
void Adjoint::name_places(Line& line) {
  for (size_t k = 0; k < line.indices.size(); ++k) {
    if (line.scatter->is_plain(k, line.indices[k].name)) continue;
    const std::string to = std::exchange(line.indices[k].name, {});
    const std::string from = line.scatter->at[k].name;
    const auto named = [&](const Term& t) {
      return replaced(t, [&](const Term& p) -> std::optional<Term> {
        if (p.kind != Term::kName || p.name != from) return {};
        return name_term(to);
      });
    };
    if (line.scatter->at[k].kind != Term::kName) continue;
    for (auto* all : {&line.scatter->at, &line.scatter->where}) {
      for (Term& t : *all) t = named(t);
    }
    line.value = named(line.value);
    for (Bound& b : line.terms) {
      if (b.name == from) b.name = to;
      b.lo = with_value(b.lo, from, ir::make_var(to));
      b.hi = with_value(b.hi, from, ir::make_var(to));
    }
  }
}

/// The scatters among `addends`, one for those that go to the same places.
std::vector<Line> Adjoint::take_scatters(const Target& target, std::vector<Addend>& addends) {
  std::map<std::string, std::vector<Addend>> groups;
  for (const Addend& a : addends) {
    if (a.scatter) groups[a.place_text()].push_back(a);
  }
  std::erase_if(addends, [](const Addend& a) { return a.scatter.has_value(); });
  std::vector<Line> out;
  for (auto& [text, group] : groups) {
    Line line;
    line.indices = target.indices;
    line.scatter = group[0].scatter;
    line.terms = group[0].terms;
    Target of_terms = target;
    of_terms.indices.insert(of_terms.indices.end(), line.terms.begin(), line.terms.end());
    line.value = sum_of_addends(std::move(group), of_terms);
    name_places(line);
    out.push_back(std::move(line));
  }
  return out;
}

/// Makes `line` the sum of `addends`. It is a scatter if they are all of one; else scatters are
/// lines of their own.
void Adjoint::put_together(Line& line, const Target& target, std::vector<Addend> addends) {
  std::vector<Line> scatters = take_scatters(target, addends);
  if (scatters.size() == 1 && addends.empty() && target.domain.empty()) {
    line.indices = std::move(scatters[0].indices);
    line.value = std::move(scatters[0].value);
    line.scatter = std::move(scatters[0].scatter);
    line.terms = std::move(scatters[0].terms);
    return;
  }
  for (Line& s : scatters) {
    std::vector<ir::Expr> shape;
    for (const Bound& b : target.indices) shape.push_back(b.hi);
    s.name = e_.fresh(line.name + "_at", std::move(shape));
    s.type = line.type;
    Addend all;
    std::vector<Term> at;
    for (const Bound& b : target.indices) at.push_back(name_term(b.name));
    all.outer.factors.push_back(access_term(s.name, std::move(at)));
    addends.push_back(std::move(all));
    lines_.push_back(std::move(s));
  }
  line.value = sum_of_addends(std::move(addends), target);
}

/// The name of an index of a gradient: what the op calls it where it reads the argument, or else
/// the dim in small letters.
std::string Adjoint::index_for(const Argument& a, size_t dim, const std::set<std::string>& used) {
  std::string name;
  for (const Statement& s : e_.op().statements) {
    any_part(s.value, [&](const Term& p) {
      const bool here = p.kind == Term::kAccess && p.name == a.name;
      const bool plain = here && p.args[dim].kind == Term::kName && !e_.op().arg(p.args[dim].name);
      if (plain && name.empty() && used.count(p.args[dim].name) == 0) name = p.args[dim].name;
      return false;
    });
  }
  const Definition& d = e_.op();
  const auto is_number = [&](const std::string& n) {
    return d.param(n) || d.arg(n) || std::find(d.dims.begin(), d.dims.end(), n) != d.dims.end();
  };
  if (!name.empty() && !is_number(name)) return name;
  name = a.shape[dim].kind == Term::kName ? a.shape[dim].name : "i";
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string out = name;
  for (int i = 2; used.count(out) != 0 || is_number(out) || e_.find(out) || e_.has_shape(out);
       ++i) {
    out = name + std::to_string(i);
  }
  if (!e_.taken(out)) e_.fresh(out);
  indices_made_.insert(out);
  return out;
}

Target Adjoint::target_of(const Argument& a) {
  Target out;
  out.name = a.name;
  std::set<std::string> used;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    const std::string name = index_for(a, i, used);
    used.insert(name);
    out.indices.push_back({name, ir::make_int(0), e_.shape(a.name)[i]});
  }
  return out;
}

void Adjoint::build_argument(const std::string& name) {
  const Argument& a = *e_.op().arg(name);
  const Target target = target_of(a);
  Line line;
  line.name = made_[name];
  line.type = a.type;
  line.indices = target.indices;
  put_together(line, target, addends_for(name, target));
  lines_.push_back(std::move(line));
}

}  // namespace hone::ops
