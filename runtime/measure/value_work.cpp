// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/value_work.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "jit/ir/operations.h"
#include "runtime/measure/lines.h"
#include "runtime/measure/settled.h"

namespace hone::runtime {
namespace {

/// Needs no multiplier: no function, no product, nor an addition that takes one in.
bool is_addition(const ir::Node& e) {
  for (ir::Op multiplies : {ir::Op::kCall, ir::Op::kMul, ir::Op::kDiv, ir::Op::kMod}) {
    if (e.op == multiplies) return false;
  }
  return std::none_of(e.args.begin(), e.args.end(),
                      [](const ir::Expr& a) { return a && a->op == ir::Op::kMul; });
}

/// Instructions of one evaluation. Signs go with others, and casts between kinds of one number that
/// take a single one.
double instructions_of(const ir::Expr& e) {
  if (e->op == ir::Op::kNeg) return 0;
  double own = ir::operations_of(e);
  for (const ir::Expr& a : e->args) own -= ir::operations_of(a);
  const bool resizes = e->op == ir::Op::kCast && is_float(e->type) == is_float(e->args[0]->type);
  return resizes && own <= 1 ? 0 : own;
}

/// Of the `all` instructions of one evaluation those that only the ports of multiplications do.
double products_of(const ir::Expr& e, double all) {
  if (e->op == ir::Op::kCall) return ir::vector_length(e).products;
  return is_addition(*e) ? 0 : all;
}

/// True where a program takes the low bits of 64, so that it may compute those alone.
bool cuts_integers(const ir::Program& program) {
  bool cuts = false;
  for (const ir::Stage& s : program.stages) {
    ir::visit(s.value, [&](const ir::Expr& x) {
      cuts = cuts || (x->op == ir::Op::kCast && x->args[0]->type == DType::kI64 &&
                      is_int(x->type) && size_of(x->type) < 8);
    });
  }
  return cuts;
}

/// Bytes of the narrowest tensor that a value is made of, `most` at most: integers need be no wider
/// before they meet others. A temporary is made of what its own values are made of; `through` has
/// those that were looked into.
double narrowest(const ir::Expr& e, const ir::Program& program, double most,
                 std::set<std::string>& through) {
  double bytes = most;
  ir::visit(e, [&](const ir::Expr& x) {
    const ir::Buffer* b = x->op == ir::Op::kLoad ? program.buffer(x->name) : nullptr;
    if (!b) return;
    bytes = std::min<double>(bytes, size_of(b->type));
    const bool looks_into = b->role == ir::Role::kTemp && is_int(b->type);
    const ir::Stage* made = looks_into ? program.producer(b->name) : nullptr;
    if (!made || !through.insert(b->name).second) return;
    bytes = narrowest(made->value, program, bytes, through);
  });
  return bytes;
}

/// Instructions of a product of 64-bit integers where none does it: of its halves three products.
/// Fixed by: arithmetic.
constexpr double kWideProduct = 3;

/// Choices in a value that are looked at apart: each doubles what there is to count.
/// Chosen: few values have more of them that matter (not measured).
constexpr int kMostApart = 4;

/// True of a read that is another value where indices say that it lies outside of its tensor.
bool is_guarded_by_indices(const ir::Expr& e) {
  return e->op == ir::Op::kLoad && e->guarded &&
         std::all_of(e->args.begin(), e->args.end() - 1, is_closed);
}

/// The first node of `e` for which `is` holds, not in what chooses elements of tensors; else null.
template <class F>
ir::Expr first_in(const ir::Expr& e, const F& is) {
  if (!e || is(e)) return e;
  if (e->op == ir::Op::kLoad) return {};
  for (const ir::Expr& a : e->args) {
    if (ir::Expr found = first_in(a, is); found) return found;
  }
  return {};
}

/// A node that is one of two values, which a condition chooses.
struct Choice {
  ir::Expr node;
  Vars told;  ///< variables of the condition
  struct Taken {
    ir::Expr value;
    double share = 1;  ///< of points, in which it is chosen
  };
  Taken taken[2];
};

/// The first choice in `e`, reads with an `else` after others; nothing where there is none.
std::optional<Choice> choice_in(const ir::Expr& e, const ir::Program& program,
                                const Domain& domain) {
  if (const auto node = first_in(e, [](const auto& x) { return x->op == ir::Op::kSelect; })) {
    const auto taken = [&](size_t arg) {
      return Choice::Taken{node->args[arg], domain.deciding(node, arg)};
    };
    return Choice{node, vars_of(node->args[0]), {taken(1), taken(2)}};
  }
  const ir::Expr node = first_in(e, is_guarded_by_indices);
  const ir::Buffer* b = node ? program.buffer(node->name) : nullptr;
  if (!b) return {};
  const std::vector<ir::Expr> indices(node->args.begin(), node->args.end() - 1);
  const ir::Expr inside = ir::make_load(node->name, node->type, indices);
  const Vars told = vars_of(inside);
  const double all = domain.points(told);
  const double share = all > 0 ? std::min(1.0, domain.inside(b->shape, indices) / all) : 0;
  return Choice{node, told, {{inside, share}, {node->args.back(), 1 - share}}};
}

/// True of a choice by indices. Loops may be cut where it changes, so it takes no instruction.
bool is_chosen_by_indices(const ir::Expr& e) {
  return e->op == ir::Op::kSelect && is_closed(e->args[0]);
}

/// True of a product, or where one may be chosen.
bool is_product(const ir::Expr& e) {
  if (is_chosen_by_indices(e)) return is_product(e->args[1]) || is_product(e->args[2]);
  return e->op == ir::Op::kMul;
}

}  // namespace

ValueWork::ValueWork(const ir::Program& program, const ir::Target& target, const Domain& domain,
                     double share)
    : program_(program),
      domain_(domain),
      share_(share),
      has_wide_product_(target.is_cuda() || target.has(ir::Isa::kAvx512)),
      widest_(cuts_integers(program) ? 4 : 8) {}

void ValueWork::add_reduction(const ir::Stage& stage) {
  if (is_closed(stage.value)) return;  // what indices tell of a sum may be known beforehand
  const double points = apart(stage.value, kMostApart, {}, [&](const ir::Expr& e, Shares of) {
    const Told by = told(e);
    return std::min({domain_.points(moving(e)), by.choices * domain_.points(by.outside),
                     varying(e, moving(e)) + 1}) *
           of.points;
  });
  const double n = share_ * std::min(points, distinct_terms(stage));
  operations += n;
  const bool fused = is_product(stage.value) && is_float(stage.accumulate);
  count(stage.value, stage.accumulate, n, fused ? 0 : n);
}

/// Terms of a sum that are other elements, of all results: the same one again is as good as once,
/// times its number.
double ValueWork::distinct_terms(const ir::Stage& stage) const {
  bool repeats = false, known = true;
  double terms = 1;
  const auto fixed = [&](const ir::Expr& x) {
    const bool outer = x->op == ir::Op::kVar && !stage.is_reduction_var(x->name);
    return outer ? ir::make_int(0) : ir::Expr();
  };
  const auto look = [&](const auto& self, const ir::Expr& e) -> void {
    known = known && e->op != ir::Op::kVar;
    if (e->op != ir::Op::kLoad) {
      for (const ir::Expr& a : e->args) self(self, a);
      return;
    }
    const ir::Buffer* b = program_.buffer(e->name);
    std::vector<ir::Expr> indices;
    for (size_t d = 0; b && d < b->shape.size(); ++d) {
      indices.push_back(ir::rewrite(e->args[d], fixed));
      repeats |= e->args[d]->has(ir::Op::kDiv) || e->args[d]->has(ir::Op::kShr);
      known = known && is_closed(e->args[d]);
    }
    if (b) terms *= elements_of(*b, indices, domain_);
  };
  look(look, stage.value);
  if (!repeats || !known) return INFINITY;
  Vars outer;
  for (const ir::IndexVar& v : stage.vars) outer.insert(v.name);
  return (terms + 1) * domain_.points(outer);
}

double ValueWork::points(const ir::Expr& e) const { return times(e) * share_; }

void ValueWork::add(const ir::Expr& e, bool added, double needed) {
  if (!e || e->op == ir::Op::kLoad || e->args.empty()) return;
  // Loops may be cut where a condition on indices changes.
  if (e->type == DType::kBool && is_closed(e)) return;
  double& known = seen_[ir::print(e)];
  const double more = std::min(needed, 1 - known);
  if (more <= 0) return;
  known += more;
  const bool cut = is_chosen_by_indices(e);
  const bool sums = (e->op == ir::Op::kAdd || e->op == ir::Op::kSub) && is_float(e->type);
  for (size_t i = 0; i < e->args.size(); ++i) {
    add(e->args[i], cut ? added : sums, more * domain_.deciding(e, i));
  }
  if (cut) return;
  const double n = times(e) * share_ * more;
  if (ir::is_arithmetic(e->op)) operations += n;
  if (!(e->op == ir::Op::kMul && added)) {
    const double all = instructions_of(e) * halves_of(e);
    count(e, e->type, n * all, n * (all - products_of(e, all)));
  }
}

void ValueWork::count(const ir::Expr& e, DType type, double n, double adds) {
  const double part = lanes_of(e, type);
  Work::Slots& slots = type == DType::kF64 ? doubles : singles;
  slots.all += n * part;
  slots.adds += adds * part;
}

double ValueWork::lanes_of(const ir::Expr& e, DType type) const {
  if (is_float(type)) return 1;
  std::set<std::string> through;
  return narrowest(e, program_, type == DType::kI64 ? widest_ : 4, through) / 4;
}

double ValueWork::halves_of(const ir::Expr& e) const {
  const bool product = e->op == ir::Op::kMul && e->type == DType::kI64 &&
                       !ir::is_const(e->args[0]) && !ir::is_const(e->args[1]);
  return product && !has_wide_product_ && lanes_of(e, e->type) == 2 ? kWideProduct : 1;
}

void ValueWork::move(const ir::Expr& e, Vars& names) const {
  if (e->op == ir::Op::kVar) names.insert(e->name);
  const ir::Buffer* b = e->op == ir::Op::kLoad ? program_.buffer(e->name) : nullptr;
  for (size_t i = 0; i < e->args.size(); ++i) {
    const bool repeated = b && i < b->shape.size() && is_repeated(*b, i, domain_);
    if (e->args[i] && !repeated) move(e->args[i], names);
  }
}

Vars ValueWork::moving(const ir::Expr& e) const {
  Vars names;
  move(e, names);
  return names;
}

template <class F>
double ValueWork::apart(const ir::Expr& e, int most, Shares of, const F& points) const {
  const double together = points(e, of);
  const auto choice = most > 0 ? choice_in(e, program_, domain_) : std::nullopt;
  if (!choice) return together;
  const auto with = [&](const Choice::Taken& taken) {
    const ir::Expr one = ir::rewrite(e, [&](const ir::Expr& x) {
      return ir::equal(x, choice->node) ? taken.value : ir::Expr();
    });
    // Of points that differ in the condition's variables, those where it chooses this.
    const Vars own = moving(one);
    const bool differ =
        std::includes(own.begin(), own.end(), choice->told.begin(), choice->told.end());
    Shares own_share = of;
    if (differ) own_share.points *= taken.share;
    // The elements of a tensor are those inside of it.
    if (differ && choice->node->op == ir::Op::kSelect) own_share.elements *= taken.share;
    return apart(one, most - 1, own_share, points);
  };
  return std::min(together, with(choice->taken[0]) + with(choice->taken[1]));
}

/// `e` of what the temporaries that it reads are made of, where choices are in those; else null.
ir::Expr ValueWork::with_values_of_temporaries(const ir::Expr& e) const {
  bool any = false;
  const ir::Expr made = ir::rewrite(e, [&](const ir::Expr& x) {
    const ir::Stage* stage = x->op == ir::Op::kLoad ? program_.producer(x->name) : nullptr;
    if (!stage || x->guarded) return ir::Expr();
    const ir::Expr value = value_for_reader(program_, *stage, x->args);
    if (!value || !choice_in(value, program_, domain_)) return ir::Expr();
    any = true;
    return value;
  });
  return any ? made : ir::Expr();
}

double ValueWork::times(const ir::Expr& e) const {
  const auto together = [&](const ir::Expr& x, Shares of) { return times_together(x, of); };
  if (e->op == ir::Op::kSelect) return together(e, {});
  const double once = apart(e, kMostApart, {}, together);
  const ir::Expr made = with_values_of_temporaries(e);
  return made ? std::min(once, apart(made, kMostApart, {}, together)) : once;
}

namespace {

/// True of a value that is NaN wherever some read of it lies outside its tensor.
bool is_nan_outside(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) {
    return e->guarded && e->args.back()->op == ir::Op::kFloat && std::isnan(e->args.back()->f);
  }
  const bool passes = is_float(e->type) && (ir::is_arithmetic(e->op) || e->op == ir::Op::kCast) &&
                      e->op != ir::Op::kMin && e->op != ir::Op::kMax;
  return passes && std::any_of(e->args.begin(), e->args.end(), is_nan_outside);
}

}  // namespace

/// Of the points of `names`, those where `e` is not one constant: no read of it lies inside there.
double ValueWork::varying(const ir::Expr& e, const Vars& names) const {
  const double all = domain_.points(names);
  if (e->op == ir::Op::kVar) return all;
  if (e->op == ir::Op::kLoad) {
    const ir::Buffer* b = program_.buffer(e->name);
    if (!b || !e->guarded) return all;
    Vars others = names;
    for (const std::string& own : vars_of(e)) others.erase(own);
    const double inside = domain_.inside(b->shape, {e->args.data(), b->shape.size()});
    return std::min(all, inside * domain_.points(others));
  }
  double sum = 0, least = all;
  for (size_t i = is_chosen_by_indices(e) ? 1 : 0; i < e->args.size(); ++i) {
    const double own = varying(e->args[i], names);
    sum += own;
    const bool nan = is_nan_outside(e) && is_nan_outside(e->args[i]);
    const bool zero = e->op == ir::Op::kMul && is_zero_outside(e->args[i]);
    if (nan || zero) least = std::min(least, own);
  }
  return std::min(least, sum);
}

ValueWork::Told ValueWork::told(const ir::Expr& e) const {
  Told out;
  std::set<std::string> known;
  const auto look = [&](const auto& self, const ir::Expr& x) -> void {
    if (x->op == ir::Op::kVar) out.beside.insert(x->name), out.outside.insert(x->name);
    if (x->op == ir::Op::kLoad) {
      const ir::Buffer* b = program_.buffer(x->name);
      move(x, out.outside);
      if (!known.insert(ir::print(x)).second) return;
      if (b) out.elements *= elements_of(*b, {x->args.data(), b->shape.size()}, domain_);
      return;
    }
    if (x->type == DType::kBool && is_closed(x)) {
      if (known.insert(ir::print(x)).second) out.choices *= 2;
      return;
    }
    for (const ir::Expr& a : x->args) self(self, a);
  };
  look(look, e);
  return out;
}

double ValueWork::times_together(const ir::Expr& e, Shares of) const {
  const Told by = told(e);
  const double points =
      std::min({domain_.points(moving(e)), by.choices * domain_.points(by.outside),
                varying(e, moving(e)) + 1});
  return std::min(points * of.points,
                  by.choices * by.elements * domain_.points(by.beside) * of.elements);
}

}  // namespace hone::runtime
