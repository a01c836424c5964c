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
  const auto range = ir::range_before_wrap(e);
  const auto type = ir::range_of(e->type);
  return range && type && range->lies_in(*type) ? range : std::nullopt;
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

/// How many of the lowest bytes of `tensor`, of integers, decide the lowest `bytes` of a value; 0:
/// the value does not read it.
int bytes_deciding(const ir::Expr& e, const std::string& tensor, int bytes) {
  size_t first = e->args.size();  // of the arguments whose high bytes do not matter
  switch (e->op) {
    case ir::Op::kCast:
      if (!is_int(e->type) || !is_int(e->args[0]->type)) break;
      [[fallthrough]];
    case ir::Op::kNeg:
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul:
    case ir::Op::kBitAnd:
    case ir::Op::kBitOr:
    case ir::Op::kBitXor:
      if (is_int(e->type)) first = 0;
      break;
    case ir::Op::kSelect:
      if (is_int(e->type)) first = 1;
      break;
    default:
      break;
  }
  int most = e->op == ir::Op::kLoad && e->name == tensor ? bytes : 0;
  for (size_t i = 0; i < e->args.size(); ++i) {
    const int args = i < first ? 8 : std::min(bytes, std::max(1, size_of(e->type)));
    most = std::max(most, bytes_deciding(e->args[i], tensor, args));
  }
  return most;
}

/// Bytes of the integers of a tensor that any reader goes by.
int bytes_read(const ir::Program& program, const std::string& tensor) {
  const ir::Buffer* b = program.buffer(tensor);
  if (!b || b->role != ir::Role::kTemp) return 8;
  int most = 0;
  for (ir::Stage reader : program.stages) {
    for_each_expr(reader, [&](const ir::Expr& e) {
      const bool stored = &e == &reader.value;
      const int bytes = stored ? size_of(e->type) : 8;
      most = std::max(most, bytes_deciding(e, tensor, bytes));
    });
  }
  return most == 0 ? 8 : most;
}

/// Whether a value computes with integers of 64 bits, those aside that tell where elements lie.
bool computes_wide(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) return false;
  return (e->type == DType::kI64 && !e->args.empty()) ||
         std::any_of(e->args.begin(), e->args.end(), computes_wide);
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
  if (const auto type = wrapping_sum(program, stage)) return type;
  const auto terms = most_terms(stage);
  for (const DType type : kNarrowSums) {
    const int64_t most = terms_in(type, program, stage);
    if (terms && most > 0 && *terms <= most) return type;
  }
  return std::nullopt;
}

std::optional<DType> wrapping_sum(const ir::Program& program, const ir::Stage& stage) {
  const bool sums = stage.reduce == ir::Reduce::kSum && is_int(stage.accumulate) &&
                    !ir::sums_products(stage) && ir::scattered_vars(stage).empty();
  if (!sums) return std::nullopt;
  const int bytes = std::max(bytes_read(program, stage.output), widest_read(program, stage.value));
  for (const DType type : kWrappingSums) {
    if (bytes > size_of(type) || size_of(type) >= size_of(stage.accumulate)) continue;
    return computes_wide(ir::low_bytes(stage.value, type)) ? std::nullopt : std::optional(type);
  }
  return std::nullopt;
}

void sum_narrow(const ir::Program& program, ir::Stage& stage, ir::Buffer& output) {
  const auto type = narrow_sum(program, stage);
  if (!type) return;
  stage.value = ir::low_bytes(stage.value, *type);
  stage.accumulate = output.type = *type;
}

}  // namespace hone::schedules
