// SPDX-License-Identifier: Apache-2.0
#include "ops/arguments.h"

#include <utility>

#include "ops/sizes.h"

namespace hone::ops {

using ir::Expr;

Expr Arguments::lower_extent(const Term& t) {
  switch (t.kind) {
    case Term::kInt:
      return ir::make_int(t.i);
    case Term::kName:
      return c_.number_named(t.name);
    case Term::kNeg:
      return ir::make_unary(ir::Op::kNeg, lower_extent(t.args[0]));
    default:
      break;
  }
  const Expr a = lower_extent(t.args[0]);
  const Expr b = lower_extent(t.args[1]);
  int64_t x = 0, y = 0, out = 0;
  if (ir::is_const(a, &x) && ir::is_const(b, &y)) {
    if ((t.infix == Infix::kAdd && __builtin_add_overflow(x, y, &out)) ||
        (t.infix == Infix::kSub && __builtin_sub_overflow(x, y, &out)) ||
        (t.infix == Infix::kMul && __builtin_mul_overflow(x, y, &out))) {
      c_.error(t.span, "this extent leaves 64 bits: {} and {}", x, y);
    }
    if ((t.infix == Infix::kDiv || t.infix == Infix::kMod) && y == 0) {
      c_.error(t.args[1].span, "this extent divides by 0");
    }
  }
  const Expr e = ir::make_binary(row_of(t.infix).op, a, b);
  // (H + 2 - 3 - 1) + 1 prints, compares and lowers as H - 1.
  return e->op == ir::Op::kAdd || e->op == ir::Op::kSub ? expr_of(linear_of(e)) : e;
}

void Arguments::declare_args() {
  for (const Argument& a : c_.op.args) {
    if (a.scalar) {
      c_.program.scalars.push_back({a.name, c_.scalar_type(a)});
    } else {
      c_.apart([&] { return declare_arg(a); });
    }
  }
}

bool Arguments::declare_arg(const Argument& a) {
  const Prover prover(c_.binding.ranged);
  ir::Buffer b;
  b.name = a.name;
  b.type = c_.type_named(a.type);
  b.role = a.role;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    b.shape.push_back(lower_extent(a.shape[i]));
    int64_t extent = 0;
    if (c_.failed()) return false;
    if (ir::is_const(b.shape.back(), &extent) && extent < 0) {
      c_.error(a.shape[i].span, "dim {} of `{}` would be {}; extents are 0 or more", i, a.name,
               extent);
    } else if (!c_.binding.checking && prover.non_negative(b.shape.back()) != Proof::kYes) {
      c_.error(a.shape[i].span,
               "dim {} of `{}` may be negative within the ranges given; raise their lower ends", i,
               a.name);
    }
  }
  if (c_.failed()) return false;
  check_addressable(c_, b, a.span);
  Tensor tensor;
  tensor.buffer = c_.program.buffers.size();
  tensor.readable = a.role != ir::Role::kOutput;
  c_.tensors.emplace(a.name, std::move(tensor));
  c_.program.buffers.push_back(std::move(b));
  return !c_.failed();
}

}  // namespace hone::ops
