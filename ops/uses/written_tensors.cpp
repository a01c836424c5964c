// SPDX-License-Identifier: Apache-2.0
#include "ops/uses/written_tensors.h"

#include <utility>

#include "ops/gradient/terms.h"

namespace hone::ops {

using ir::Expr;

Expr extent_expr(const Term& t) {
  switch (t.kind) {
    case Term::kInt:
      return ir::make_int(t.i);
    case Term::kName:
      return ir::make_dim(t.name);
    case Term::kNeg: {
      const Expr a = extent_expr(t.args[0]);
      return a ? ir::make_unary(ir::Op::kNeg, a) : Expr();
    }
    case Term::kInfix: {
      if (row_of(t.infix).strength < row_of(Infix::kAdd).strength) return {};
      const Expr a = extent_expr(t.args[0]), b = extent_expr(t.args[1]);
      return a && b ? ir::make_binary(row_of(t.infix).op, a, b) : Expr();
    }
    default:
      return {};
  }
}

WrittenTensors::WrittenTensors(const Definition& d) {
  for (const Argument& a : d.args) {
    if (a.scalar) continue;
    WrittenTensor t{a.name, a.type, {}};
    for (const Term& extent : a.shape) t.shape.push_back(extent_expr(extent));
    add(std::move(t));
  }
}

void WrittenTensors::add(WrittenTensor t) {
  places_.emplace(t.name, all_.size());
  all_.push_back(std::move(t));
}

void WrittenTensors::add(const Statement& s) {
  if (find(s.name)) return;
  WrittenTensor t{s.name, s.type, {}};
  for (const Range& r : s.indices) {
    Expr extent;
    if (!r.bounds.empty()) {
      extent = extent_expr(r.bounds[1]);
    } else if (!r.name.empty()) {
      extent = used_extent(s.value, r.name);
    }
    t.shape.push_back(std::move(extent));
  }
  add(std::move(t));
}

const WrittenTensor* WrittenTensors::find(std::string_view name) const {
  const auto at = places_.find(name);
  return at == places_.end() ? nullptr : &all_[at->second];
}

std::vector<std::string> WrittenTensors::names() const {
  std::vector<std::string> out;
  for (const WrittenTensor& t : all_) out.push_back(t.name);
  return out;
}

Expr WrittenTensors::used_extent(const Term& t, const std::string& index) const {
  Expr extent;
  any_part(t, [&](const Term& part) {
    const bool read = part.kind == Term::kAccess && !part.guarded;
    const WrittenTensor* tensor = read ? find(part.name) : nullptr;
    for (size_t i = 0; tensor && i < part.args.size() && i < tensor->shape.size(); ++i) {
      if (part.args[i].kind == Term::kName && part.args[i].name == index) extent = tensor->shape[i];
      if (extent) return true;
    }
    return false;
  });
  return extent;
}

bool indexes_by_itself(const Term& t, std::string_view index) {
  return any_part(t, [&](const Term& part) {
    if (part.kind != Term::kAccess || part.guarded) return false;
    for (const Term& at : part.args) {
      if (at.kind == Term::kName && at.name == index) return true;
    }
    return false;
  });
}

}  // namespace hone::ops
