// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <set>

#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Two variables of a stage that become one.
struct VarPair {
  size_t stage = 0;
  std::string outer, inner;
  auto operator<=>(const VarPair&) const = default;
};

/// Two dims of a buffer that become one, the inner one. The outer one keeps a single index.
struct DimPair {
  size_t buffer = 0;
  size_t outer = 0, inner = 0;
  auto operator<=>(const DimPair&) const = default;
};

bool is_var(const ir::Expr& e, const std::string& name) {
  return e->op == ir::Op::kVar && e->name == name;
}

/// What is added to the variable `name` in `e`, such as `q - 2` to `j` in `j + q - 2`; null where
/// `e` is no such sum. Of what data give no multiple is known to be a number.
ir::Expr added_to(const ir::Expr& e, const std::string& name) {
  if (is_var(e, name)) return ir::make_int(0);
  if (e->op != ir::Op::kAdd && e->op != ir::Op::kSub) return {};
  const ir::Expr &a = e->args[0], &b = e->args[1];
  const bool in_a = ir::mentions_var(a, name), in_b = ir::mentions_var(b, name);
  if (in_a == in_b || (in_b && e->op == ir::Op::kSub)) return {};
  const auto is_load = [](const ir::Expr& x) { return x->op == ir::Op::kLoad; };
  if (ir::any_node(in_a ? b : a, is_load)) return {};
  const ir::Expr rest = added_to(in_a ? a : b, name);
  if (!rest) return {};
  if (in_b) return a + rest;
  return e->op == ir::Op::kAdd ? rest + b : rest - b;
}

bool mentions(const ir::Expr& e, const VarPair& vars) {
  bool any = false;
  ir::visit(e, [&](const ir::Expr& n) {
    any |= n->op == ir::Op::kVar && (n->name == vars.outer || n->name == vars.inner);
  });
  return any;
}

/// Makes one variable of two, and one dim of those that they index. Stages that index these dims
/// alike follow. A copy that cannot writes element (i, j) at i * extent + j.
class Collapse {
 public:
  Collapse(ir::Program program, std::string name) : p_(std::move(program)), name_(std::move(name)) {
    for (size_t i = 0; i < p_.stages.size(); ++i) drop_units(p_.stages.edit(i));
  }

  /// Why the pair cannot become one; empty where it can.
  std::string find(const VarPair& first) { return grow(first); }

  ir::Program done() {
    for (size_t i = 0; i < p_.stages.size(); ++i) {
      ir::Stage& s = p_.stages.edit(i);
      for_each_expr(s, [&](ir::Expr& e) { e = flattened(e, i); });
      s.out_index = flattened(s.output, std::move(s.out_index), i);
    }
    for (const VarPair& v : vars_) replace(v);
    for (const DimPair& d : dims_) {
      ir::Buffer& b = p_.buffers.edit(d.buffer);
      b.shape[d.inner] = b.shape[d.outer] * b.shape[d.inner];
      b.shape[d.outer] = ir::make_int(1);
    }
    return std::move(p_);
  }

 private:
  /// An index that is reduced over one value alone moves nothing.
  static void drop_units(ir::Stage& s) {
    if (!s.relations.empty()) return;
    std::map<std::string, ir::Expr> zero;
    for (const ir::IndexVar& r : s.rvars) {
      int64_t hi = 0;
      if (!r.lo && ir::is_const(r.hi, &hi) && hi == 1) zero[r.name] = ir::make_int(0);
    }
    if (!zero.empty()) s.value = substitute(s.value, zero);
  }

  /// Adds a pair with all that follows from it, or nothing and why not.
  std::string grow(const VarPair& v) {
    const auto vars = vars_;
    const auto dims = dims_;
    std::vector<DimPair> open;
    std::string wrong = add(v, open);
    while (wrong.empty() && !open.empty()) {
      const DimPair d = open.back();
      open.pop_back();
      wrong = follow(d);
    }
    if (!wrong.empty()) {
      vars_ = vars;
      dims_ = dims;
    }
    return wrong;
  }

  std::string add(const VarPair& v, std::vector<DimPair>& open) {
    const ir::Stage& s = p_.stages[v.stage];
    std::string wrong = objection(s, v);
    if (!wrong.empty()) return wrong;
    vars_.insert(v);
    ir::Stage copy = s;
    for_each_expr(copy, [&](const ir::Expr& e) {
      ir::visit(e, [&](const ir::Expr& n) {
        if (wrong.empty() && n->op == ir::Op::kLoad) {
          wrong = add_access(s, v, n->name, n->args, open);
        }
      });
    });
    if (wrong.empty()) wrong = add_access(s, v, s.output, s.out_index, open);
    copy.out_index.clear();
    for_each_expr(copy, [&](const ir::Expr& e) {
      if (wrong.empty() && mentions(stripped(e, v), v)) {
        wrong = s.name + " uses " + v.outer + " or " + v.inner + " apart from the other";
      }
    });
    return wrong;
  }

  /// What does not let the variables of a stage become one, whatever they index.
  std::string objection(const ir::Stage& s, const VarPair& v) const {
    const bool marked = std::any_of(s.loops.begin(), s.loops.end(), [](const ir::Loop& l) {
      return l.mark != ir::Mark::kSerial || l.partition;
    });
    const bool bare = s.relations.empty() && s.factored.empty() && s.at.root() && !marked &&
                      s.loops.size() == s.vars.size() + s.rvars.size();
    if (!bare) return "stage " + s.name + " has steps already; collapse before any of them";
    for (const std::string& loop : {v.outer, v.inner}) {
      std::string pinned = pinned_loop(p_, s, loop);
      if (!pinned.empty()) return pinned;
    }
    const ir::IndexVar *outer = s.var(v.outer), *inner = s.var(v.inner);
    if (!outer || !inner || outer == inner) return "two indices of " + s.name + " are wanted";
    if (s.is_reduction_var(v.outer) != s.is_reduction_var(v.inner)) {
      return "one of the two indices of " + s.name + " is reduced, and the other is not";
    }
    if (s.is_reduction_var(v.outer) && !adjacent(s.rvars, v)) {
      return s.name + " does not sum over all of " + v.inner + " for one " + v.outer +
             " after the other";
    }
    if (outer->lo || inner->lo || !is_size(outer->hi) || !is_size(inner->hi)) {
      return "the range of " + v.outer + " or " + v.inner +
             " does not begin at 0, or depends on data";
    }
    if (s.var(name_)) return "stage " + s.name + " has an index " + name_ + " already";
    for (const VarPair& other : vars_) {
      if (other.stage == v.stage) return s.name + " has another pair of indices that become one";
    }
    return {};
  }

  /// True where the inner one comes next after the outer one: terms stay in their order.
  static bool adjacent(const std::vector<ir::IndexVar>& vars, const VarPair& v) {
    size_t i = 0;
    while (i < vars.size() && vars[i].name != v.outer) ++i;
    for (++i; i < vars.size() && vars[i].name != v.inner; ++i) {
      int64_t extent = 0;
      if (vars[i].lo || !ir::is_const(vars[i].hi, &extent) || extent != 1) return false;
    }
    return i < vars.size();
  }

  /// The dims of an access that the pair indexes, both or none.
  std::string add_access(const ir::Stage& s, const VarPair& v, const std::string& tensor,
                         const std::vector<ir::Expr>& indices, std::vector<DimPair>& open) {
    const size_t rank = p_.buffer(tensor)->shape.size();
    const auto at = [&](const auto& moves) {
      return static_cast<size_t>(std::find_if(indices.begin(),
                                              indices.begin() + static_cast<std::ptrdiff_t>(rank),
                                              moves) -
                                 indices.begin());
    };
    const size_t outer =
        at([&](const ir::Expr& e) { return static_cast<bool>(added_to(e, v.outer)); });
    const size_t inner = at([&](const ir::Expr& e) { return is_var(e, v.inner); });
    if (outer == rank && inner == rank) return {};
    if (outer == rank || inner == rank) return "only one of the two moves along " + tensor;
    for (size_t d = 0; d < rank; ++d) {
      if (d != outer && d != inner && mentions(indices[d], v)) {
        return "one of the two moves along " + tensor + " twice";
      }
    }
    if (ir::mentions_var(indices[outer], v.inner)) return "both move along one dim of " + tensor;
    if (tensor == s.output && !is_var(indices[outer], v.outer)) {
      return s.name + " goes on from itself along one of the two";
    }
    const DimPair dims{*find_buffer(p_, tensor), outer, inner};
    std::string wrong = runs_on(s, v, dims);
    if (wrong.empty() && dims_.insert(dims).second) open.push_back(dims);
    return wrong;
  }

  /// Why neighbours along the outer dim do not follow the end of the inner one in memory.
  std::string runs_on(const ir::Stage& s, const VarPair& v, const DimPair& d) const {
    const ir::Buffer& b = p_.buffers[d.buffer];
    const std::string what =
        v.outer + " does not go on in " + b.name + " where " + v.inner + " ends";
    if (!equal(s.var(v.inner)->hi, b.shape[d.inner]) || b.pad != 0 || b.swizzle) return what;
    for (const DimPair& other : dims_) {
      const bool shares = other.outer == d.outer || other.inner == d.inner ||
                          other.outer == d.inner || other.inner == d.outer;
      if (other.buffer == d.buffer && other != d && shares) return what;
    }
    const size_t outer = axis_of(b, d.outer), inner = axis_of(b, d.inner);
    if (outer == kNoAxis || inner == kNoAxis) return what;
    if (b.strides.empty()) return comes_next(b, outer, inner) ? "" : what;
    return equal(b.strides[outer], b.strides[inner] * b.shape[d.inner]) ? "" : what;
  }

  /// True where no axis of several elements lies between two.
  static bool comes_next(const ir::Buffer& b, size_t outer, size_t inner) {
    if (inner <= outer) return false;
    for (size_t a = outer + 1; a < inner; ++a) {
      int64_t extent = 0;
      const size_t dim = b.axes.empty() ? a : static_cast<size_t>(b.axes[a].dim);
      if (!ir::is_const(b.shape[dim], &extent) || extent != 1) return false;
    }
    return true;
  }

  /// The axis that a dim alone lies along; kNoAxis where it is cut.
  static constexpr size_t kNoAxis = SIZE_MAX;
  static size_t axis_of(const ir::Buffer& b, size_t dim) {
    if (b.axes.empty()) return dim;
    for (size_t a = 0; a < b.axes.size(); ++a) {
      if (b.axes[a] == ir::Axis{static_cast<int>(dim), 1, 0}) return a;
    }
    return kNoAxis;
  }

  /// The variables of every stage that index the dims.
  std::string follow(const DimPair& d) {
    const std::string tensor = p_.buffers[d.buffer].name;
    if (is_checked(tensor)) return tensor + " is checked before the call";
    std::string wrong;
    for (size_t i = 0; i < p_.stages.size() && wrong.empty(); ++i) {
      ir::Stage s = p_.stages[i];
      const auto look = [&](const std::vector<ir::Expr>& indices) {
        const ir::Expr &outer = indices[d.outer], &inner = indices[d.inner];
        const std::string moving = inner->op == ir::Op::kVar ? moved_with(s, outer, inner) : "";
        if (!wrong.empty() || (!moving.empty() && vars_.contains({i, moving, inner->name}))) return;
        std::string apart = !moving.empty() ? grow({i, moving, inner->name})
                                            : s.name + " reads " + tensor + " by other indices";
        if (!apart.empty() && !(s.output == tensor && is_copy(s))) wrong = std::move(apart);
      };
      for_each_expr(s, [&](const ir::Expr& e) {
        ir::visit(e, [&](const ir::Expr& n) {
          if (n->op == ir::Op::kLoad && n->name == tensor) look(n->args);
        });
      });
      if (s.output != tensor) continue;
      // Loops that went there as indices of partial results stay what they are.
      if (!s.factored.empty()) return s.name + " writes " + tensor + " by loops of its own";
      look(s.out_index);
    }
    return wrong;
  }

  /// The variable of a stage that moves an outer index by steps of one, of the kind of the inner
  /// one: reduced or not. "" where there is none or several.
  static std::string moved_with(const ir::Stage& s, const ir::Expr& outer, const ir::Expr& inner) {
    if (outer->op == ir::Op::kVar) return outer->name;
    std::string found;
    int several = 0;
    for (const auto& v : s.is_reduction_var(inner->name) ? s.rvars : s.vars) {
      if (!added_to(outer, v.name)) continue;
      found = v.name;
      ++several;
    }
    return several == 1 ? found : "";
  }

  /// A copy at the root may go on writing its tensor by two indices.
  static bool is_copy(const ir::Stage& s) {
    return s.reduce == ir::Reduce::kNone && s.value->op == ir::Op::kLoad && s.at.root();
  }

  bool is_checked(const std::string& tensor) const {
    for (const ir::Check& check : p_.checks) {
      bool loads = check.tensor == tensor;
      for (const ir::Expr& e : {check.value, check.lo, check.hi, check.position}) {
        if (!e) continue;
        ir::visit(e,
                  [&](const ir::Expr& n) { loads |= n->op == ir::Op::kLoad && n->name == tensor; });
      }
      if (loads) return true;
    }
    return false;
  }

  /// `e` without the indices that the pair makes of accesses.
  ir::Expr stripped(const ir::Expr& e, const VarPair& v) const {
    return ir::rewrite(e, [&](const ir::Expr& n) {
      if (n->op != ir::Op::kLoad) return ir::Expr();
      std::vector<ir::Expr> indices = n->args;
      const ir::Expr fill = n->guarded ? stripped(indices.back(), v) : ir::Expr();
      if (n->guarded) indices.pop_back();
      for (ir::Expr& index : indices) {
        if (const ir::Expr rest = added_to(index, v.outer)) index = rest;
        index = is_var(index, v.inner) ? ir::make_int(0) : stripped(index, v);
      }
      return ir::make_load(n->name, n->type, std::move(indices), fill);
    });
  }

  /// The indices of an access by stage `stage`, with one for each pair of dims.
  std::vector<ir::Expr> flattened(const std::string& tensor, std::vector<ir::Expr> indices,
                                  size_t stage) const {
    const size_t buffer = *find_buffer(p_, tensor);
    for (const DimPair& d : dims_) {
      if (d.buffer != buffer) continue;
      const ir::Expr outer = indices[d.outer], inner = indices[d.inner];
      const ir::Expr extent = p_.buffers[buffer].shape[d.inner];
      const auto pair = std::find_if(vars_.begin(), vars_.end(), [&](const VarPair& v) {
        return v.stage == stage && is_var(inner, v.inner) && added_to(outer, v.outer);
      });
      if (pair != vars_.end()) {
        indices[d.inner] = ir::make_var(name_) + added_to(outer, pair->outer) * extent;
      } else {
        indices[d.inner] = outer * extent + inner;
      }
      // The outer variable is left with the value 0.
      if (pair == vars_.end() || !is_var(outer, pair->outer)) indices[d.outer] = ir::make_int(0);
    }
    return indices;
  }

  ir::Expr flattened(const ir::Expr& e, size_t stage) const {
    return ir::rewrite(e, [&](const ir::Expr& n) {
      if (n->op != ir::Op::kLoad) return ir::Expr();
      std::vector<ir::Expr> indices = n->args;
      for (ir::Expr& index : indices) index = flattened(index, stage);
      ir::Expr fill;
      if (n->guarded) {
        fill = indices.back();
        indices.pop_back();
      }
      return ir::make_load(n->name, n->type, flattened(n->name, std::move(indices), stage), fill);
    });
  }

  /// The outer variable stays, with one value.
  void replace(const VarPair& v) {
    ir::Stage& s = p_.stages.edit(v.stage);
    const ir::Expr extent = s.var(v.outer)->hi * s.var(v.inner)->hi;
    for (auto* list : {&s.vars, &s.rvars}) {
      for (ir::IndexVar& x : *list) {
        if (x.name == v.outer) x.hi = ir::make_int(1);
        if (x.name == v.inner) x = {name_, {}, extent};
      }
    }
    for (ir::Loop& l : s.loops) {
      if (l.name == v.inner) l.name = name_;
    }
  }

  ir::Program p_;
  std::string name_;
  std::set<VarPair> vars_;
  std::set<DimPair> dims_;
};

Applied apply_collapse(ir::Program p, const Step& step) {
  auto refs = find_loops(p, {step.name("outer"), step.name("inner")});
  if (!refs) return refs.failure();
  const ir::Stage& s = p.stages[refs->front().stage];
  const VarPair pair{refs->front().stage, s.loops[(*refs)[0].loop].name,
                     s.loops[(*refs)[1].loop].name};
  Collapse collapse(p, step.name("collapsed"));
  std::string wrong = collapse.find(pair);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  return collapse.done();
}

}  // namespace

const StepRow kCollapse = {
    "collapse",
    {{Arg::kLoop, "outer"}, {Arg::kLoop, "inner"}, {Arg::kWord, "->"}, {Arg::kNew, "collapsed"}},
    "Two indices that run on in every tensor that they index become one; the outer one is left "
    "with one value. Both are reduced, one after the other, or none is. Stages that index these "
    "tensors alike follow. Before any other step of theirs.\n"
    "Y[c,h,w] = X[c,h,w]  =>  collapse h w -> hw  =>  Y[c,0,hw] = X[c,0,hw]",
    apply_collapse,
};

}  // namespace hone::schedules
