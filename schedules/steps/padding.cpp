// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/padding.h"

#include <algorithm>

#include "jit/ir/facts.h"
#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

struct Range {
  int64_t lo = 0;
  int64_t hi = 0;  ///< inclusive
};

/// The values of an index while the stage's variables run over their domains.
std::optional<Range> range_of(const ir::Expr& e, const ir::Stage& s) {
  if (e->op == ir::Op::kInt) return Range{e->i, e->i};
  if (e->op == ir::Op::kVar) {
    const ir::IndexVar* v = s.var(e->name);
    int64_t lo = 0, hi = 0;
    if (!v || (v->lo && !ir::is_const(v->lo, &lo)) || !ir::is_const(v->hi, &hi)) return {};
    return Range{lo, std::max(lo, hi - 1)};
  }
  if (e->args.size() != 2) return {};
  const auto a = range_of(e->args[0], s), b = range_of(e->args[1], s);
  if (!a || !b) return {};
  switch (e->op) {
    case ir::Op::kAdd:
      return Range{a->lo + b->lo, a->hi + b->hi};
    case ir::Op::kSub:
      return Range{a->lo - b->hi, a->hi - b->lo};
    case ir::Op::kMul: {
      const auto [lo, hi] =
          std::minmax({a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi});
      return Range{lo, hi};
    }
    default:
      return {};
  }
}

/// The least or the greatest value of an index that is a sum of variables and dims.
std::optional<ir::Poly> end_of(const ir::Expr& e, const ir::Stage& s, bool greatest) {
  const ir::Poly sum = ir::Poly::of(e);
  ir::Poly out(sum.constant());
  for (const ir::Poly::Term& t : sum.terms()) {
    if (t.factors.size() != 1) return {};
    const ir::Expr& f = t.factors[0];
    const ir::IndexVar* v = f->op == ir::Op::kVar ? s.var(f->name) : nullptr;
    if (f->op != ir::Op::kDim && (!v || v->lo || !is_size(v->hi))) return {};
    if (!v) out += ir::Poly(t.coef) * ir::Poly::atom(f);
    if (v && greatest == (t.coef > 0)) {
      out += ir::Poly(t.coef) * (ir::Poly::of(v->hi) - ir::Poly(1));
    }
  }
  return out;
}

/// How far an index leaves 0..extent-1 at either end, at most, whatever the dims of the call.
std::optional<Range> leaves_by(const ir::Program& p, const ir::Stage& s, const ir::Expr& index,
                               const ir::Expr& extent) {
  ir::Facts facts;
  for (const ir::Dim& d : p.dims) facts.define_dim(d.name, d.lo, d.hi);
  const auto first = end_of(index, s, false), last = end_of(index, s, true);
  if (!first || !last) return {};
  const auto before = facts.lower(*first);
  const auto after = facts.upper(*last - (ir::Poly::of(extent) - ir::Poly(1)));
  return before && after ? std::optional(Range{-*before, *after}) : std::nullopt;
}

/// One value for all elements; of a tensor that is copied at bind, a number known by then.
bool fills_all(const ir::Expr& e, const ir::Buffer& tensor) {
  return !ir::any_node(e, [&](const ir::Expr& x) {
    return x->op == ir::Op::kVar || x->op == ir::Op::kLoad ||
           (tensor.constant && !x->args.empty()) || (tensor.constant && x->op == ir::Op::kScalar);
  });
}

/// True of a remainder by `extent`, as indices have that wrap around a dim of that size.
bool wraps_by(const ir::Expr& index, int64_t extent) {
  int64_t by = 0;
  return index->op == ir::Op::kMod && ir::is_const(index->args[1], &by) && by == extent;
}

template <class F>
void each_load(const ir::Program& p, const std::vector<size_t>& readers, const ir::Buffer& tensor,
               const F& f) {
  for (size_t r : readers) {
    ir::visit(p.stages[r].value, [&](const ir::Expr& n) {
      if (n->op == ir::Op::kLoad && n->name == tensor.name) f(p.stages[r], n);
    });
  }
}

/// How far dim `d` is left by indices that wrap around it; nothing where none does, or the dim
/// would be copied more than twice.
std::optional<Range> wrapped_by(const ir::Program& p, const std::vector<size_t>& readers,
                                const ir::Buffer& tensor, size_t d) {
  int64_t extent = 0;
  if (!ir::is_const(tensor.shape[d], &extent)) return {};
  std::optional<Range> out;
  bool possible = true;
  each_load(p, readers, tensor, [&](const ir::Stage& s, const ir::Expr& load) {
    if (!wraps_by(load->args[d], extent)) return;
    const auto range = range_of(load->args[d]->args[0], s);
    possible = possible && range;
    if (!possible) return;
    if (!out) out = Range{};
    out = Range{std::max(out->lo, -range->lo), std::max(out->hi, range->hi - (extent - 1))};
  });
  return possible && out && out->lo + out->hi <= extent ? out : std::nullopt;
}

}  // namespace

std::optional<Padding> padding_for(const ir::Program& p, const std::vector<size_t>& readers,
                                   const ir::Buffer& tensor, bool wrap) {
  Padding out;
  const size_t dims = tensor.shape.size();
  out.before.resize(dims);
  out.after.resize(dims);
  out.wraps.resize(dims);
  bool wraps = false;
  for (size_t d = 0; wrap && d < dims; ++d) {
    const auto beyond = wrapped_by(p, readers, tensor, d);
    if (!beyond) continue;
    out.before[d] = beyond->lo;
    out.after[d] = beyond->hi;
    wraps = ir::is_const(tensor.shape[d], &out.wraps[d]);
  }
  bool possible = true;
  each_load(p, readers, tensor, [&](const ir::Stage& s, const ir::Expr& load) {
    if (!load->guarded) return;
    const ir::Expr& fill = load->args.back();
    possible = possible && fills_all(fill, tensor) && (!out.fill || equal(out.fill, fill));
    out.fill = fill;
    for (size_t d = 0; d < dims; ++d) {
      int64_t extent = 0;
      if (out.wraps[d]) {
        // Elsewhere in the dim it would find what begins anew, not the constant.
        possible = possible && wraps_by(load->args[d], out.wraps[d]);
        continue;
      }
      const auto range = range_of(load->args[d], s);
      const bool known = range && ir::is_const(tensor.shape[d], &extent);
      const auto beyond = known ? std::optional(Range{-range->lo, range->hi - (extent - 1)})
                                : leaves_by(p, s, load->args[d], tensor.shape[d]);
      possible = possible && beyond;
      if (!possible) return;
      out.before[d] = std::max(out.before[d], beyond->lo);
      out.after[d] = std::max(out.after[d], beyond->hi);
    }
  });
  if (!possible || (!out.fill && !wraps)) return {};
  return out;
}

ir::Expr read_padded(const ir::Expr& e, const std::string& from, const std::string& to,
                     const Padding& padding) {
  return ir::rewrite(e, [&](const ir::Expr& n) -> ir::Expr {
    if (n->op != ir::Op::kLoad || n->name != from) return {};
    std::vector<ir::Expr> indices;
    for (size_t d = 0; d < padding.before.size(); ++d) {
      // Remainders by anything else stay.
      const bool wraps = padding.wraps[d] && wraps_by(n->args[d], padding.wraps[d]);
      const ir::Expr& index = wraps ? n->args[d]->args[0] : n->args[d];
      indices.push_back(index + ir::make_int(padding.before[d]));
    }
    return ir::make_load(to, n->type, std::move(indices));
  });
}

}  // namespace hone::schedules
