// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/pass_counter.h"

#include <algorithm>

#include "jit/ir/poly.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Whether `p` never grows with loop `id`.
bool never_grows(const Poly& p, int id) {
  return std::all_of(p.terms().begin(), p.terms().end(), [&](const Poly::Term& t) {
    Poly alone(1);
    for (const Expr& f : t.factors) alone = alone * Poly::atom(f);
    if (!alone.mentions_loop(id)) return true;
    if (t.factors.size() != 1) return false;
    const Expr& f = t.factors[0];
    if (f->op == Op::kVar) return t.coef < 0;
    if (f->op != Op::kMin && f->op != Op::kMax) return false;
    return t.coef > 0 && never_grows(Poly::of(f->args[0]), id) &&
           never_grows(Poly::of(f->args[1]), id);
  });
}

}  // namespace

PassCounter::PassCounter(const Nest& nest, const Launch& launch) : nest_(nest) {
  int64_t extent = 0;
  const bool once = is_const(launch.extent, &extent) && extent <= 1;
  if (is_block(launch.mark) || once) return;
  range_.loop = launch.range;
  range_.begin = make_int(0);
  range_.end = launch.extent;
  open(range_);
}

void PassCounter::open(const Stmt& s, size_t side) {
  around_.push_back({as<ForStmt>(s), as<IfStmt>(s), side});
}

/// Loops that every thread walks, one iteration after the other.
bool PassCounter::counts(const Around& a) const {
  return a.loop != nullptr && !is_block(a.loop->mark) && !is_thread(a.loop->mark);
}

bool PassCounter::mentions_counted(const Expr& e) const {
  bool found = false;
  visit(e, [&](const Expr& x) {
    found |= x->op == Op::kLoad;
    for (const Around& a : around_) {
      found |= x->op == Op::kVar && counts(a) && a.loop->loop == x->id;
    }
  });
  return found;
}

/// Whether `condition`, once it does not hold, holds at no later iteration of `loop`.
bool PassCounter::ends_for_good(const Expr& c, int loop) const {
  if (c->op == Op::kAnd) return ends_for_good(c->args[0], loop) && ends_for_good(c->args[1], loop);
  if (!mentions_counted(c)) return true;
  if (c->op != Op::kLt && c->op != Op::kLe) return false;
  const Poly slack = Poly::of(c->args[1]) - Poly::of(c->args[0]);
  for (const Around& a : around_) {
    if (counts(a) && a.loop->loop != loop && slack.mentions_loop(a.loop->loop)) return false;
  }
  return never_grows(slack, loop);
}

Expr PassCounter::number(const std::string& what) const {
  Expr out = make_int(0);
  int outermost = -1;
  for (const Around& a : around_) {
    bool regular = true;
    if (counts(a)) {
      const ForStmt& s = *a.loop;
      const Expr pass = make_var(nest_.loops[static_cast<size_t>(s.loop)], s.loop) - s.begin;
      regular = outermost < 0 || !mentions_counted(s.end - s.begin);
      out = outermost < 0 ? pass : out * (s.end - s.begin) + pass;
      if (outermost < 0) outermost = s.loop;
    } else if (a.choice && outermost >= 0) {
      const Expr& condition = a.choice->condition;
      regular =
          !mentions_counted(condition) || (a.side == 0 && ends_for_good(condition, outermost));
    } else if (a.loop && is_block(a.loop->mark) && outermost >= 0) {
      const ForStmt& s = *a.loop;
      const Expr block = make_var(nest_.loops[static_cast<size_t>(s.loop)], s.loop);
      regular = !mentions_counted(s.begin) &&
                ends_for_good(make_binary(Op::kLt, block, s.end), outermost);
    }
    if (regular) continue;
    reject(what + ": it comes by differently often in the iterations of " +
           nest_.loops[static_cast<size_t>(outermost)] +
           ", so that no expression counts its turns; take splits that divide, or another loop");
  }
  return Poly::of(out).expr();
}

Expr PassCounter::number_at(const ForStmt& loop, const Expr& k, const std::string& what) const {
  const Expr before = number(what);
  const Expr trips = loop.end - loop.begin;
  if (!is_const(before) && mentions_counted(trips)) {
    reject(what + ": its loop has " + print(trips) +
           " iterations, another number each time it runs; take splits that divide");
  }
  return Poly::of(before * trips + k - loop.begin).expr();
}

}  // namespace hone::jit
