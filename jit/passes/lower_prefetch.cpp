// SPDX-License-Identifier: Apache-2.0
// `prefetch T at L distance=d`: the lines that iteration L+d reads.
#include <algorithm>

#include "jit/ir/build.h"
#include "jit/passes/lowering.h"

namespace hone::jit {

using namespace ir;

namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostLines = 16;

bool has_guarded_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kLoad && x->guarded; });
  return found;
}

}  // namespace

/// An index as it will be `distance` iterations on. Variables whose loops are still closed stand at
/// their first value; indices of the loads inside are clamped into their tensors, so that looking
/// ahead past the end reads something valid. A tensor that may be empty has nothing valid to read:
/// its loads give 0 then.
Expr Lowering::ahead(Instance& in, const Expr& e) {
  if (e->op == Op::kVar) {
    const int node = in.loops->find(e->name);
    const size_t vars = in.stage().vars.size();
    const int var = in.loops->nodes[static_cast<size_t>(node)].var;
    Span s = range_of(in, node);
    const auto v = static_cast<size_t>(var);
    s.lo += v < vars ? in.window[v].lo : reduction_span(in, v - vars).lo;
    return s.lo.expr();
  }
  if (e->op == Op::kDim || e->op == Op::kScalar) return translate(in, e);
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(ahead(in, a));
  if (e->op != Op::kLoad) return args.empty() ? e : with_args(e, std::move(args));
  const Storage& s = storage_of(e->name);
  Node n;
  n.op = Op::kLoad;
  n.type = e->type;
  n.id = s.buffer;
  n.name = e->name;
  n.args.push_back(offset(s, clamped(s, args)));
  Expr any = make_int(1, DType::kBool);
  for (const Poly& extent : s.shape) {
    if (facts_.nonnegative(extent - Poly(1))) continue;
    any = make_binary(Op::kAnd, any, make_binary(Op::kLt, make_int(0), extent.expr()));
  }
  if (!is_const(any)) {
    n.guarded = true;
    n.args.push_back(any);
    n.args.push_back(make_int(0, e->type));
  }
  return Expr(std::make_shared<const Node>(std::move(n)));
}

/// True when `e` loads from a tensor that never has an element.
bool Lowering::reads_empty(const Expr& e) const {
  bool found = false;
  visit(e, [&](const Expr& x) {
    if (x->op != Op::kLoad) return;
    for (const Poly& extent : storage_of(x->name).shape) {
      found |= facts_.nonnegative(Poly() - extent);
    }
  });
  return found;
}

/// Indices cut to the elements that a storage holds. What is known of a tensor's elements does not
/// hold for the 0 read in their place.
std::vector<Poly> Lowering::clamped(const Storage& s, const std::vector<Expr>& indices) {
  std::vector<Poly> out;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const Poly last = s.base[d] + s.shape[d] - Poly(1);
    const Facts* facts = has_guarded_load(indices[d]) ? nullptr : &facts_;
    out.push_back(max(s.base[d], min(Poly::of(indices[d], facts), last, facts), facts));
  }
  return out;
}

void Lowering::prefetches(Instance& in, const Loop& l, std::vector<StmtRef>& out) {
  for (const Prefetch& p : in.stage().prefetches) {
    if (p.loop != l.name) continue;
    const int node = in.loops->find(l.name);
    const Instance here = in;
    in.ahead = true;
    place(in, node, *in.value[static_cast<size_t>(node)] + Poly(p.distance), Piece{0, 0});
    visit(in.stage().value, [&](const Expr& e) {
      if (e->op != Op::kLoad || e->name != p.tensor || reads_empty(e)) return;
      const Storage& s = storage_of(p.tensor);
      // Asking for a line never faults: what is ahead of the last iteration needs no bounds.
      std::vector<Poly> indices;
      for (size_t d = 0; d < s.shape.size(); ++d) {
        indices.push_back(Poly::of(ahead(in, e->args[d]), &facts_));
      }
      const Poly start = Poly::of(offset(s, indices));
      int64_t span = 1;
      if (!s.axes.empty()) {  // a tensor without dims is one element
        const auto inner =
            interval(e->args[static_cast<size_t>(s.axes.back().dim)], spans_of(in), in.stage());
        if (inner) span = facts_.upper(inner->extent).value_or(1);
      }
      const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
      const int64_t line = kLineBytes / size_of(b.type);
      for (int64_t i = 0; i < std::min(kMostLines, (span + line - 1) / line); ++i) {
        out.push_back(make_prefetch(s.buffer, (start + Poly(i * line)).expr()));
      }
    });
    in = here;
  }
}

}  // namespace hone::jit
