// SPDX-License-Identifier: Apache-2.0
#include "ops/extents.h"

#include <algorithm>
#include <optional>

#include "jit/ir/integers.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr int kMostLooks = 2000000;  // at reads, for one op: a hostile text has many
constexpr int kLooksOfBound = 20;    // that one bound costs as much as

bool mentions_any(const Expr& e, const std::vector<Interval>& variables) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Interval& v) { return ir::mentions_var(e, v.name); });
}

/// The bound of an expression over variables in ranges, from above or from below; without
/// variables. Null where none is found.
class Bounder {
 public:
  Bounder(const std::vector<Interval>& variables, const std::vector<ir::Dim>& dims)
      : variables_(variables), prover_(dims) {
    for (const Interval& v : variables) prover_.add_variable(v);
  }

  Expr bound(const Expr& e, bool above) const {
    if (!mentions_any(e, variables_)) return e;
    const bool divides = e->op == ir::Op::kDiv || e->op == ir::Op::kMod;
    int64_t c = 0;
    if (divides && (!ir::is_const(e->args[1], &c) || c <= 0)) return {};
    if (e->op == ir::Op::kMod) return ir::make_int(above ? c - 1 : 0);
    if (e->op == ir::Op::kDiv || e->op == ir::Op::kMin || e->op == ir::Op::kMax) {
      const Expr a = bound(e->args[0], above), b = bound(e->args[1], above);
      return a && b ? ir::make_binary(e->op, a, b) : Expr();
    }
    if (ir::is_bitwise(e->op)) return bits(e, above);
    const Linear form = linear_of(e);
    const bool whole = form.terms.size() == 1 && form.terms[0].first.get() == e.get();
    if (!whole || e->op == ir::Op::kVar) return sum(form, above);
    return e->op == ir::Op::kMul ? product(e, above) : Expr();
  }

 private:
  /// Of a bitwise operation on numbers whose ends are constants.
  Expr bits(const Expr& e, bool above) const {
    std::optional<ir::IntegerRange> ranges[2];
    for (size_t i = 0; i < 2; ++i) {
      ir::IntegerRange r{};
      const Expr lo = bound(e->args[i], false), hi = bound(e->args[i], true);
      if (ir::is_const(lo, &r.lo) && ir::is_const(hi, &r.hi)) ranges[i] = r;
    }
    const auto range = ir::range_of_bits(e->op, ranges[0], ranges[1]);
    return range ? ir::make_int(above ? range->hi : range->lo) : Expr();
  }

  /// Of two numbers that are not negative.
  Expr product(const Expr& e, bool above) const {
    for (const Expr& factor : e->args) {
      if (prover_.non_negative(factor) != Proof::kYes) return {};
    }
    const Expr a = bound(e->args[0], above), b = bound(e->args[1], above);
    return a && b ? a * b : Expr();
  }

  Expr sum(const Linear& form, bool above) const {
    if (form.overflow) return {};
    Linear rest;
    rest.add(form.constant);
    for (const auto& [atom, scale] : form.terms) {
      Expr by = atom;
      if (atom->op != ir::Op::kVar && atom->op != ir::Op::kDim)
        by = bound(atom, above == (scale > 0));
      if (!by) return {};
      rest.add(linear_of(by), scale);
    }
    const Expr left = expr_of(rest);
    if (above) return prover_.most(left);
    const Expr most = prover_.most(ir::make_unary(ir::Op::kNeg, left));
    return most ? expr_of(linear_of(ir::make_unary(ir::Op::kNeg, most))) : Expr();
  }

  const std::vector<Interval>& variables_;
  Prover prover_;
};

bool lies_in(const Term& part, const Term& whole) {
  return whole.span.begin <= part.span.begin && part.span.end <= whole.span.end;
}

}  // namespace

Expr Extents::needed_by_readers(size_t statement, size_t dim) {
  ahead_.clear();
  return needed_extent(statement, dim);
}

/// Finds all reads of all statements, once.
void Extents::find_sites() {
  if (!sites_.empty()) return;
  for (size_t i = 0; i < c_.op.statements.size(); ++i) {
    std::vector<const Term*> inside;
    find_sites(c_.op.statements[i].value, i, inside);
    for (const Range& r : c_.op.statements[i].indices) {
      for (const Term& t : r.at) find_sites(t, i, inside);
    }
    for (const Term& t : c_.op.statements[i].where) find_sites(t, i, inside);
    for (const Term& t : c_.op.statements[i].otherwise) find_sites(t, i, inside);
  }
}

void Extents::find_sites(const Term& t, size_t statement, std::vector<const Term*>& inside) {
  if (t.kind == Term::kAccess) sites_.push_back({statement, &t, inside});
  const bool reduces = t.kind == Term::kReduce;
  if (reduces) inside.push_back(&t);
  for (const Term& a : t.args) find_sites(a, statement, inside);
  if (reduces) inside.pop_back();
}

/// An index of a statement to come, as an expression; null where it is read from data or not made
/// of indices and numbers.
Expr Extents::index_ahead(const Term& t) const {
  if (t.kind == Term::kInt) return ir::make_int(t.i);
  if (t.kind == Term::kName) {
    if (c_.op.arg(t.name)) return {};
    const Expr number = c_.number_named(t.name);
    return number ? number : ir::make_var(t.name);
  }
  const bool extreme = t.kind == Term::kCall && (t.name == "min" || t.name == "max");
  const bool sum = t.kind == Term::kInfix && t.infix >= Infix::kBitOr;
  const bool prefix = t.kind == Term::kNeg || t.kind == Term::kBitNot;
  if (!prefix && !sum && !(extreme && t.args.size() == 2)) return {};
  std::vector<Expr> args;
  for (const Term& a : t.args) {
    args.push_back(index_ahead(a));
    if (!args.back()) return {};
  }
  if (t.kind == Term::kNeg) return ir::make_unary(ir::Op::kNeg, args[0]);
  if (t.kind == Term::kBitNot) return ir::make_int(-1) - args[0];
  const ir::Op op = extreme ? (t.name == "min" ? ir::Op::kMin : ir::Op::kMax) : row_of(t.infix).op;
  return ir::make_binary(op, args[0], args[1]);
}

/// The extent of a dim of a tensor as far as it is known or can be foreseen.
Extents::Extent Extents::extent_ahead(const std::string& tensor, size_t dim) {
  const auto at = c_.tensors.find(tensor);
  if (at != c_.tensors.end()) {
    const Tensor& t = at->second;
    if (t.shapeless || dim >= c_.program.buffers[t.buffer].shape.size()) return {};
    const bool inferred = std::find(t.inferred.begin(), t.inferred.end(), dim) != t.inferred.end();
    return {c_.program.buffers[t.buffer].shape[dim], inferred};
  }
  for (size_t i = 0; i < c_.op.statements.size(); ++i) {
    const Statement& s = c_.op.statements[i];
    if (s.name != tensor || dim >= s.indices.size()) continue;
    const auto [known, fresh] = ahead_.emplace(std::pair(i, dim), Extent());
    if (!fresh) return known->second;  // none while it is being found
    const Range& r = s.indices[dim];
    Expr extent = r.bounds.empty() ? used_extent(i, nullptr, r.name) : index_ahead(r.bounds[1]);
    const bool inferred = !extent;
    if (inferred) extent = needed_extent(i, dim);
    return ahead_[std::pair(i, dim)] = {extent, inferred};
  }
  return {};
}

/// The extent of what an index indexes by itself in a statement to come, in `reduction` where it is
/// the index of one. What readers decide does not count.
Expr Extents::used_extent(size_t statement, const Term* reduction, const std::string& index) {
  for (const Site& site : sites_) {
    if (++looks_ > kMostLooks) return {};
    if (site.statement != statement || site.access->guarded) continue;
    const auto& inside = site.inside;
    if (reduction && std::find(inside.begin(), inside.end(), reduction) == inside.end()) continue;
    for (size_t k = 0; k < site.access->index_count(); ++k) {
      const Term& t = site.access->args[k];
      if (t.kind != Term::kName || t.name != index) continue;
      const Extent extent = extent_ahead(site.access->name, k);
      if (extent.e && !extent.inferred) return extent.e;
    }
  }
  return {};
}

/// The extent of an index where a condition holds that may bound it: `i < e`, `i <= e`.
Expr Extents::limited_by(const Term& t, const std::string& index, Expr extent) const {
  if (t.kind != Term::kInfix) return extent;
  if (t.infix == Infix::kAnd) {
    return limited_by(t.args[1], index, limited_by(t.args[0], index, std::move(extent)));
  }
  const bool less = t.infix == Infix::kLt || t.infix == Infix::kLe;
  const bool more = t.infix == Infix::kGt || t.infix == Infix::kGe;
  if (!less && !more) return extent;
  const Term& side = t.args[less ? 0 : 1];
  Expr end = index_ahead(t.args[less ? 1 : 0]);
  if (!end || side.kind != Term::kName || side.name != index) return extent;
  bool open = false;
  ir::visit(end, [&](const Expr& e) { open |= e->op == ir::Op::kVar; });
  if (open) return extent;
  if (t.infix == Infix::kLe || t.infix == Infix::kGe) end = end + ir::make_int(1);
  const bool shorter = Prover(c_.binding.ranged).non_negative(extent - end) == Proof::kYes;
  return shorter ? end : ir::make_binary(ir::Op::kMin, extent, end);
}

/// The indices around a read with their ranges, as far as they are known.
std::vector<Interval> Extents::ranges_ahead(const Site& site) {
  std::vector<Interval> out;
  const Statement& s = c_.op.statements[site.statement];
  for (size_t k = 0; k < s.indices.size(); ++k) {
    Expr extent = extent_ahead(s.name, k).e;
    if (!extent) continue;
    // What a `where` leaves out is not read, unless it is the `else` that reads.
    const bool otherwise = !s.otherwise.empty() && lies_in(*site.access, s.otherwise[0]);
    for (const Term& t : s.where) {
      if (!otherwise) extent = limited_by(t, s.indices[k].name, std::move(extent));
    }
    out.push_back({s.indices[k].name, ir::make_int(0), std::move(extent)});
  }
  for (const Term* reduction : site.inside) {
    for (const Range& r : reduction->ranges) {
      Expr lo = ir::make_int(0), hi;
      if (!r.bounds.empty()) {
        lo = index_ahead(r.bounds[0]);
        hi = index_ahead(r.bounds[1]);
      }
      if (!lo) lo = ir::make_int(0);
      if (!hi) hi = used_extent(site.statement, reduction, r.name);
      if (hi) out.push_back({r.name, std::move(lo), std::move(hi)});
    }
  }
  return out;
}

/// The least extent that holds all that statements to come read of dim `dim` of what `statement`
/// defines. Null where none of them says, or where one looks up what is read from data.
Expr Extents::needed_extent(size_t statement, size_t dim) {
  find_sites();
  const std::string& name = c_.op.statements[statement].name;
  const Prover prover(c_.binding.ranged);
  Expr need;
  const Site* around = nullptr;  // whose ranges `variables` are
  std::vector<Interval> variables;
  for (size_t i = 0; i < sites_.size(); ++i) {
    const Site& site = sites_[i];
    if (++looks_ > kMostLooks) return {};
    if (site.access->name != name || site.access->guarded || site.statement <= statement) continue;
    if (dim >= site.access->index_count()) return {};
    looks_ += kLooksOfBound;
    const Expr index = index_ahead(site.access->args[dim]);
    if (!index) return {};
    // Reads in one place have the same ranges, but for a `where` and its `else`.
    const bool same = around && around->statement == site.statement &&
                      around->inside == site.inside &&
                      c_.op.statements[site.statement].where.empty();
    if (!same) variables = ranges_ahead(site);
    around = &site;
    const Expr last = Bounder(variables, c_.binding.ranged).bound(index, true);
    bool open = !last;
    if (last) ir::visit(last, [&](const Expr& e) { open |= e->op == ir::Op::kVar; });
    if (open) continue;
    const Expr one = expr_of(linear_of(last + ir::make_int(1)));
    if (!need || prover.non_negative(one - need) == Proof::kYes) {
      need = one;
    } else if (prover.non_negative(need - one) != Proof::kYes) {
      need = ir::make_binary(ir::Op::kMax, need, one);
    }
  }
  if (!need || c_.binding.checking || prover.non_negative(need) == Proof::kYes) return need;
  return ir::make_binary(ir::Op::kMax, need, ir::make_int(0));
}

}  // namespace hone::ops
