// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/prefetches.h"

#include <algorithm>

#include "jit/ir/build.h"
#include "jit/ir/scatter.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/windows.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Chosen: few lines beside a queue of misses; a line is x86's (not measured).
constexpr int64_t kLineBytes = 64;
constexpr int64_t kMostLines = 16;

}  // namespace

/// True when `e` loads from a tensor that never has an element.
bool Prefetches::reads_empty(const Expr& e) const {
  bool found = false;
  visit(e, [&](const Expr& x) {
    if (x->op != Op::kLoad) return;
    for (const Poly& extent : storage_of(x->name).shape) {
      found |= facts_.nonnegative(Poly() - extent);
    }
  });
  return found;
}

void Prefetches::add(Instance& in, const Loop& l, std::vector<StmtRef>& out) {
  const Stage& stage = in.stage();
  for (const Prefetch& p : stage.prefetches) {
    if (p.loop != l.name) continue;
    const int node = in.loops->find(l.name);
    const Instance here = in;
    in.ahead = true;
    values_.place(in, node, *in.value[static_cast<size_t>(node)] + Poly(p.distance), Piece{0, 0});
    visit(stage.value, [&](const Expr& e) {
      if (e->op == Op::kLoad && e->name == p.tensor) ask(in, e, out);
    });
    // What a term is added to is read, too.
    const bool own =
        p.tensor == stage.output && stage.reduce != Reduce::kNone && stage.factored.empty();
    if (own) ask(in, make_load(p.tensor, stage.accumulate, told(stage)), out);
    in = here;
  }
}

/// The element of its result that a term goes to.
std::vector<Expr> Prefetches::told(const Stage& stage) {
  std::vector<Expr> indices = stage.out_index;
  for (Expr& e : indices) {
    const bool scattered = e->op == Op::kVar && runs_scattered(stage, e->name);
    if (scattered) e = scattered_to(stage, e->name);
  }
  return indices;
}

/// Adds statements that ask for the lines of a load, as the loops stand.
void Prefetches::ask(Instance& in, const Expr& load, std::vector<StmtRef>& out) {
  if (reads_empty(load)) return;
  const Storage& s = storage_of(load->name);
  // Asking for a line never faults: what is ahead of the last iteration needs no bounds.
  std::vector<Poly> indices;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    indices.push_back(Poly::of(accesses_.ahead(in, load->args[d]), &facts_));
  }
  const Poly start = Poly::of(accesses_.offset(s, indices));
  int64_t span = 1;
  if (!s.axes.empty()) {  // a tensor without dims is one element
    const auto inner = windows_.interval(load->args[static_cast<size_t>(s.axes.back().dim)],
                                         values_.spans_of(in), in.stage());
    if (inner) span = facts_.upper(inner->extent).value_or(1);
  }
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
  const int64_t line = kLineBytes / size_of(b.type);
  for (int64_t i = 0; i < std::min(kMostLines, (span + line - 1) / line); ++i) {
    out.push_back(make_prefetch(s.buffer, (start + Poly(i * line)).expr()));
  }
}

}  // namespace hone::jit
