// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/rescaled.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "jit/ir/functions/function.h"
#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

using ir::Expr;
using ir::Op;
using ir::Stage;

using Binding = std::map<std::string, std::string>;

/// True where `e` is `pattern` with the variables that `bound` names, or could be bound to, in it.
bool unify(const Expr& pattern, const Expr& e, const Stage& pattern_of, Binding& bound) {
  if (pattern->op == Op::kVar && pattern_of.is_reduction_var(pattern->name)) {
    if (e->op != Op::kVar) return false;
    return bound.emplace(pattern->name, e->name).first->second == e->name;
  }
  if (pattern->op != e->op || pattern->type != e->type || pattern->guarded != e->guarded ||
      pattern->name != e->name || pattern->i != e->i || pattern->fn != e->fn ||
      pattern->args.size() != e->args.size() || (pattern->op == Op::kFloat && !equal(pattern, e))) {
    return false;
  }
  for (size_t i = 0; i < pattern->args.size(); ++i) {
    if (!unify(pattern->args[i], e->args[i], pattern_of, bound)) return false;
  }
  return true;
}

bool is_zero(const Expr& e) {
  return (e->op == Op::kFloat && e->f == 0) || (e->op == Op::kInt && e->i == 0);
}

bool has_conjunct(const Expr& all, const Expr& one) {
  if (!all) return false;
  if (equal(all, one)) return true;
  return all->op == Op::kAnd &&
         (has_conjunct(all->args[0], one) || has_conjunct(all->args[1], one));
}

/// True where every conjunct of `wanted` is one of `all`.
bool implies(const Expr& all, const Expr& wanted) {
  if (!wanted) return true;
  if (wanted->op == Op::kAnd) {
    return implies(all, wanted->args[0]) && implies(all, wanted->args[1]);
  }
  return has_conjunct(all, wanted);
}

bool same_range(const ir::IndexVar* a, const ir::IndexVar* b) {
  return a && b && !a->lo && !b->lo && equal(a->hi, b->hi);
}

bool mentions_reduced(const Stage& s, const Expr& e) {
  return ir::any_node(
      e, [&](const Expr& n) { return n->op == Op::kVar && s.is_reduction_var(n->name); });
}

std::map<std::string, Expr> indices_by_name(const Stage& s, const Expr& load) {
  std::map<std::string, Expr> out;
  for (size_t d = 0; d < s.out_index.size(); ++d) {
    if (s.out_index[d]->op == Op::kVar) out[s.out_index[d]->name] = load->args[d];
  }
  return out;
}

bool same(const Exponential& a, const Exponential& b) {
  if (a.fn != b.fn || a.var != b.var || !a.scale != !b.scale) return false;
  if (a.scale && !equal(a.scale, b.scale)) return false;
  return std::equal(a.index.begin(), a.index.end(), b.index.begin(), b.index.end(),
                    [](const Expr& x, const Expr& y) { return equal(x, y); });
}

/// Looks at what depends on one max reduction.
class Finder {
 public:
  Finder(const ir::Program& p, size_t max_stage, std::string var)
      : p_(p),
        max_(p.stages[max_stage]),
        var_(std::move(var)),
        tainted_(that_depend_on(p, max_.output)) {}

  Dependents find(size_t from) {
    for (size_t i = from; i < p_.stages.size(); ++i) {
      const Stage& s = p_.stages[i];
      if (!tainted_[i]) continue;
      const bool sum = s.reduce == ir::Reduce::kSum;
      const bool factor = s.reduce == ir::Reduce::kNone &&
                          p_.buffer(s.output)->role == ir::Role::kTemp && windowless(s).empty();
      if (!(sum || factor) || !is_float(s.value->type)) continue;
      auto term = term_of(s);
      if (term && sum) {
        out_.sums.push_back({i, *term});
      } else if (term) {
        factors_.push_back({i, *term});
      } else if (sum && out_.why.empty()) {
        out_.why = why_;
      }
    }
    for (const Dependent& f : factors_) {
      const bool read = std::any_of(out_.sums.begin(), out_.sums.end(), [&](const Dependent& d) {
        return reads(p_.stages[d.stage], p_.stages[f.stage].output);
      });
      if (read) out_.factors.push_back(f);
    }
    return std::move(out_);
  }

 private:
  std::nullopt_t no(std::string why) {
    why_ = std::move(why);
    return std::nullopt;
  }

  /// The one exponential that every term of `s` is a multiple of.
  std::optional<Exponential> term_of(const Stage& s) {
    std::optional<Exponential> found;
    const auto degree = degree_of(s, s.value, found);
    if (degree && *degree == 1) return found;
    if (degree) return no("the terms of " + s.name + " are no multiples of exp(a - m)");
    return std::nullopt;
  }

  /// How often the exponential is a factor of `e`, 0 or 1; nothing where `e` is of another form.
  std::optional<int> degree_of(const Stage& s, const Expr& e, std::optional<Exponential>& found) {
    auto here = exponential(s, e);
    if (!here) here = by_factor(s, e);
    if (here) {
      if (found && !same(*found, *here)) return no(s.name + " has two different exponentials");
      found = here;
      return 1;
    }
    if (e->op == Op::kLoad && is_tainted(e->name)) {
      return no("the terms of " + s.name + " have " + print(e) + " other than in exp(a - " +
                max_.output + "), where a is what " + max_.name + " reduces");
    }
    std::vector<int> of;
    for (const Expr& a : e->args) {
      const auto degree = degree_of(s, a, found);
      if (!degree) return std::nullopt;
      of.push_back(*degree);
    }
    if (std::none_of(of.begin(), of.end(), [](int d) { return d == 1; })) return 0;
    const bool value = is_float(e->type);
    if (value && e->op == Op::kMul && of[0] + of[1] == 1) return 1;
    if (value && e->op == Op::kDiv && of[1] == 0) return 1;
    if (value && (e->op == Op::kNeg || e->op == Op::kCast)) return 1;
    if (value && (e->op == Op::kAdd || e->op == Op::kSub) && of[0] == of[1]) return 1;
    if (value && e->op == Op::kSelect && of[0] == 0 && (of[1] == 1 || is_zero(e->args[1])) &&
        (of[2] == 1 || is_zero(e->args[2]))) {
      return 1;
    }
    return no("the terms of " + s.name + " are no multiples of exp(a - " + max_.output + ")");
  }

  bool is_tainted(const std::string& buffer) const {
    if (buffer == max_.output) return true;
    const Stage* made = p_.producer(buffer);
    return made && tainted_[p_.stages.index_of(*made)];
  }

  /// `e` as an exponential of what the max reduction reduces.
  std::optional<Exponential> exponential(const Stage& s, const Expr& e) {
    if (e->op != Op::kCall || e->args.size() != 1) return std::nullopt;
    if (e->fn != ir::function_named("exp") && e->fn != ir::function_named("exp2")) {
      return std::nullopt;
    }
    Exponential out{e->fn};
    Expr less = e->args[0];
    for (size_t i = 0; less->op == Op::kMul && i < 2; ++i) {
      const Expr& c = less->args[i];
      if (c->op != Op::kFloat || !(c->f > 0)) continue;
      out.scale = c;
      less = Expr(less->args[1 - i]);
    }
    if (less->op != Op::kSub) return std::nullopt;
    const Expr &term = less->args[0], &greatest = less->args[1];
    if (greatest->op != Op::kLoad || greatest->name != max_.output || greatest->guarded) {
      return std::nullopt;
    }
    Binding bound;
    auto by_name = indices_by_name(max_, greatest);
    if (!unify(substitute(max_.value, by_name), term, max_, bound)) return std::nullopt;
    for (const ir::IndexVar& v : max_.rvars) {
      const auto at = bound.find(v.name);
      if (at == bound.end() || !same_range(&v, s.var(at->second))) return std::nullopt;
      for (const auto& [other, theirs] : bound) {
        if (other != v.name && theirs == at->second) return std::nullopt;
      }
      by_name[v.name] = ir::make_var(at->second);
    }
    for (const Expr& i : greatest->args) {
      const bool own = ir::any_node(i, [&](const Expr& n) {
        return n->op == Op::kVar && std::any_of(bound.begin(), bound.end(),
                                                [&](const auto& b) { return b.second == n->name; });
      });
      if (own || mentions_reduced(s, i)) return std::nullopt;
    }
    if (s.reduce != ir::Reduce::kNone && !reduces_all(s, bound)) return std::nullopt;
    const Expr domain = max_.where ? substitute(max_.where, by_name) : Expr();
    if (!implies(s.where, domain)) return std::nullopt;
    out.index = greatest->args;
    out.var = bound[var_];
    bound_[s.name] = bound;
    return out;
  }

  static bool reduces_all(const Stage& s, const Binding& bound) {
    return std::all_of(bound.begin(), bound.end(),
                       [&](const auto& b) { return s.is_reduction_var(b.second); });
  }

  /// The exponential in a stage that `e` reads.
  std::optional<Exponential> by_factor(const Stage& s, const Expr& e) {
    if (e->op != Op::kLoad || e->guarded || s.reduce == ir::Reduce::kNone) return std::nullopt;
    for (const Dependent& f : factors_) {
      const Stage& from = p_.stages[f.stage];
      if (from.output != e->name) continue;
      const auto by_name = indices_by_name(from, e);
      Exponential out = f.term;
      for (const auto& [max_var, theirs] : bound_.at(from.name)) {
        const auto at = by_name.find(theirs);
        if (at == by_name.end() || at->second->op != Op::kVar) return std::nullopt;
        const std::string& own = at->second->name;
        if (!s.is_reduction_var(own) || !same_range(s.var(own), from.var(theirs))) {
          return std::nullopt;
        }
        if (max_var == var_) out.var = own;
      }
      for (Expr& i : out.index) {
        i = substitute(i, by_name);
        if (mentions_reduced(s, i)) return std::nullopt;
      }
      const Expr domain = from.where ? substitute(from.where, by_name) : Expr();
      if (!implies(s.where, domain)) return std::nullopt;
      return out;
    }
    return std::nullopt;
  }

  const ir::Program& p_;
  const Stage& max_;
  std::string var_;
  std::vector<bool> tainted_;
  std::vector<Dependent> factors_;
  std::map<std::string, Binding> bound_;  ///< by stage: its variables for those of the max
  Dependents out_;
  std::string why_;
};

Expr load_at(const ir::Buffer& b, const Expr& part, const std::vector<Expr>& index) {
  std::vector<Expr> all{part};
  all.insert(all.end(), index.begin(), index.end());
  return ir::make_load(b.name, b.type, std::move(all));
}

}  // namespace

std::vector<bool> that_depend_on(const ir::Program& p, const std::string& buffer) {
  std::vector<bool> out(p.stages.size(), false);
  for (size_t i = 0; i < p.stages.size(); ++i) {
    const Stage& s = p.stages[i];
    if (s.output == buffer) continue;
    out[i] = reads(s, buffer);
    for (size_t k = 0; k < i; ++k) out[i] = out[i] || (out[k] && reads(s, p.stages[k].output));
  }
  return out;
}

Dependents dependents_of(const ir::Program& p, size_t max_stage, const std::string& var) {
  return Finder(p, max_stage, var).find(max_stage + 1);
}

Expr within_part(const ir::Program& p, const Dependent& d, const ir::Buffer& greatest,
                 const Expr& part, const std::string& max_buffer,
                 const std::map<std::string, std::string>& factors) {
  // A part that has nothing but -inf has terms of 0, as it has beside any finite number.
  const Expr of_part = load_at(greatest, part, d.term.index);
  const Expr nothing = make_binary(Op::kEq, of_part, ir::identity(ir::Reduce::kMax, greatest.type));
  const Expr reference = ir::make_select(nothing, ir::make_float(0, greatest.type), of_part);
  return ir::rewrite(p.stages[d.stage].value, [&](const Expr& n) -> Expr {
    if (n->op != Op::kLoad) return {};
    if (n->name == max_buffer) return reference;
    const auto renamed = factors.find(n->name);
    return renamed == factors.end() ? Expr() : rename_loads(n, n->name, renamed->second);
  });
}

Expr rescaling(const Exponential& term, const ir::Buffer& greatest, const ir::Buffer& max,
               const Expr& part, DType type) {
  const Expr of_part = load_at(greatest, part, term.index);
  const Expr of_all = ir::make_load(max.name, max.type, term.index);
  // Infinite numbers have no difference. Nothing but -inf is left as it is: exp(-inf + inf) is NaN.
  const Expr equal_ones =
      make_binary(Op::kAnd, make_binary(Op::kEq, of_part, of_all),
                  make_binary(Op::kLt, ir::identity(ir::Reduce::kMax, max.type), of_all));
  Expr less = of_part - of_all;
  if (term.scale) less = less * term.scale;
  const Expr factor =
      ir::make_select(equal_ones, ir::make_float(1, max.type), ir::make_call(term.fn, {less}));
  return factor->type == type ? factor : ir::make_cast(type, factor);
}

PartDomain domain_of_part(const Stage& s, const Parts& parts) {
  PartDomain out;
  std::vector<ir::Poly> least, most;  // of the index, besides the ends of the part
  const auto look = [&](const auto& self, const Expr& e) -> void {
    if (e->op == Op::kAnd) {
      self(self, e->args[0]);
      self(self, e->args[1]);
      return;
    }
    if (!ir::mentions_var(e, parts.var)) return;
    const bool others = std::any_of(s.rvars.begin(), s.rvars.end(), [&](const ir::IndexVar& v) {
      return v.name != parts.var && ir::mentions_var(e, v.name);
    });
    const bool order = (e->op == Op::kLe || e->op == Op::kLt) && !is_float(e->args[0]->type);
    const ir::Poly var = ir::Poly::of(ir::make_var(parts.var));
    if (order && !others) {
      const ir::Poly room =
          ir::Poly::of(e->args[1]) - ir::Poly::of(e->args[0]) - ir::Poly(e->op == Op::kLt ? 1 : 0);
      if (!ir::mentions_var((room + var).expr(), parts.var)) {
        most.push_back(room + var);
        return;
      }
      if (!ir::mentions_var((room - var).expr(), parts.var)) {
        least.push_back(var - room);
        return;
      }
    }
    out.why = "stage " + s.name + " reduces where " + print(e) + ", which does not bound " +
              parts.var + " alone; a bound like " + parts.var + " <= i can be cut into parts";
  };
  if (s.where) look(look, s.where);
  if (least.empty() && most.empty()) return out;
  const ir::Poly first = ir::Poly::of(ir::make_var(parts.part) * ir::make_int(parts.factor));
  const auto in_order = [&](const ir::Poly& a, const ir::Poly& b) {
    out.conditions.push_back(make_binary(Op::kLe, a.expr(), b.expr()));
  };
  for (const ir::Poly& end : most) in_order(first, end);
  for (const ir::Poly& begin : least) {
    in_order(begin, first + ir::Poly(parts.factor - 1));
    in_order(begin, ir::Poly::of(s.var(parts.var)->hi) - ir::Poly(1));
    for (const ir::Poly& end : most) in_order(begin, end);
  }
  return out;
}

}  // namespace hone::schedules
