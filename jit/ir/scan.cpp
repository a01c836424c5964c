// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scan.h"

#include "jit/ir/carrying_loop.h"
#include "jit/ir/recurrence.h"

namespace hone::ir {
namespace {

std::optional<Reduce> combination(const Expr& value) {
  const bool whole = value->type == DType::kI32 || value->type == DType::kI64;
  if (!whole && value->type != DType::kF32 && value->type != DType::kF64) return std::nullopt;
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

}  // namespace

std::optional<Scan> scan_of(const Expr& value, const std::function<bool(const Expr&)>& own) {
  const std::optional<Reduce> combine = combination(value);
  if (!combine) return std::nullopt;
  const auto is_own = [&](const Expr& e) { return e->op == Op::kLoad && own(e); };
  const bool first = is_own(value->args[0]);
  const Expr &earlier = value->args[first ? 0 : 1], &term = value->args[first ? 1 : 0];
  if (!is_own(earlier) || earlier->type != value->type || any_node(term, is_own)) {
    return std::nullopt;
  }
  for (const Expr& part : earlier->args) {
    if (any_node(part, is_own)) return std::nullopt;
  }
  return Scan{*combine, earlier, term};
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
    if (!step || *step != -1 || stage.vars[v].backward || !out.empty()) return {};
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
