// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/assembly.h"

#include <algorithm>
#include <utility>

#include "ops/gradient/terms.h"
#include "ops/scatter_indices.h"

namespace hone::ops {

using ir::Expr;

namespace {

/// Reads of `part` replaced by its value, with the indices of the read.
Term written_out(const Term& t, const Equation& part) {
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    if (p.kind != Term::kAccess || p.name != part.name) return {};
    return replaced(part.value, [&](const Term& n) -> std::optional<Term> {
      for (size_t k = 0; n.kind == Term::kName && k < part.indices.size(); ++k) {
        if (part.indices[k].name == n.name) return p.args[k];
      }
      return {};
    });
  });
}

/// Would the part be computed again where it is read? So it is where its indices are not all of the
/// indices around, and where it is read at other places.
bool repeats(const Term& t, const Equation& part, const std::vector<std::string>& around) {
  if (t.kind == Term::kAccess && t.name == part.name) {
    const bool plain = std::all_of(t.args.begin(), t.args.end(),
                                   [](const Term& a) { return a.kind == Term::kName; });
    return !plain || t.guarded ||
           !std::all_of(around.begin(), around.end(),
                        [&](const std::string& name) { return mentions(t, name); });
  }
  std::vector<std::string> inside = around;
  for (const Range& r : t.ranges) inside.push_back(r.name);
  return std::any_of(t.args.begin(), t.args.end(),
                     [&](const Term& a) { return repeats(a, part, inside); });
}

/// Calls `f` with each whole term in a statement.
template <class F>
void each_term(const Statement& s, const F& f) {
  f(s.value);
  for (const auto* ranges : {&s.indices, &s.loops}) {
    for (const Range& r : *ranges) {
      std::for_each(r.bounds.begin(), r.bounds.end(), f);
      std::for_each(r.at.begin(), r.at.end(), f);
    }
  }
  std::for_each(s.where.begin(), s.where.end(), f);
}

/// The same in a line.
template <class F>
void each_term(const Line& l, const F& f) {
  f(l.value);
  std::for_each(l.where.begin(), l.where.end(), f);
  if (l.scatter) std::for_each(l.scatter->at.begin(), l.scatter->at.end(), f);
}

}  // namespace

Definition Assembly::definition() {
  lines_ = adjoint_.lines();
  drop_unread();
  settle_parts();
  for (const Line& l : lines_) {
    each_term(l, [&](const Term& t) { need(t); });
  }
  add_forward();
  state_types();
  state_ranges();
  Definition d;
  d.name = e_.op().name + "_grad";
  d.statements = statements_;
  add_arguments(d);
  add_params(d);
  return d;
}

/// Gradients that nothing goes on from, as where all terms cancel.
void Assembly::drop_unread() {
  std::set<std::string> results;
  for (const auto& [argument, name] : adjoint_.made()) results.insert(name);
  const auto unread = [&](const Line& l) {
    return results.count(l.name) == 0 &&
           std::none_of(lines_.begin(), lines_.end(), [&](const Line& other) {
             return other.name != l.name && reads(other.value, l.name);
           });
  };
  for (bool more = true; more;) {
    const auto at = std::find_if(lines_.begin(), lines_.end(), unread);
    more = at != lines_.end();
    if (more) lines_.erase(at);
  }
}

/// A costly value that one line alone uses is written there.
void Assembly::settle_parts() {
  for (const Equation& e : e_.all()) {
    if (!e.is_value_part() || is_shared(e)) continue;
    for (Line& l : lines_) l.value = written_out(l.value, e);
  }
}

bool Assembly::is_shared(const Equation& part) const {
  int users = 0;
  for (const Line& l : lines_) {
    if (!reads(l.value, part.name)) continue;
    std::vector<std::string> around;
    for (const Bound& b : l.scatter ? l.scatter->plain(l.indices) : l.indices) {
      around.push_back(b.name);
    }
    for (const Bound& b : l.terms) around.push_back(b.name);
    if (repeats(l.value, part, around)) return true;
    ++users;
  }
  return users > 1;
}

/// Notes what a value needs of the op.
void Assembly::need(const Term& t) {
  any_part(t, [&](const Term& p) {
    const Equation* e = p.kind == Term::kAccess ? e_.find(p.name) : nullptr;
    if (!e || take_.count(p.name) != 0) return false;
    if (e->part) direct_.insert(e->name);
    if (needed_.insert(e->name).second) {
      const Term right = e->right();
      if (e->part) need(right);
      if (!e->part) need(with_parts(right, e->name));
      if (e->scatter) {
        for (const Term& at : e->scatter->at) need(at);
      }
    }
    return false;
  });
}

/// A value of the op with those of its parts written out that nothing else reads, and with those
/// that are kept read.
Term Assembly::with_parts(const Term& t, const std::string& own) const {
  const Equation* of = e_.find(own);
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    bool before = true;
    for (const Equation& e : e_.all()) {
      before = before && &e != of;
      if (!e.part || e.statement != of->statement || e.name == own) continue;
      const bool kept = direct_.count(e.name) != 0 || e.scatter;
      const bool part = kept && before && e.is_value_part() && same(p, e.value);
      if (part && e.is_defined(e_.index_domain(*of))) return e.element();
      if (!kept && p.kind == Term::kAccess && p.name == e.name) return with_parts(e.right(), own);
    }
    return {};
  });
}

void Assembly::add_forward() {
  std::vector<Line> forward;
  for (const Equation& e : e_.all()) {
    if (needed_.count(e.name) == 0) continue;
    const Statement& s = e_.op().statements[e.statement];
    Line l;
    l.name = e.name;
    l.type = e.type;
    l.typed = e_.states_type(e) || (e.scatter && e_.type_of(e.value).empty());
    l.indices = e.indices;
    l.value = with_parts(e.right(), e.name);
    l.scatter = e.scatter;
    if (e.scatter) l.terms = e.reduced;
    l.where = e.part && e.reduction.empty() ? e.under : e.domain;
    const Argument* a = e_.op().arg(s.name);
    const bool limited = s.otherwise.empty() && !(a && a->role == ir::Role::kInOut);
    if (!e.part && e.reduction.empty()) l.where = limited ? s.where : l.where;
    forward.push_back(std::move(l));
  }
  lines_.insert(lines_.begin(), forward.begin(), forward.end());
}

/// Lines that read one another, or themselves, state their types.
void Assembly::state_types() {
  std::map<std::string, std::set<std::string>> reaches;
  for (const Line& l : lines_) {
    any_part(l.value, [&](const Term& p) {
      if (p.kind == Term::kAccess) reaches[l.name].insert(p.name);
      return false;
    });
  }
  for (Line& l : lines_) {
    std::set<std::string> seen = reaches[l.name];
    std::vector<std::string> open(seen.begin(), seen.end());
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      for (const std::string& r : reaches[next]) {
        if (seen.insert(r).second) open.push_back(r);
      }
    }
    l.recurs = seen.count(l.name) != 0;
    l.typed |= l.recurs;
  }
}

const std::vector<Expr>* Assembly::shape_of(const std::string& tensor, bool lines) const {
  const auto at = shapes_.find(tensor);
  if (at != shapes_.end()) {
    const bool line =
        std::any_of(lines_.begin(), lines_.end(), [&](const Line& l) { return l.name == tensor; });
    return lines || !line ? &at->second : nullptr;
  }
  const Argument* a = e_.op().arg(tensor);
  const bool argument = (a && a->role != ir::Role::kOutput) || take_.count(tensor) != 0;
  return argument && e_.has_shape(tensor) ? &e_.shape(tensor) : nullptr;
}

/// Does the index run over a dim of this extent, in an argument or, with `lines`, in a line before?
/// `other`: over another.
bool Assembly::says_extent(const Term& t, const std::string& index, const Expr& extent, bool lines,
                           bool* other) const {
  bool found = false;
  any_part(t, [&](const Term& p) {
    const auto* shape = p.kind == Term::kAccess && !p.guarded ? shape_of(p.name, lines) : nullptr;
    for (size_t i = 0; shape && i < p.args.size(); ++i) {
      if (p.args[i].kind != Term::kName || p.args[i].name != index) continue;
      const bool here = equal_index((*shape)[i], extent);
      (here ? found : *other) = true;
    }
    return false;
  });
  return found;
}

/// `t` with the ranges of its reductions left out where what they index says them.
Term Assembly::with_ranges(const Term& t) const {
  Term out = t;
  for (Term& a : out.args) a = with_ranges(a);
  for (Range& r : out.ranges) {
    const Expr lo = index_expr(e_.op(), r.bounds[0]), hi = index_expr(e_.op(), r.bounds[1]);
    int64_t first = -1;
    bool other = false;
    if (!ir::is_const(lo, &first) || first != 0) continue;
    if (says_extent(t.args[0], r.name, hi, true, &other) && !other) r.bounds.clear();
  }
  return out;
}

void Assembly::state_ranges() {
  for (const auto& [result, name] : adjoint_.given()) shapes_[name] = e_.shape(result);
  for (const Line& l : lines_) {
    Statement s;
    s.name = l.name;
    if (l.typed) s.type = l.type;
    s.where = l.where.empty() ? l.where : std::vector<Term>{all_of_terms(l.where)};
    s.value = with_ranges(l.value);
    for (size_t k = 0; k < l.indices.size(); ++k) s.indices.push_back(left_index(l, k));
    if (l.scatter) state_scatter(l, s);
    std::vector<Expr> shape;
    for (const Bound& b : l.indices) shape.push_back(b.hi);
    shapes_[l.name] = std::move(shape);
    statements_.push_back(std::move(s));
  }
}

bool Assembly::is_result(const Line& l) const {
  const auto& made = adjoint_.made();
  return std::any_of(made.begin(), made.end(), [&](const auto& m) { return m.second == l.name; });
}

/// An index or a position on the left, with its range where nothing says it.
Range Assembly::left_index(const Line& l, size_t dim) const {
  const Bound& b = l.indices[dim];
  Range out{b.name, {}, {}};
  if (l.scatter && !l.scatter->is_plain(dim, b.name)) {
    out.name.clear();
    out.at.push_back(l.scatter->at[dim]);
  }
  bool other = false;
  bool said = out.at.empty() && says_extent(l.value, b.name, b.hi, true, &other);
  // Steps of one recurrence read lines that are still to come.
  if (l.recurs) said = said && says_extent(l.value, b.name, b.hi, false, &other);
  // Of a result a dim of another name is all that matters.
  if (is_result(l) ? other : !said || other) out.bounds = {whole_term(0), index_term(b.hi)};
  return out;
}

/// The rest of a scatter. Ranges are left out where positions, in this order, tell them.
void Assembly::state_scatter(const Line& l, Statement& s) const {
  s.assign = l.scatter->assign;
  s.skip = l.scatter->skip;
  if (!l.scatter->where.empty()) s.where = {all_of_terms(l.scatter->where)};
  const auto known = [&](std::string_view name) { return is_number(e_.op(), name); };
  const std::vector<Range> named = scattered_indices(s, known);
  const Term all = terms_as_reduction(s, known);
  const bool alone = std::any_of(l.scatter->at.begin(), l.scatter->at.end(), [&](const Term& at) {
    return std::any_of(l.terms.begin(), l.terms.end(),
                       [&](const Bound& b) { return at.kind == Term::kName && at.name == b.name; });
  });
  bool told = !alone && named.size() == l.terms.size();
  for (size_t i = 0; i < l.terms.size() && told; ++i) {
    const Bound& b = l.terms[i];
    int64_t lo = -1;
    bool other = false;
    told = named[i].name == b.name && ir::is_const(b.lo, &lo) && lo == 0 &&
           says_extent(all.args[0], b.name, b.hi, true, &other) && !other;
  }
  for (const Bound& b : l.terms) {
    if (!told) s.loops.push_back({b.name, {}, {index_term(b.lo), index_term(b.hi)}});
  }
}

bool Assembly::is_used(const std::string& name) const {
  bool used = false;
  for (const Statement& s : statements_) {
    each_term(s, [&](const Term& t) { used |= mentions(t, name) || reads(t, name); });
  }
  return used;
}

void Assembly::add_arguments(Definition& d) const {
  std::set<std::string> in;
  for (const Argument& a : e_.op().args) {
    if (a.role != ir::Role::kOutput && is_used(a.name)) in.insert(a.name);
    const auto at = adjoint_.given().find(a.name);
    if (at != adjoint_.given().end() && is_used(at->second)) in.insert(at->second);
  }
  for (bool more = true; more;) {
    put_arguments(d, in);
    const std::string other = needed_for_shape(d);
    more = !other.empty();
    in.insert(other);
  }
}

/// The first argument whose shape says a dim that is used and that no other argument says, or "".
std::string Assembly::needed_for_shape(const Definition& d) const {
  for (const std::string& dim : e_.op().dims) {
    const auto has = [&](const Argument& a) {
      return std::any_of(a.shape.begin(), a.shape.end(),
                         [&](const Term& t) { return mentions(t, dim); });
    };
    if (!is_used(dim) || std::any_of(d.args.begin(), d.args.end(), has)) continue;
    for (const Argument& a : e_.op().args) {
      if (!has(a)) continue;
      const auto given = adjoint_.given().find(a.name);
      return a.role == ir::Role::kOutput && given != adjoint_.given().end() ? given->second
                                                                            : a.name;
    }
  }
  return "";
}

/// Gives `d` the arguments that are `in`, and the results.
void Assembly::put_arguments(Definition& d, const std::set<std::string>& in) const {
  d.args.clear();
  const auto put = [&](Argument a, const std::string& name, ir::Role role) {
    a.name = name;
    a.role = role;
    a.scalar &= role == ir::Role::kInput;
    d.args.push_back(std::move(a));
  };
  for (const Argument& a : e_.op().args) {
    if (in.count(a.name) == 0) continue;
    const bool computed =
        std::any_of(lines_.begin(), lines_.end(), [&](const Line& l) { return l.name == a.name; });
    put(a, computed ? a.name + "_like" : a.name, ir::Role::kInput);
  }
  add_taken(d);
  for (const Argument& a : e_.op().args) {
    const auto at = adjoint_.given().find(a.name);
    const bool given = at != adjoint_.given().end() && in.count(at->second) != 0;
    if (given) put(a, at->second, ir::Role::kInput);
  }
  for (const Argument& a : e_.op().args) {
    const auto at = adjoint_.made().find(a.name);
    if (at != adjoint_.made().end()) put(a, at->second, ir::Role::kOutput);
  }
}

void Assembly::add_taken(Definition& d) const {
  for (const Equation& e : e_.all()) {
    if (e.part || take_.count(e.name) == 0 || !is_used(e.name)) continue;
    Argument in;
    in.name = e.name;
    in.type = e.type;
    for (const Bound& b : e.indices) in.shape.push_back(index_term(b.hi));
    d.args.push_back(std::move(in));
  }
}

void Assembly::add_params(Definition& d) const {
  for (const Param& p : e_.op().params) {
    bool used = is_used(p.name);
    for (const Argument& a : d.args) {
      used |= a.type == p.name;
      for (const Term& t : a.shape) used |= mentions(t, p.name);
    }
    for (const Statement& s : d.statements) {
      used |= s.type == p.name;
      each_term(s, [&](const Term& whole) {
        used |= any_part(whole, [&](const Term& t) {
          return t.type == p.name || (t.kind == Term::kCast && t.name == p.name);
        });
      });
    }
    if (used) d.params.push_back(p);
  }
}

}  // namespace hone::ops
