// SPDX-License-Identifier: Apache-2.0
#include "ops/accesses.h"

#include <algorithm>
#include <utility>

#include "ops/values.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr int kMaxLookups = 4;  // tests of an index, and of what it is read from, multiply

/// Tensors that an index is looked up in, one after the other.
int lookups(const Expr& e) {
  int most = 0;
  for (const Expr& a : e->args) most = std::max(most, lookups(a));
  return most + (e->op == ir::Op::kLoad ? 1 : 0);
}

}  // namespace

const Tensor* Accesses::readable_tensor(const Term& t) {
  const auto at = c_.tensors.find(t.name);
  if (at != c_.tensors.end() && at->second.readable) return &at->second;
  for (const Statement& s : c_.op.statements) {
    if (s.name != t.name) continue;
    c_.error(t.span, "`{}` is read before the statement that defines it; move that statement up",
             t.name);
    return nullptr;
  }
  const Argument* a = c_.op.arg(t.name);
  if (a && a->scalar) {
    c_.error(t.span, "`{}` is a scalar; write it without brackets", t.name);
  } else {
    c_.error(t.span, "`{}` is no tensor", t.name);
  }
  return nullptr;
}

/// Notes a read of an inout's new value, which may be mistaken for the old one.
void Accesses::note_new_value(const Term& t) {
  if (!c_.binding.checking) return;
  const std::string once = c_.statement->name + " " + t.name;
  if (!noted_.insert(once).second) return;
  c_.diagnostics.note(
      t.span,
      fmt::format("`{}` is the new value of the inout `{}`, which a statement above writes; "
                  "the old value can only be read in that statement",
                  c_.snippet(t.span), t.name));
}

/// The old value of an `inout` tensor can only be read where the same element is written. Any other
/// order of reads and writes would depend on the schedule.
bool Accesses::check_own_read(const Term& t, const std::vector<Expr>& indices) {
  if (c_.statement->name != t.name) {
    c_.error(
        t.span,
        "the old value of the inout `{}` can only be read in the statement that writes it; read "
        "it there, or pass it as an input too",
        t.name);
    return false;
  }
  bool same = c_.frames.size() == 1 && c_.scope.size() == c_.statement->indices.size();
  for (size_t i = 0; same && i < indices.size(); ++i) {
    same = indices[i]->op == ir::Op::kVar && indices[i]->name == c_.scope[i].name;
  }
  if (!same) {
    c_.error(
        t.span,
        "the old value of the inout `{}` can only be read at the element that is written, `{}`, "
        "and outside of reductions",
        t.name, c_.snippet(c_.statement->span));
  }
  return same;
}

/// A read of a tensor that is defined only in its domain. With an `else` the read is that outside
/// of the domain too; without, the stage must stay inside.
Value Accesses::in_domain(const Term& t, const Tensor& tensor, const std::vector<Expr>& indices,
                          const Expr& load, const Expr& otherwise) {
  Value v = types_.read(load, t.span);
  Expr inside;
  for (const Expr& condition : tensor.domain) {
    const Expr here = ir::rewrite(condition, [&](const Expr& e) {
      for (size_t i = 0; e->op == ir::Op::kVar && i < indices.size(); ++i) {
        if (tensor.indices[i].name == e->name) return indices[i];
      }
      return Expr();
    });
    if (otherwise) {
      inside = inside ? ir::make_binary(ir::Op::kAnd, inside, here) : here;
    } else {
      c_.frames.back()->needs.push_back({here, tensor.draft, t.span, c_.chosen});
    }
  }
  if (inside) {
    // Both sides of a select are evaluated, so the discarded side must exist.
    v.e = ir::make_select(inside, v.e, types_.read(otherwise, t.span).e);
    c_.drafts[tensor.draft].total = true;
  }
  return v;
}

Value Accesses::lower_access(const Term& t) {
  const Tensor* found = readable_tensor(t);
  if (!found) return {ir::make_int(0), Value::kWhole, {}, t.span};
  const Tensor tensor = *found;
  std::vector<Expr> indices;
  for (size_t i = 0; i < t.index_count(); ++i) {
    indices.push_back(c_.apart([&] { return values_.lower_index(t.args[i]); }));
  }
  if (tensor.poisoned) c_.set_failed(true);
  if (c_.failed()) return {ir::make_int(0), Value::kWhole, {}, t.span};
  // Lowering an index may have added buffers: look ours up only now.
  const ir::Buffer& buffer = c_.program.buffers[tensor.buffer];
  if (indices.size() != buffer.shape.size()) {
    c_.error(t.span, "`{}` has {} dim{} and is read with {} ind{}", t.name, buffer.shape.size(),
             buffer.shape.size() == 1 ? "" : "s", indices.size(),
             indices.size() == 1 ? "ex" : "ices");
    return {ir::make_int(0), Value::kWhole, {}, t.span};
  }
  for (const Expr& index : indices) {
    if (lookups(index) <= kMaxLookups) continue;
    c_.error(t.span,
             "an index is looked up in at most 4 tensors, one after the other; this is one more");
    return {ir::make_int(0), Value::kWhole, {}, t.span};
  }
  const DType type = buffer.type;
  const bool own = t.name == c_.statement->name || c_.groups.together(c_.statement->name, t.name);
  if (own && buffer.role != ir::Role::kInOut && !recurrences_.check_read(t, indices)) {
    return {ir::make_int(0), Value::kWhole, {}, t.span};
  }
  if (buffer.role == ir::Role::kInOut) {
    if (tensor.draft < 0) check_own_read(t, indices);
    if (tensor.draft >= 0) note_new_value(t);
  }
  Expr otherwise;
  if (t.guarded) {
    const bool outer = std::exchange(c_.in_index, false);
    otherwise = types_.store(values_.lower_value(t.args.back()), type, t.args.back().span);
    c_.in_index = outer;
  }
  const Expr load = ir::make_load(t.name, type, indices, otherwise);
  c_.frames.back()->accesses.push_back({load, t.span, c_.chosen});
  return in_domain(t, tensor, indices, load, otherwise);
}

}  // namespace hone::ops
