// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/prefetches.h"

#include <algorithm>
#include <set>
#include <utility>

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
/// Iterations among which lines are shared out: more of them than a tensor has lines.
/// Chosen: beyond any memory (not measured).
constexpr int64_t kMostTurns = int64_t{1} << 40;

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
    if (!p.outer.root()) {
      ask_share(in, p, out);
      continue;
    }
    const int node = in.loops->find(l.name);
    const Instance here = in;
    in.ahead = true;
    values_.place(in, node, *in.value[static_cast<size_t>(node)] + Poly(p.distance), Piece{0, 0});
    visit(stage.value, [&](const Expr& e) {
      if (e->op != Op::kLoad || e->name != p.tensor || reads_empty(e)) return;
      ask(row_of(in, e), out);
    });
    // What a term is added to is read, too.
    const bool own =
        p.tensor == stage.output && stage.reduce != Reduce::kNone && stage.factored.empty();
    const Expr element = make_load(p.tensor, stage.accumulate, told(stage));
    if (own && !reads_empty(element)) ask(row_of(in, element), out);
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

/// What a load reads as the loops stand, as far as those are neighbours in memory.
Prefetches::Row Prefetches::row_of(Instance& in, const Expr& load) {
  const Storage& s = storage_of(load->name);
  // Asking for a line never faults: what is ahead of the last iteration needs no bounds.
  std::vector<Poly> indices;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    indices.push_back(Poly::of(accesses_.ahead(in, load->args[d]), &facts_));
  }
  Row row{s.buffer, Poly::of(accesses_.offset(s, indices))};
  const std::vector<Span> spans = values_.spans_of(in);
  for (size_t a = s.axes.size(); a-- > 0;) {
    const Axis& axis = s.axes[a];
    const bool innermost = a + 1 == s.axes.size();
    if (!innermost && (axis.div != 1 || axis.mod != 0)) break;
    const auto along =
        windows_.interval(load->args[static_cast<size_t>(axis.dim)], spans, in.stage());
    const int64_t extent = along ? facts_.upper(along->extent).value_or(1) : 1;
    if (extent <= 1) continue;
    const auto step = s.strides[a].value();
    if (!step || *step > row.elements) break;
    row.elements += *step * (extent - 1);
  }
  return row;
}

/// Adds statements that ask for the lines of `row`.
void Prefetches::ask(const Row& row, std::vector<StmtRef>& out) {
  const NestBuffer& b = nest_.buffers[static_cast<size_t>(row.buffer)];
  const int64_t line = kLineBytes / size_of(b.type);
  for (int64_t i = 0; i < std::min(kMostLines, (row.elements + line - 1) / line); ++i) {
    out.push_back(make_prefetch(row.buffer, (row.start + Poly(i * line)).expr()));
  }
}

/// The number of a loop that is open, from outside in, and nothing of one that runs once.
std::optional<int> Prefetches::number_of(const Place& place) const {
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    const Instance* in = context_.active[i];
    if (!in || program_.stages[i].name != place.stage) continue;
    const auto& value = in->value[static_cast<size_t>(in->loops->find(place.loop))];
    if (!value || value->terms().size() != 1) return std::nullopt;
    const Expr& e = value->terms()[0].factors[0];
    return e->op == Op::kVar ? std::optional(e->id) : std::nullopt;
  }
  return std::nullopt;
}

/// The loops that are open inside one of a number, from outside in.
std::vector<int> Prefetches::open_inside(int outer) const {
  std::set<int> numbers;
  for (const Instance* in : context_.active) {
    if (!in) continue;
    for (const auto& value : in->value) {
      if (!value) continue;
      visit(value->expr(), [&](const Expr& e) {
        if (e->op == Op::kVar && e->id > outer) numbers.insert(e->id);
      });
    }
  }
  return {numbers.begin(), numbers.end()};
}

/// Adds statements that ask for a share of the tensor's part that iteration outer+distance reads.
/// Each iteration of the loops inside has a share, in the order of memory. There is none where that
/// part does not lie together, nor where only the call tells the ends of loops.
void Prefetches::ask_share(Instance& in, const Prefetch& p, std::vector<StmtRef>& out) {
  const std::optional<int> outer = number_of(p.outer);
  if (!outer) return;  // it runs once: there is nothing ahead
  std::optional<Row> row;
  visit(in.stage().value, [&](const Expr& e) {
    if (e->op != Op::kLoad || e->name != p.tensor || row || reads_empty(e)) return;
    row = row_of(in, e);
  });
  if (!row) return;
  Poly rest = row->start, turn;
  int64_t turns = 1;
  std::vector<std::pair<int64_t, int64_t>>
      steps;  // of loops along the tensor: elements, iterations
  for (const int loop : open_inside(*outer)) {
    const Poly number = Poly::atom(make_var(nest_.loops[static_cast<size_t>(loop)], loop));
    const auto least = facts_.lower(number), most = facts_.upper(number);
    if (!least || !most) return;
    const int64_t step = row->start.loop_coef(loop), extent = *most - *least + 1;
    if (extent <= 0 || turns > kMostTurns / extent) return;
    rest = rest - Poly(step) * (number - Poly(*least));
    if (rest.mentions_loop(loop) || step < 0) return;
    if (step > 0) steps.emplace_back(step, extent);
    turn = turn * Poly(extent) + number - Poly(*least);
    turns *= extent;
  }
  const int64_t ahead = rest.loop_coef(*outer);
  std::sort(steps.begin(), steps.end());
  for (const auto& [step, extent] : steps) {
    if (step > row->elements) return;
    row->elements += step * (extent - 1);
  }
  const int64_t share = (row->elements + turns - 1) / turns;
  ask({row->buffer, rest + Poly(ahead * p.distance) + turn * Poly(share), share}, out);
}

}  // namespace hone::jit
