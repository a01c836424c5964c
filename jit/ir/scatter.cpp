// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scatter.h"

#include <algorithm>
#include <utility>

namespace hone::ir {
namespace {

template <class F>
void each_conjunct(const Expr& e, const F& f) {
  if (e->op != Op::kAnd) return f(e);
  each_conjunct(e->args[0], f);
  each_conjunct(e->args[1], f);
}

/// The variables that a loop derives from.
std::vector<std::string> roots_of(const Stage& stage, const std::string& loop) {
  for (const Relation& r : stage.relations) {
    if (r.outer != loop && r.inner != loop) continue;
    std::vector<std::string> out = roots_of(stage, r.parent);
    if (r.kind != Relation::kFuse) return out;
    for (std::string& root : roots_of(stage, r.second)) out.push_back(std::move(root));
    return out;
  }
  return {loop};
}

/// Whether iterations of a loop may come in another order, or several at a time.
bool in_order(Mark mark) {
  return mark == Mark::kSerial || mark == Mark::kUnroll || mark == Mark::kScatter;
}

/// Why a loop marked kScatter of this stage cannot run beside the others.
std::optional<Reject> broken(const Program& program, const Stage& s, const std::string& loop) {
  const Expr to = scattered_to(s, loop);
  if (s.reduce == Reduce::kNone || !to) {
    return Reject(s.name, loop, "terms of stage " + s.name + " do not tell where along it they go");
  }
  for (const Loop& other : s.loops) {
    const std::vector<std::string> roots = roots_of(s, other.name);
    const bool reduced = std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
      return s.is_reduction_var(root) || (other.mark == Mark::kVector && mentions_var(to, root));
    });
    const bool apart =
        std::find(s.factored.begin(), s.factored.end(), other.name) != s.factored.end() &&
        other.mark != Mark::kVector;
    if (!reduced || apart || in_order(other.mark)) continue;
    return Reject(s.name, loop,
                  "iterations of " + other.name + " may write one element of " + s.output +
                      ", and marked " + std::string(name_of(other.mark)) +
                      " they have no order; leave it serial, or give each its own result with "
                      "rfactor");
  }
  for (const Stage& other : program.stages) {
    const Place here{s.name, loop};
    if (!(other.at == here) && !(other.store == here)) continue;
    return Reject(s.name, loop, "stage " + other.name + " is placed there, and no term runs it");
  }
  for (const Prefetch& p : s.prefetches) {
    if (p.loop != loop) continue;
    return Reject(s.name, loop, p.tensor + " is prefetched there, and no term runs it");
  }
  return std::nullopt;
}

/// The loops that a reduced loop was split into, in the order of its values. Nothing where it was
/// fused with another.
std::optional<std::vector<std::string>> in_turn(const Stage& s, const std::string& loop) {
  for (const Relation& r : s.relations) {
    if (r.parent != loop && r.second != loop) continue;
    if (r.kind == Relation::kFuse) return std::nullopt;
    auto out = in_turn(s, r.outer), inner = in_turn(s, r.inner);
    if (!out || !inner) return std::nullopt;
    out->insert(out->end(), inner->begin(), inner->end());
    return out;
  }
  return std::vector{loop};
}

/// Why the last term of some element would not be the last one to come.
std::optional<Reject> unordered(const Stage& s) {
  std::vector<std::string> order;
  for (const IndexVar& v : s.rvars) {
    const auto loops = in_turn(s, v.name);
    if (!loops) {
      return Reject("of stage " + s.name + " the last term stays, and " + v.name +
                    " is fused with another index; leave it as it is");
    }
    order.insert(order.end(), loops->begin(), loops->end());
  }
  auto next = order.begin();
  for (const Loop& l : s.loops) {
    if (std::find(order.begin(), order.end(), l.name) == order.end()) continue;
    if (*next++ == l.name && in_order(l.mark)) continue;
    Reject reject("of stage " + s.name + " the last term stays, so loop " + l.name +
                  " keeps its place among those of terms, serial or unrolled");
    reject.stage = s.name;
    reject.loop = l.name;
    return reject;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ScatteredVar> scattered_vars(const Stage& stage) {
  std::vector<ScatteredVar> out;
  if (!stage.where || stage.reduce == Reduce::kNone) return out;
  each_conjunct(stage.where, [&](const Expr& e) {
    if (e->op != Op::kEq || e->args[0]->op != Op::kVar) return;
    const std::string& name = e->args[0]->name;
    const Expr& at = e->args[1];
    const IndexVar* v = stage.var(name);
    const bool told = std::any_of(out.begin(), out.end(),
                                  [&](const ScatteredVar& other) { return other.var == name; });
    if (!v || stage.is_reduction_var(name) || told || mentions_var(at, name)) return;
    if (mentions_any(at, stage.rvars)) out.push_back({name, at});
  });
  return out;
}

Expr scattered_to(const Stage& stage, const std::string& var) {
  for (const ScatteredVar& v : scattered_vars(stage)) {
    if (v.var == var) return v.at;
  }
  return {};
}

Expr where_of_terms(const Stage& stage) {
  const std::vector<ScatteredVar> scattered = scattered_vars(stage);
  if (scattered.empty()) return stage.where;
  Expr rest;
  each_conjunct(stage.where, [&](const Expr& e) {
    const bool told = std::any_of(scattered.begin(), scattered.end(), [&](const ScatteredVar& v) {
      return e->op == Op::kEq && e->args[1].get() == v.at.get() && e->args[0]->name == v.var;
    });
    if (!told) rest = rest ? make_binary(Op::kAnd, rest, e) : e;
  });
  return rest;
}

bool runs_scattered(const Stage& stage, const std::string& var) {
  const Loop* loop = stage.loop(var);
  return loop && loop->mark == Mark::kScatter;
}

std::optional<Reject> broken_scatter(const Program& program) {
  for (const Stage& s : program.stages) {
    if (s.reduce == Reduce::kLast) {
      if (auto wrong = unordered(s)) return wrong;
    }
    for (const Loop& l : s.loops) {
      if (l.mark != Mark::kScatter) continue;
      if (auto wrong = broken(program, s, l.name)) return wrong;
    }
  }
  return std::nullopt;
}

}  // namespace hone::ir
