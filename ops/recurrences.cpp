// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrences.h"

#include <algorithm>
#include <utility>

#include "jit/ir/recurrence.h"

namespace hone::ops {
namespace {

using ir::Expr;

bool reads(const Term& t, const std::string& tensor) {
  if (t.kind == Term::kAccess && t.name == tensor) return true;
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(), [&](const Term& a) { return reads(a, tensor); });
  };
  return any(t.args) || std::any_of(t.ranges.begin(), t.ranges.end(),
                                    [&](const Range& r) { return any(r.bounds); });
}

/// The stage as if `reads` were all that it reads of itself: their sum is its value.
ir::Stage reading(const ir::Stage& stage, const std::vector<Expr>& reads) {
  ir::Stage out = stage;
  out.where = {};
  out.value = {};
  for (const Expr& load : reads) {
    const Expr read = ir::make_cast(DType::kF64, load);
    out.value = out.value ? out.value + read : read;
  }
  for (ir::IndexVar& v : out.vars) v.backward = false;
  return out;
}

/// An element that is earlier than the one written: `Y[i-1,j] else 0`.
std::string earlier_element(const Statement& s) {
  std::string out;
  for (const Range& r : s.indices) out += (out.empty() ? r.name + "-1" : "," + r.name);
  return s.name + "[" + out + "] else 0";
}

}  // namespace

bool Recurrences::reads_itself(const Statement& s) const {
  const Argument* a = c_.op.arg(s.name);
  if (a && a->role != ir::Role::kOutput) return false;
  const auto any = [&](const std::vector<Term>& terms) {
    return !terms.empty() && reads(terms[0], s.name);
  };
  return reads(s.value, s.name) || any(s.where) || any(s.otherwise);
}

void Recurrences::open(const Statement& s, const Draft& draft, std::optional<DType> type) {
  if (!type) {
    c_.error(s.span, "`{}` reads itself, so its type is stated: `{}: f32[...] = ...`", s.name,
             s.name);
  } else if (!s.where.empty() && s.otherwise.empty()) {
    c_.error(s.where[0].span,
             "`{}` reads itself, so it has a value everywhere; say what stands elsewhere, `where "
             "... else 0`",
             s.name);
  }
  if (c_.failed()) return;
  const auto [at, added] = c_.tensors.emplace(s.name, Tensor{});
  Tensor& tensor = at->second;
  tensor.readable = true;
  tensor.indices = draft.vars;
  if (!added) return;
  tensor.buffer = c_.program.buffers.size();
  ir::Buffer b;
  b.name = s.name;
  b.type = *type;
  for (const Index& index : draft.vars) b.shape.push_back(index.end);
  c_.program.buffers.push_back(std::move(b));
}

bool Recurrences::check_read(const Term& t, const std::vector<Expr>& indices) {
  const Statement& s = *c_.statement;
  if (c_.frames.size() > 1) {
    c_.error(t.span,
             "`{}` is read inside a reduction of the statement that defines it; a reduction over "
             "what a statement itself writes is reserved for a later version",
             c_.snippet(t.span));
    return false;
  }
  bool same = indices.size() == s.indices.size();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (reads_data(indices[i])) {
      c_.error(t.args[i].span,
               "this index of `{}` is read from data, and a statement reads its own tensor at "
               "positions that are surely earlier: an index plus or minus an integer, `{}`",
               c_.snippet(t.span), earlier_element(s));
      return false;
    }
    same = same && difference(indices[i], ir::make_var(s.indices[i].name)).is_constant() &&
           difference(indices[i], ir::make_var(s.indices[i].name)).constant == 0;
  }
  if (same) {
    c_.error(t.span,
             "`{}` is the element that this statement writes; read one that is earlier along some "
             "index, `{}`, or declare `inout {}` to update it",
             c_.snippet(t.span), earlier_element(s), s.name);
  }
  return !same;
}

Span Recurrences::span_of(const Draft& draft, const Expr& load) const {
  for (const Access& access : draft.accesses) {
    if (access.load.get() == load.get() || equal(access.load, load)) return access.span;
  }
  return draft.span;
}

void Recurrences::put_in_order(Draft& draft) {
  if (!draft.domain.empty() && ir::is_recurrence(draft.stage)) {
    c_.error(c_.statement->span,
             "`{}` reads itself, so it has a value everywhere; what it reads has none unless {}: "
             "read that with an `else`, or say what stands elsewhere, `where ... else 0`",
             c_.statement->name, ir::print(draft.domain[0]));
    return;
  }
  const auto stuck = ir::put_in_order(draft.stage);
  if (!stuck) return;
  const Span span = span_of(draft, stuck->load);
  ir::Stage alone = reading(draft.stage, {stuck->load});
  if (ir::put_in_order(alone)) {
    c_.error(span,
             "`{}` is not surely earlier than the element that is written: one of its indices is "
             "to be that of the statement plus or minus an integer, `{}`",
             c_.snippet(span), earlier_element(*c_.statement));
    return;
  }
  for (const ir::CarriedRead& other : ir::carried_reads(draft.stage)) {
    ir::Stage both = reading(draft.stage, {stuck->load, other.load});
    if (!ir::put_in_order(both)) continue;
    const Span where = span_of(draft, other.load);
    c_.error(where,
             "`{}` and `{}` are a cycle: in each order of the indices, forwards or backwards, one "
             "of them is read before it is written; read both at earlier positions of one order",
             c_.snippet(span), c_.snippet(where));
    return;
  }
  c_.error(span,
           "`{}` is part of a cycle: in each order of the indices, forwards or backwards, some "
           "element is read before it is written",
           c_.snippet(span));
}

}  // namespace hone::ops
