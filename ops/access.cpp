// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/tree_size.h"
#include "ops/lowering.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr uint64_t kMaxIndexParts = 512;  // of an index, which proofs take apart
constexpr int kMaxLookups = 4;  // tests of an index, and of what it is read from, multiply

/// Tensors that an index is looked up in, one after the other.
int lookups(const Expr& e) {
  int most = 0;
  for (const Expr& a : e->args) most = std::max(most, lookups(a));
  return most + (e->op == ir::Op::kLoad ? 1 : 0);
}

}  // namespace

const Tensor* Lowering::readable_tensor(const Term& t) {
  const auto at = tensors_.find(t.name);
  if (at != tensors_.end() && at->second.readable) return &at->second;
  if (t.name == statement_->name) {
    error(t.span,
          "`{}` is read in the statement that defines it: sequential recurrences are reserved for "
          "a later version; to update a tensor in place declare it `inout`",
          t.name);
    return nullptr;
  }
  for (const Statement& s : d_.statements) {
    if (s.name != t.name) continue;
    error(t.span, "`{}` is read before the statement that defines it; move that statement up",
          t.name);
    return nullptr;
  }
  const Argument* a = d_.arg(t.name);
  if (a && a->scalar) {
    error(t.span, "`{}` is a scalar; write it without brackets", t.name);
  } else {
    error(t.span, "`{}` is no tensor", t.name);
  }
  return nullptr;
}

/// What an inout is after the statement that writes it may be taken for what it was before.
void Lowering::note_new_value(const Term& t) {
  if (!binding_.checking) return;
  const std::string once = statement_->name + " " + t.name;
  if (!noted_.insert(once).second) return;
  diagnostics_.note(
      t.span,
      fmt::format("`{}` is the new value of the inout `{}`, which a statement above writes; "
                  "the old value can only be read in that statement",
                  snippet(t.span), t.name));
}

/// The old value of an `inout` tensor can be read where the same element is written, and only
/// there: any other order of reads and writes would depend on the schedule.
bool Lowering::check_own_read(const Term& t, const std::vector<Expr>& indices) {
  if (statement_->name != t.name) {
    error(t.span,
          "the old value of the inout `{}` can only be read in the statement that writes it; read "
          "it there, or pass it as an input too",
          t.name);
    return false;
  }
  bool same = frames_.size() == 1 && scope_.size() == statement_->indices.size();
  for (size_t i = 0; same && i < indices.size(); ++i) {
    same = indices[i]->op == ir::Op::kVar && indices[i]->name == scope_[i].name;
  }
  if (!same) {
    error(t.span,
          "the old value of the inout `{}` can only be read at the element that is written, `{}`, "
          "and outside of reductions",
          t.name, snippet(statement_->span));
  }
  return same;
}

Expr Lowering::lower_index(const Term& t) {
  const bool outer = std::exchange(in_index_, true);
  const Value v = lower_value(t);
  in_index_ = outer;
  if (!failed() && ir::tree_size(v.e) > kMaxIndexParts) {
    error(t.span, "an index is made of at most 512 names, numbers and operators");
  }
  if (!failed() && v.e->type != DType::kI64) {
    error(t.span, "an index is an integer and `{}` is {}; write cast<i64>({})", snippet(t.span),
          name_of(v.e->type), snippet(t.span));
  }
  return v.e;
}

/// A read of a tensor that is defined only in its domain. With an `else` the read is that outside
/// of the domain too; without, the stage must stay inside.
Value Lowering::in_domain(const Term& t, const Tensor& tensor, const std::vector<Expr>& indices,
                          const Expr& load, const Expr& otherwise) {
  Value v = read(load, t.span);
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
      frames_.back()->needs.push_back({here, tensor.draft, t.span, chosen_});
    }
  }
  if (inside) {
    // Both sides of a select are evaluated, so what it discards must exist.
    v.e = ir::make_select(inside, v.e, read(otherwise, t.span).e);
    drafts_[tensor.draft].total = true;
  }
  return v;
}

Value Lowering::lower_access(const Term& t) {
  const Tensor* found = readable_tensor(t);
  if (!found) return {ir::make_int(0), Value::kWhole, {}, t.span};
  const Tensor tensor = *found;
  std::vector<Expr> indices;
  for (size_t i = 0; i < t.index_count(); ++i) {
    indices.push_back(apart([&] { return lower_index(t.args[i]); }));
  }
  stuck_ |= tensor.poisoned;
  if (failed()) return {ir::make_int(0), Value::kWhole, {}, t.span};
  // Lowering an index may have added buffers: look ours up only now.
  const ir::Buffer& buffer = program_.buffers[tensor.buffer];
  if (indices.size() != buffer.shape.size()) {
    error(t.span, "`{}` has {} dim{} and is read with {} ind{}", t.name, buffer.shape.size(),
          buffer.shape.size() == 1 ? "" : "s", indices.size(), indices.size() == 1 ? "ex" : "ices");
    return {ir::make_int(0), Value::kWhole, {}, t.span};
  }
  for (const Expr& index : indices) {
    if (lookups(index) <= kMaxLookups) continue;
    error(t.span,
          "an index is looked up in at most 4 tensors, one after the other; this is one more");
    return {ir::make_int(0), Value::kWhole, {}, t.span};
  }
  const DType type = buffer.type;
  if (buffer.role == ir::Role::kInOut) {
    if (tensor.draft < 0) check_own_read(t, indices);
    if (tensor.draft >= 0) note_new_value(t);
  }
  Expr otherwise;
  if (t.guarded) {
    const bool outer = std::exchange(in_index_, false);
    otherwise = store(lower_value(t.args.back()), type, t.args.back().span);
    in_index_ = outer;
  }
  const Expr load = ir::make_load(t.name, type, indices, otherwise);
  frames_.back()->accesses.push_back({load, t.span, chosen_});
  return in_domain(t, tensor, indices, load, otherwise);
}

}  // namespace hone::ops
