// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scan.h"

#include <algorithm>

#include "jit/ir/carrying_loop.h"
#include "jit/ir/recurrence.h"

namespace hone::ir {
namespace {

bool is_whole(DType type) { return type == DType::kI32 || type == DType::kI64; }

std::optional<Reduce> combination(const Expr& value) {
  const bool whole = is_whole(value->type);
  switch (value->op) {
    case Op::kAdd:
      return Reduce::kSum;
    case Op::kMul:  // of floats, a part of the factors may overflow
      return whole ? std::optional(Reduce::kProd) : std::nullopt;
    case Op::kMax:
      return Reduce::kMax;
    case Op::kMin:
      return Reduce::kMin;
    default:
      return std::nullopt;
  }
}

using IsOwn = std::function<bool(const Expr&)>;

/// An expression as `factor * earlier + term`; what is null there is 0.
struct Linear {
  Expr earlier, factor, term;
};

Expr either(Op op, const Expr& a, const Expr& b) {
  if (!b) return a;
  if (!a) return op == Op::kSub ? make_unary(Op::kNeg, b) : b;
  return make_binary(op, a, b);
}

bool is_one(const Expr& e) {
  int64_t whole = 0;
  return is_const(e, &whole) ? whole == 1 : e->op == Op::kFloat && e->f == 1;
}

/// What is 0 because it is not there stays so, whatever `f` is.
Expr times(const Expr& f, const Expr& e) {
  if (!e) return e;
  if (is_one(e)) return f;
  return is_one(f) ? e : make_binary(Op::kMul, f, e);
}

/// The parts of a linear function; nothing where `e` is no such function of one load that `own`
/// says is of a result.
std::optional<Linear> linear_in(const Expr& e, const IsOwn& own) {
  if (!any_node(e, own)) return Linear{{}, {}, e};
  if (own(e)) return Linear{e, identity(Reduce::kProd, e->type), {}};
  const bool product = e->op == Op::kMul;
  if (!product && e->op != Op::kAdd && e->op != Op::kSub && e->op != Op::kNeg) return std::nullopt;
  const auto a = linear_in(e->args[0], own);
  if (!a) return std::nullopt;
  if (e->op == Op::kNeg) {
    return Linear{a->earlier, make_unary(Op::kNeg, a->factor), either(Op::kSub, {}, a->term)};
  }
  const auto b = linear_in(e->args[1], own);
  if (!b) return std::nullopt;
  if (product) {
    if (a->earlier && b->earlier) return std::nullopt;
    const Linear& of = a->earlier ? *a : *b;
    const Expr& by = a->earlier ? b->term : a->term;
    return Linear{of.earlier, times(by, of.factor), times(by, of.term)};
  }
  if (a->earlier && b->earlier && !equal(a->earlier, b->earlier)) return std::nullopt;
  return Linear{a->earlier ? a->earlier : b->earlier, either(e->op, a->factor, b->factor),
                either(e->op, a->term, b->term)};
}

/// The load of an own result in whose indices no other own result stands.
bool is_plain(const Expr& earlier, const IsOwn& own) {
  return std::none_of(earlier->args.begin(), earlier->args.end(),
                      [&](const Expr& part) { return any_node(part, own); });
}

}  // namespace

std::optional<Scan> scan_of(const Expr& value, const IsOwn& loads_own) {
  if (!is_whole(value->type) && value->type != DType::kF32 && value->type != DType::kF64) {
    return std::nullopt;
  }
  const IsOwn own = [&](const Expr& e) { return e->op == Op::kLoad && loads_own(e); };
  if (const auto combine = combination(value)) {
    const bool first = own(value->args[0]);
    const Expr &earlier = value->args[first ? 0 : 1], &term = value->args[first ? 1 : 0];
    if (own(earlier) && earlier->type == value->type && !any_node(term, own)) {
      return is_plain(earlier, own) ? std::optional(Scan{*combine, earlier, term, {}})
                                    : std::nullopt;
    }
  }
  if (value->op != Op::kAdd && value->op != Op::kSub) return std::nullopt;
  const auto linear = linear_in(value, own);
  if (!linear || !linear->earlier || !linear->term) return std::nullopt;
  if (linear->earlier->type != value->type || !is_plain(linear->earlier, own)) return std::nullopt;
  const bool plain = is_one(linear->factor);
  return Scan{Reduce::kSum, linear->earlier, linear->term, plain ? Expr() : linear->factor};
}

std::string scanned_var(const Stage& stage) {
  if (stage.reduce != Reduce::kNone || stage.where || !stage.factored.empty()) return {};
  const auto own = [&](const Expr& load) { return load->name == stage.output; };
  if (!scan_of(stage.value, own)) return {};
  const std::vector<CarriedRead> reads = carried_reads(stage);
  if (reads.size() != 1) return {};
  std::string out;
  for (size_t v = 0; v < stage.vars.size(); ++v) {
    const auto& step = reads[0].distance[v];
    if (is_same(step)) continue;
    if (!step || *step != -1 || !out.empty()) return {};
    out = stage.vars[v].name;
  }
  return out;
}

std::optional<size_t> scanning_loop(const Stage& stage) {
  if (scanned_var(stage).empty()) return std::nullopt;
  const CarriedRead read = carried_reads(stage)[0];
  CarryingLoop order(stage, read.distance, stage.loops.size());
  if (!order.broken().empty() || !order.carrier()) return std::nullopt;
  return stage.loops[*order.carrier()].mark == Mark::kVector ? order.carrier() : std::nullopt;
}

}  // namespace hone::ir
