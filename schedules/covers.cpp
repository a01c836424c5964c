// SPDX-License-Identifier: Apache-2.0
#include "schedules/covers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/group.h"
#include "jit/ir/poly.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "jit/passes/joins.h"
#include "jit/passes/stage_tree.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

using ir::Expr;
using ir::Stage;

/// A variable of a stage whose loops run between where a stage is computed and where it is kept.
using Atom = std::pair<std::string, std::string>;

/// The values that a variable takes one after the other.
struct Range {
  bool plain = false;   ///< the same for every element
  int64_t extent = -1;  ///< -1: not known
};

/// `index`: what the variable is a part of. The last part of a reduction that is cut into parts may
/// be shorter: `j in 0..min(F, N - b*F)` beside `b*F + j`.
Range range_of(const ir::IndexVar& v, const ir::Poly& index) {
  Range out;
  const auto moves = [](const Expr& e) {
    return ir::any_node(
        e, [](const Expr& n) { return n->op == ir::Op::kVar || n->op == ir::Op::kLoad; });
  };
  if (moves(v.lo)) return out;
  out.plain = !moves(v.hi);
  if (ir::is_const(v.hi, &out.extent)) return out;
  out.extent = -1;
  if (out.plain || v.hi->op != ir::Op::kMin || v.lo) return out;
  for (size_t i = 0; i < 2; ++i) {
    if (!ir::is_const(v.hi->args[i], &out.extent)) continue;
    const ir::Poly end =
        ir::Poly::of(v.hi->args[1 - i]) + index - ir::Poly::of(ir::make_var(v.name));
    out.plain = !moves(end.expr());
    return out;
  }
  return out;
}

/// True where all values of an index that is summed of variables of `s` follow one another.
bool is_dense(const Stage& s, const Expr& index, std::vector<std::string>& vars) {
  struct Part {
    int64_t factor = 0, extent = 0;
  };
  int64_t divisor = 0;
  if (index->op == ir::Op::kDiv && ir::is_const(index->args[1], &divisor) && divisor > 0) {
    return is_dense(s, index->args[0], vars);
  }
  std::vector<Part> parts;
  const ir::Poly sum = ir::Poly::of(index);
  for (const ir::Poly::Term& t : sum.terms()) {
    if (t.factors.size() != 1) return false;
    const Expr& f = t.factors[0];
    if (f->op == ir::Op::kDim) continue;
    const ir::IndexVar* v = f->op == ir::Op::kVar ? s.var(f->name) : nullptr;
    if (!v) return false;
    const Range range = range_of(*v, sum);
    if (!range.plain || t.coef <= 0) return false;
    vars.push_back(v->name);
    parts.push_back({t.coef, range.extent});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.factor < b.factor; });
  int64_t reach = 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].factor > reach) return false;
    if (parts[i].extent < 0) return i + 1 == parts.size();
    reach += parts[i].factor * std::max<int64_t>(parts[i].extent - 1, 0);
  }
  return true;
}

template <class F>
void each_conjunct(const Expr& e, const F& f) {
  if (!e) return;
  if (e->op == ir::Op::kAnd) {
    each_conjunct(e->args[0], f);
    each_conjunct(e->args[1], f);
  } else {
    f(e);
  }
}

/// `index` without the variables of `s` that are always 0.
Expr without_zeros(const Expr& index, const Stage& s) {
  return ir::rewrite(index, [&](const Expr& n) -> Expr {
    const ir::IndexVar* v = n->op == ir::Op::kVar ? s.var(n->name) : nullptr;
    int64_t only = 0;
    return v && !v->lo && ir::is_const(v->hi, &only) && only == 1 ? ir::make_int(0) : Expr();
  });
}

/// `(F*b + j) / F` as `b`, where j stays below F.
Expr without_rest(const Expr& index, const Stage& s) {
  const Expr e = without_zeros(index, s);
  int64_t k = 0;
  if (e->op != ir::Op::kDiv || !ir::is_const(e->args[1], &k) || k <= 0) return e;
  const ir::Poly sum = ir::Poly::of(e->args[0]);
  for (const ir::Poly::Term& t : sum.terms()) {
    const ir::IndexVar* v = t.factors[0]->op == ir::Op::kVar ? s.var(t.factors[0]->name) : nullptr;
    if (t.factors.size() != 1 || t.coef != 1 || !v) continue;
    const Range range = range_of(*v, sum);
    const ir::Poly rest = sum - ir::Poly::of(t.factors[0]);
    if (v->lo || range.extent < 0 || range.extent > k || !is_multiple(rest, k)) continue;
    return floor_div(rest, k, nullptr).expr();
  }
  return e;
}

/// In the name of a variable that stands for all of its values from 0 on.
constexpr const char* kAnyOf = "/";

bool is_any(const Expr& var) { return var->name.find(kAnyOf) != std::string::npos; }

/// What an inequality says is not below 0; nothing of another condition.
std::optional<ir::Poly> room_in(const Expr& e) {
  if ((e->op != ir::Op::kLe && e->op != ir::Op::kLt) || is_float(e->args[0]->type)) return {};
  return ir::Poly::of(e->args[1]) - ir::Poly::of(e->args[0]) -
         ir::Poly(e->op == ir::Op::kLt ? 1 : 0);
}

/// True where `condition` holds wherever `domain` does, as far as variables of `s` above 0 tell.
bool follows_from(const Expr& domain, const Expr& condition, const Stage& s) {
  if (ir::equal(domain, condition)) return true;
  const auto given = room_in(domain), wanted = room_in(condition);
  if (!given || !wanted) return false;
  const ir::Poly more = *wanted - *given;
  const auto& terms = more.terms();
  return !more.wraps() && more.constant() >= 0 &&
         std::all_of(terms.begin(), terms.end(), [&](const ir::Poly::Term& t) {
           const bool var = t.factors.size() == 1 && t.factors[0]->op == ir::Op::kVar;
           const ir::IndexVar* v = var ? s.var(t.factors[0]->name) : nullptr;
           return var && t.coef > 0 && (is_any(t.factors[0]) || (v && !v->lo));
         });
}

/// The conditions of a stage but for those that say where terms go, if that is how it runs.
Expr around_terms(const Stage& s) {
  const std::vector<ir::ScatteredVar> scattered = ir::scattered_vars(s);
  const bool runs = std::all_of(scattered.begin(), scattered.end(),
                                [&](const auto& v) { return ir::runs_scattered(s, v.var); });
  return runs ? ir::where_of_terms(s) : s.where;
}

/// Looks at the loops between where one stage is computed and where it is kept.
class Coverage {
 public:
  Coverage(const ir::Program& p, const Stage& s)
      : p_(p),
        s_(s),
        groups_(p),
        root_(jit::kept_at_root(p, s)),
        home_(root_ ? ir::Place() : s.store) {}

  std::string gaps() {
    std::vector<std::set<Atom>> dims;
    if (!follow(s_, dims)) return why_;
    for (size_t a = 0; a < dims.size(); ++a) {
      for (size_t b = a + 1; b < dims.size(); ++b) {
        for (const Atom& atom : dims[a]) {
          if (dims[b].count(atom) == 0) continue;
          return lead() + "computes a diagonal, as two dims of it follow " + atom.first + "/" +
                 atom.second;
        }
      }
    }
    if (!conditions_hold() || !runs(dims)) return why_;
    if (root_ && !once(dims)) return why_;
    return {};
  }

 private:
  std::string lead() const {
    return "the loop " + s_.at.stage + "/" + s_.at.loop + ", at which " + s_.name +
           " is computed and not kept, ";
  }
  bool fail(const std::string& why) {
    why_ = lead() + why;
    return false;
  }

  /// The loops at which stages are computed, from the innermost out to where `s_` is kept.
  std::vector<ir::Place> chain() const {
    std::vector<ir::Place> out;
    for (ir::Place at = s_.at; !at.root(); at = p_.stage(at.stage)->at) {
      out.push_back(at);
      if (at.stage == home_.stage) break;
    }
    return out;
  }

  /// Whether `load`, which `r` performs, is of what this iteration computes of `of`.
  bool is_of(const Stage& r, const Expr& load, const Stage& of) const {
    return load->name == of.output && !groups_.carried(p_.stages.index_of(r), load);
  }

  bool in_one_group(const Stage& a, const Stage& b) const {
    return groups_.together(p_.stages.index_of(a), p_.stages.index_of(b));
  }

  /// The stages inside the loop that read the part of `of` computed there.
  std::vector<const Stage*> readers(const Stage& of) const {
    std::vector<const Stage*> out;
    for (const Stage& r : p_.stages) {
      if (r.name == of.name || !reads(r, of.output)) continue;
      bool now = groups_.none();
      if (!now) jit::each_load(r, [&](const Expr& load) { now = now || is_of(r, load, of); });
      if (!now) continue;
      if (r.name == of.at.stage || is_inside(p_, r.at, of.at)) out.push_back(&r);
    }
    return out;
  }

  /// For each dim of what `of` writes, the variables that decide which part is computed. False
  /// where the parts may not add up to the whole.
  bool follow(const Stage& of, std::vector<std::set<Atom>>& dims) {
    const auto known = followed_.find(of.name);
    if (known == followed_.end()) {
      if (!find_parts(of, dims)) return false;
      followed_.emplace(of.name, dims);
    } else {
      dims = known->second;
    }
    return true;
  }

  bool find_parts(const Stage& of, std::vector<std::set<Atom>>& dims) {
    dims.assign(p_.buffer(of.output)->shape.size(), {});
    const std::vector<const Stage*> inside = readers(of);
    if (inside.empty()) {
      const Stage& owner = *p_.stage(of.at.stage);
      const std::vector<std::string> theirs = jit::joined(of, owner, in_one_group(of, owner));
      for (size_t v = 0; v < of.vars.size(); ++v) {
        for (size_t d = 0; d < of.out_index.size(); ++d) {
          if (theirs[v].empty() || !ir::mentions_var(of.out_index[d], of.vars[v].name)) continue;
          if (!range_of(*owner.var(theirs[v]), {}).plain)
            return fail("has ranges that data choose");
          if (!add(owner, theirs[v], dims[d])) return false;
        }
      }
      return true;
    }
    for (const Stage* r : inside) {
      bool fits = true;
      jit::each_load(*r, [&](const Expr& load) {
        if (!is_of(*r, load, of)) return;
        for (size_t d = 0; fits && d < dims.size(); ++d) {
          std::vector<std::string> vars;
          fits = is_dense(*r, load->args[d], vars) && !load->guarded;
          for (const std::string& v : vars) fits = fits && add(*r, v, dims[d]);
        }
      });
      if (!fits)
        return why_.empty() ? fail("may skip elements of it that " + r->name + " skips") : false;
    }
    return true;
  }

  /// Adds what decides the values of a variable of a stage that reads inside the loop.
  bool add(const Stage& of, const std::string& var, std::set<Atom>& to) {
    const std::vector<ir::Place> outer = chain();
    const bool hosts = std::any_of(outer.begin(), outer.end(),
                                   [&](const ir::Place& at) { return at.stage == of.name; });
    // All of its terms, while the loops around stand still.
    if (of.is_reduction_var(var) && !hosts) return true;
    if (hosts) to.insert({of.name, var});
    if (of.is_reduction_var(var) || of.at.root() || of.name == home_.stage || of.at == home_) {
      return true;
    }
    std::vector<std::set<Atom>> dims;
    if (!follow(of, dims)) return false;
    for (size_t d = 0; d < of.out_index.size(); ++d) {
      if (ir::mentions_var(of.out_index[d], var)) to.insert(dims[d].begin(), dims[d].end());
    }
    return true;
  }

  /// What is read outside the loops is computed: those that do not choose a part of it run.
  bool runs(const std::vector<std::set<Atom>>& dims) {
    const bool outside = root_ || std::any_of(p_.stages.begin(), p_.stages.end(), [&](auto& r) {
                           return r.name != s_.name && r.name != s_.at.stage &&
                                  reads(r, s_.output) && !is_inside(p_, r.at, s_.at);
                         });
    if (!outside) return true;
    for (const ir::Place& at : chain()) {
      const Stage& owner = *p_.stage(at.stage);
      const size_t last = position_of(owner, at.loop);
      const bool home = owner.name == home_.stage;
      for (size_t i = home ? position_of(owner, home_.loop) + 1 : 0; i <= last; ++i) {
        if (owner.loops[i].mark == ir::Mark::kScatter) continue;  // no term runs it
        for (const std::string& var : roots_of(owner, owner.loops[i].name)) {
          const bool followed = std::any_of(dims.begin(), dims.end(), [&](const auto& atoms) {
            return atoms.count({owner.name, var}) != 0;
          });
          if (!followed && !has_values(p_, *owner.var(var))) {
            return fail("may have no iterations, as " + var + " may have no values");
          }
        }
      }
    }
    return true;
  }

  /// No condition leaves out iterations, except of what is outside the domain of `s_`.
  bool conditions_hold() {
    for (const ir::Place& at : chain()) {
      const Stage& owner = *p_.stage(at.stage);
      bool reduced = false;
      for (size_t i = 0; i <= position_of(owner, at.loop); ++i) {
        reduced |= is_reduction(owner, owner.loops[i].name);
      }
      bool holds = true;
      each_conjunct(around_terms(owner), [&](const Expr& c) {
        // Results are initialised whatever is reduced, and loops of results run for that.
        if (!reduced && mentions_any(c, owner.rvars)) return;
        holds = holds && is_domain(c, owner);
      });
      if (!holds) return fail("leaves out what " + owner.name + " leaves out by a condition");
    }
    return true;
  }

  /// Variables of `s_` in terms of those of a stage that needs it.
  using Way = std::map<std::string, Expr>;

  /// Follows readers from `of` on to `owner`: `way` is in variables of `of`.
  void find_ways(const Stage& of, const Stage& owner, const Way& way, std::vector<Way>& out) const {
    const auto go = [&](Way indices, const Stage& to) {
      // Whatever is reduced takes all of its values, by a name that no stage has.
      for (const ir::IndexVar& v : of.rvars) {
        if (!v.lo) indices[v.name] = ir::make_var(of.name + kAnyOf + v.name);
      }
      Way next;
      for (const auto& [var, e] : way) {
        const bool lost = ir::any_node(e, [&](const Expr& n) {
          return n->op == ir::Op::kVar && !is_any(n) && indices.count(n->name) == 0;
        });
        if (!lost) next[var] = without_rest(substitute(e, indices), to);
      }
      if (to.name == owner.name) {
        out.push_back(std::move(next));
      } else {
        find_ways(to, owner, next, out);
      }
    };
    const std::vector<const Stage*> inside = readers(of);
    if (inside.empty()) {
      Way indices;
      const std::vector<std::string> theirs = jit::joined(of, owner, in_one_group(of, owner));
      for (size_t v = 0; v < theirs.size(); ++v) {
        if (!theirs[v].empty()) indices[of.vars[v].name] = ir::make_var(theirs[v]);
      }
      go(indices, owner);
    }
    for (const Stage* r : inside) {
      jit::each_load(*r, [&](const Expr& load) {
        if (!is_of(*r, load, of)) return;
        Way indices;
        for (size_t d = 0; d < of.out_index.size(); ++d) {
          if (of.out_index[d]->op == ir::Op::kVar) indices[of.out_index[d]->name] = load->args[d];
        }
        go(indices, *r);
      });
    }
  }

  /// True where a condition of `owner` says no more than that an element is in the domain of `s_`.
  bool is_domain(const Expr& condition, const Stage& owner) const {
    if (owner.name != s_.at.stage) return false;
    Way own;
    for (const ir::IndexVar& v : s_.vars) own[v.name] = ir::make_var(v.name);
    std::vector<Way> ways;
    find_ways(s_, owner, own, ways);
    return !ways.empty() && std::all_of(ways.begin(), ways.end(), [&](const Way& way) {
      bool found = false;
      each_conjunct(s_.where, [&](const Expr& c) {
        const bool known = !ir::any_node(
            c, [&](const Expr& n) { return n->op == ir::Op::kVar && way.count(n->name) == 0; });
        found = found ||
                (known && follows_from(substitute(c, way), without_zeros(condition, owner), owner));
      });
      return found;
    });
  }

  /// Every loop that repeats the computation computes another part.
  bool once(const std::vector<std::set<Atom>>& dims) {
    const Stage& owner = *p_.stage(s_.at.stage);
    if (!owner.at.root()) {
      return fail("is inside another stage, " + owner.at.stage +
                  "; what the call keeps is "
                  "computed in a loop of a stage at the root");
    }
    if (owner.writes_nothing() && !s_.writes_nothing()) {
      return fail("is of a stage without elements, whose loops are left out");
    }
    // Threads do not wait for what others write to the GPU's memory.
    for (const Stage& t : p_.stages) {
      const Stage* around = &t;
      while (!around->at.root()) around = p_.stage(around->at.stage);
      if (around->name != owner.name) continue;
      for (const ir::Loop& l : t.loops) {
        if (!is_block(l.mark) && !is_thread(l.mark)) continue;
        // Each thread reads what itself has written.
        const bool outside =
            t.name == owner.name && position_of(t, l.name) <= position_of(t, s_.at.loop);
        if (outside && in_one_group(s_, owner)) continue;
        return fail("is in one launch with " + l.name + ", a loop over a GPU's " +
                    (is_block(l.mark) ? "blocks" : "threads") +
                    "; there each output has a launch of its own");
      }
    }
    for (size_t i = 0; i <= position_of(owner, s_.at.loop); ++i) {
      const ir::Loop& l = owner.loops[i];
      if (l.mark == ir::Mark::kScatter) continue;  // no term runs it
      for (const std::string& var : roots_of(owner, l.name)) {
        const bool followed = std::any_of(dims.begin(), dims.end(), [&](const auto& atoms) {
          return atoms.count({owner.name, var}) != 0;
        });
        if (!followed) {
          return fail("stands in a loop over " + var + ", which would compute the same again");
        }
      }
    }
    const bool updates = p_.buffer(s_.output)->role == ir::Role::kInOut && reads(s_, s_.output);
    return !updates || apart(owner);
  }

  /// Whether a loop, or one of its pieces, stands where `wanted` says of its position.
  template <class F>
  static bool stands(const Stage& owner, const std::string& loop, const F& wanted) {
    for (size_t i = 0; i < owner.loops.size(); ++i) {
      if (owner.loops[i].name == loop) return wanted(i);
    }
    return std::any_of(owner.relations.begin(), owner.relations.end(), [&](const ir::Relation& r) {
      if (r.parent != loop && r.second != loop) return false;
      return stands(owner, r.outer, wanted) || (!r.inner.empty() && stands(owner, r.inner, wanted));
    });
  }

  /// Whether the loops inside of `last` run over boxes, so that windows are no larger. Elements
  /// apart are none, nor pieces of fused loops; parts of an outer loop are where both splits
  /// divide.
  static bool are_boxes(const Stage& owner, size_t last) {
    const std::vector<ir::Relation>& relations = owner.relations;
    return std::none_of(relations.begin(), relations.end(), [&](const ir::Relation& piece) {
      if (piece.kind != ir::Relation::kSplit) return false;
      if (piece.tail == ir::Tail::kOverlap) return true;
      const bool apart = stands(owner, piece.inner, [&](size_t i) { return i <= last; }) &&
                         stands(owner, piece.outer, [&](size_t i) { return i > last; });
      if (apart) return true;
      return std::any_of(relations.begin(), relations.end(), [&](const ir::Relation& of) {
        if (of.outer != piece.parent) return false;
        return of.kind == ir::Relation::kFuse || of.tail != ir::Tail::kExact ||
               piece.tail != ir::Tail::kExact;
      });
    });
  }

  /// No element is computed twice: the second time would read the result of the first. Readers take
  /// it at one place, which each loop around it moves. What none reads goes with the owner's
  /// indices.
  bool apart(const Stage& owner) {
    const size_t last = position_of(owner, s_.at.loop);
    bool plain = are_boxes(owner, last);
    std::vector<Expr> place;
    for (const Stage* r : readers(s_)) {
      plain = plain && r->name == owner.name;
      jit::each_load(*r, [&](const Expr& load) {
        if (load->name != s_.output) return;
        if (place.empty()) place = load->args;
        plain = plain && std::equal(place.begin(), place.end(), load->args.begin(),
                                    load->args.end(), ir::equal);
      });
    }
    const auto moves = [&](const ir::IndexVar& v) {
      return std::any_of(place.begin(), place.end(),
                         [&](const Expr& e) { return e->op == ir::Op::kVar && e->name == v.name; });
    };
    for (const Expr& e : place) {
      plain = plain && e->op == ir::Op::kVar && !owner.is_reduction_var(e->name);
    }
    for (const auto* vars : {&owner.vars, &owner.rvars}) {
      for (const ir::IndexVar& v : *vars) {
        int64_t extent = 0;
        const bool once = !v.lo && ir::is_const(v.hi, &extent) && extent == 1;
        const auto around = [&](size_t i) { return i <= last; };
        const bool still = !place.empty() && !once && !moves(v);
        plain = plain && !(still && stands(owner, v.name, around));
      }
    }
    return plain ||
           fail("may compute elements twice, and " + s_.name + " reads what it overwrites");
  }

  const ir::Program& p_;
  const Stage& s_;
  const ir::Groups groups_;
  bool root_;
  ir::Place home_;
  std::map<std::string, std::vector<std::set<Atom>>> followed_;  ///< by stage
  std::string why_;
};

}  // namespace

bool has_values(const ir::Program& program, const ir::IndexVar& v) {
  ir::Facts facts;
  for (const ir::Dim& d : program.dims) facts.define_dim(d.name, d.lo, d.hi);
  const ir::Poly count = ir::Poly::of(v.hi, &facts) - (v.lo ? ir::Poly::of(v.lo, &facts) : 0);
  return facts.nonnegative(count - 1);
}

std::string gaps(const ir::Program& program, const Stage& stage) {
  if (stage.at.root()) return {};
  if (stage.store.root() && !jit::kept_at_root(program, stage)) return {};
  if (ir::carried_state(program, stage)) return {};  // lowering proves what is kept of it
  return Coverage(program, stage).gaps();
}

}  // namespace hone::schedules
