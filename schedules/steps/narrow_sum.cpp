// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/narrow_sum.h"

#include <algorithm>

#include "jit/ir/integers.h"
#include "jit/ir/product.h"
#include "jit/ir/scatter.h"
#include "jit/ir/visit.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Where an integer of the stage's type lies; nothing where it may wrap around.
std::optional<ir::IntegerRange> range_of_term(const ir::Expr& e) {
  const auto type = ir::range_of(e->type);
  if (e->type != DType::kI64) {
    const auto range = ir::range_before_wrap(e);
    return range && type && range->lies_in(*type) ? range : std::nullopt;
  }
  if (e->op == ir::Op::kInt) return ir::IntegerRange{e->i, e->i};
  if (e->op == ir::Op::kCast) return ir::range_of(e->args[0]->type);
  if (e->op != ir::Op::kSelect) return std::nullopt;
  const auto a = range_of_term(e->args[1]), b = range_of_term(e->args[2]);
  if (!a || !b) return std::nullopt;
  return ir::IntegerRange{std::min(a->lo, b->lo), std::max(a->hi, b->hi)};
}

/// Bytes of the widest tensor that a value is made of, those aside that tell where it lies.
int widest_read(const ir::Program& program, const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) {
    const ir::Buffer* b = program.buffer(e->name);
    return b ? size_of(b->type) : size_of(e->type);
  }
  int widest = 0;
  for (const ir::Expr& a : e->args) widest = std::max(widest, widest_read(program, a));
  return widest;
}

/// A constant that an extent is not above; nothing where none is known.
std::optional<int64_t> most(const ir::Expr& extent) {
  int64_t value = 0;
  if (ir::is_const(extent, &value)) return value;
  if (extent->op != ir::Op::kMin) return std::nullopt;
  const auto a = most(extent->args[0]), b = most(extent->args[1]);
  return a && b ? std::min(*a, *b) : a ? a : b;
}

/// The most terms that one result of a stage has.
std::optional<int64_t> most_terms(const ir::Stage& s) {
  int64_t terms = 1;
  for (const ir::Loop& l : s.loops) {
    const bool kept = std::count(s.factored.begin(), s.factored.end(), l.name) != 0;
    if (!is_reduction(s, l.name) || kept) continue;
    const auto extent = most(extent_of(s, l.name));
    if (!extent || __builtin_mul_overflow(terms, *extent, &terms)) return std::nullopt;
  }
  return terms;
}

/// `value` as an integer of a narrower type that holds it.
ir::Expr narrowed(const ir::Expr& value, DType type) {
  if (value->op == ir::Op::kInt) return ir::make_int(value->i, type);
  if (value->op == ir::Op::kSelect) {
    return ir::make_select(value->args[0], narrowed(value->args[1], type),
                           narrowed(value->args[2], type));
  }
  return ir::make_cast(type, value->op == ir::Op::kCast ? value->args[0] : value);
}

}  // namespace

int64_t terms_in(DType type, const ir::Program& program, const ir::Stage& stage) {
  const bool sums = stage.reduce == ir::Reduce::kSum && is_int(stage.accumulate) &&
                    size_of(stage.accumulate) > size_of(type) && !ir::sums_products(stage) &&
                    ir::scattered_vars(stage).empty();
  const auto range = sums ? range_of_term(stage.value) : std::nullopt;
  if (!range || widest_read(program, stage.value) > size_of(type)) return 0;
  return ir::range_of(type)->hi / std::max<int64_t>({-range->lo, range->hi, 1});
}

std::optional<DType> narrow_sum(const ir::Program& program, const ir::Stage& stage) {
  const auto terms = most_terms(stage);
  for (const DType type : kNarrowSums) {
    const int64_t most = terms_in(type, program, stage);
    if (terms && most > 0 && *terms <= most) return type;
  }
  return std::nullopt;
}

void sum_narrow(const ir::Program& program, ir::Stage& stage, ir::Buffer& output) {
  const auto type = narrow_sum(program, stage);
  if (!type) return;
  stage.value = narrowed(stage.value, *type);
  stage.accumulate = output.type = *type;
}

}  // namespace hone::schedules
