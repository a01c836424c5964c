// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "jit/ir/group.h"
#include "jit/ir/recurrence.h"

namespace hone::ops {
namespace {

using ir::Expr;

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
std::string earlier_element(const std::string& tensor, const Statement& s) {
  std::string out;
  for (const Range& r : s.indices) out += (out.empty() ? r.name + "-1" : "," + r.name);
  return tensor + "[" + out + "] else 0";
}

}  // namespace

bool Recurrences::reads_itself(const Statement& s) const {
  const Argument* a = c_.op.arg(s.name);
  if (a && a->role != ir::Role::kOutput) return false;
  const auto any = [&](const std::vector<Term>& terms) {
    return !terms.empty() && reads_tensor(terms[0], s.name);
  };
  return reads_tensor(s.value, s.name) || any(s.where) || any(s.otherwise);
}

std::vector<size_t> Recurrences::group_of(const Statement& s) const {
  return c_.groups.of(static_cast<size_t>(&s - c_.op.statements.data()));
}

bool Recurrences::in_steps(const Statement& s) const {
  if (!group_of(s).empty()) return true;
  if (!reads_itself(s)) return false;
  const auto any = [&](const std::vector<Term>& terms) {
    return !terms.empty() && reads_tensor(terms[0], s.name, true);
  };
  return reads_tensor(s.value, s.name, true) || any(s.where) || any(s.otherwise);
}

/// "`h` reads itself", "`c` and `h` read one another".
std::string Recurrences::who_reads(const Statement& s) const {
  const std::vector<size_t> group = group_of(s);
  if (group.empty()) return fmt::format("`{}` reads itself", s.name);
  std::string out;
  for (size_t i = 0; i < group.size(); ++i) {
    out += i == 0 ? "" : i + 1 == group.size() ? " and " : ", ";
    out += "`" + c_.op.statements[group[i]].name + "`";
  }
  return out + " read one another";
}

void Recurrences::open(const Statement& s, const Draft& draft, std::optional<DType> type) {
  if (!type) {
    c_.error(s.span, "{}, so the type of `{}` is stated: `{}: f32[...] = ...`", who_reads(s),
             s.name, s.name);
  } else if (!s.where.empty() && s.otherwise.empty()) {
    c_.error(s.where[0].span,
             "{}, so `{}` has a value everywhere; say what stands elsewhere, `where ... else 0`",
             who_reads(s), s.name);
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
  bool same = t.name == s.name && indices.size() == s.indices.size();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (reads_data(indices[i])) {
      c_.error(t.args[i].span,
               "this index of `{}` is read from data, and a recurrence reads positions that are "
               "surely earlier: an index plus or minus an integer, `{}`",
               c_.snippet(t.span), earlier_element(t.name, s));
      return false;
    }
    same = same && difference(indices[i], ir::make_var(s.indices[i].name)).is_constant() &&
           difference(indices[i], ir::make_var(s.indices[i].name)).constant == 0;
  }
  if (same) {
    c_.error(t.span,
             "`{}` is the element that this statement writes; read one that is earlier along some "
             "index, `{}`, or declare `inout {}` to update it",
             c_.snippet(t.span), earlier_element(s.name, s), s.name);
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
  const bool steps = in_steps(*c_.statement);
  if (steps && !c_.own.empty()) {
    c_.error(c_.statement->where[0].span,
             "{}, so `{}` has a value everywhere; say what stands elsewhere, `where ... else 0`",
             who_reads(*c_.statement), c_.statement->name);
    return;
  }
  if (!draft.domain.empty() && (steps || ir::is_recurrence(draft.stage))) {
    c_.error(c_.statement->span,
             "{}, so `{}` has a value everywhere; what it reads has none unless {}: read that with "
             "an `else`, or say what stands elsewhere, `where ... else 0`",
             who_reads(*c_.statement), c_.statement->name, ir::print(draft.domain[0]));
    return;
  }
  if (steps) return;
  const auto stuck = ir::put_in_order(draft.stage);
  if (!stuck) return;
  const Span span = span_of(draft, stuck->load);
  ir::Stage alone = reading(draft.stage, {stuck->load});
  if (ir::put_in_order(alone)) {
    c_.error(span,
             "`{}` is not surely earlier than the element that is written: one of its indices is "
             "to be that of the statement plus or minus an integer, `{}`",
             c_.snippet(span), earlier_element(c_.statement->name, *c_.statement));
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

/// The statement that a stage is of: of `Y.1` it is `Y`.
std::string statement_of(const ir::Stage& stage) {
  return stage.name.substr(0, stage.name.find('.'));
}

/// Where the load of a stage is written, whatever its guard became.
Span Recurrences::span_of(const std::string& stage, const Expr& load) const {
  for (const Draft& draft : c_.drafts) {
    if (draft.stage.name != stage) continue;
    for (const Access& access : draft.accesses) {
      const auto& args = access.load->args;
      const size_t n = access.index_count();
      if (access.load->name != load->name || load->args.size() < n) continue;
      if (std::equal(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(n),
                     load->args.begin(), ir::equal)) {
        return access.span;
      }
    }
  }
  return c_.op.span;
}

void Recurrences::form_groups() {
  const auto stuck = ir::form_groups(c_.program);
  if (!stuck) return;
  const ir::Stage& reader = c_.program.stages[stuck->reader];
  const std::string from = statement_of(reader);
  const Span span = span_of(reader.name, stuck->load);
  std::string cycle = fmt::format("`{}` reads `{}`", from, stuck->load->name);
  const std::vector<std::string> way = c_.groups.way(stuck->load->name, from);
  for (size_t i = 0; stuck->load->name != from && i + 1 < way.size(); ++i) {
    cycle += fmt::format(", `{}` reads `{}`", way[i], way[i + 1]);
  }
  c_.error(span,
           "`{}` is part of a cycle: {}. In each order of the indices, forwards or backwards, some "
           "element is read before it is written; read one that is surely earlier along an index "
           "that all of them have under one name, `{}[t-1,...] else 0`",
           c_.snippet(span), cycle, stuck->load->name);
}

}  // namespace hone::ops
