// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/overhangs.h"

#include <algorithm>

#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// True for a variable whose values are a multiple of `unit`: its loops never run beyond them.
bool runs_whole(const IndexVar& v, int64_t unit) {
  int64_t extent = 0;
  return !v.lo && is_const(v.hi, &extent) && extent % unit == 0;
}

/// True where `beside` plus a variable past `end`, up to a whole unit, lies behind the `dim`
/// elements of a tensor. So `end` is the tensor's end, a whole unit, or the lesser of two such.
/// Copies of copies have no unit (0); each ends where the next does.
bool ends_with(const Expr& end, const Poly& beside, const Expr& dim, int64_t unit) {
  int64_t n = 0;
  if (unit > 0 && is_const(end, &n) && n % unit == 0) return true;
  if (beside + Poly::of(end) == Poly::of(dim)) return true;
  return end->op == Op::kMin && ends_with(end->args[0], beside, dim, unit) &&
         ends_with(end->args[1], beside, dim, unit);
}

const Expr& without_casts(const Expr& e) {
  return e->op == Op::kCast ? without_casts(e->args[0]) : e;
}

}  // namespace

void Overhangs::find() {
  overhangs_.assign(program_.stages.size(), {});
  for (size_t i = program_.stages.size(); i-- > 0;) {
    const Stage& s = program_.stages[i];
    const StageLoops& loops = context_.loops[i];
    for (size_t r = 0; r < s.relations.size(); ++r) {
      if (s.relations[r].tail != Tail::kPad) continue;
      int node = loops.parent[r];
      int64_t unit = s.relations[r].factor;  // of the loop `node`, that run whole
      while (loops.nodes[static_cast<size_t>(node)].made_by >= 0) {
        const auto made = static_cast<size_t>(loops.nodes[static_cast<size_t>(node)].made_by);
        if (s.relations[made].kind == Relation::kFuse) {
          reject("split " + s.relations[r].parent + " tail=pad: the loop is fused of others; pad " +
                 "the splits of those");
        }
        const int64_t factor = s.relations[made].factor;
        if (!loops.nodes[static_cast<size_t>(node)].inner) {
          unit *= factor;
        } else if (factor % unit != 0) {
          // Beyond this loop the next iteration around it begins, not the end of the domain.
          reject("split " + s.relations[r].parent + " tail=pad: " + std::to_string(factor) +
                 " iterations are no multiple of " + std::to_string(unit) +
                 "; pad the split of the variable, or take tail=mask");
        }
        node = loops.parent[made];
      }
      const std::string& name = loops.nodes[static_cast<size_t>(node)].name;
      if (!runs_whole(*s.var(name), unit)) overhangs_[i].push_back({name, unit});
    }
    if (s.at.root()) continue;
    for (size_t r = i + 1; r < program_.stages.size(); ++r) {
      const Stage& reader = program_.stages[r];
      visit(reader.value, [&](const Expr& e) {
        if (e->op != Op::kLoad || e->name != s.output) return;
        for (size_t d = 0; d < s.out_index.size(); ++d) {
          if (s.out_index[d]->op != Op::kVar) continue;
          for (const Overhang& o : overhangs_[r]) {
            if (mentions_var(e->args[d], o.var)) {
              overhangs_[i].push_back({s.out_index[d]->name, o.unit});
            }
          }
        }
      });
    }
  }
}

/// The variables of `stage` that run beyond their domain; a check's are none of the program's.
const std::vector<Overhang>& Overhangs::of(const Stage& stage) const {
  static const std::vector<Overhang> kNone;
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    if (&program_.stages[i] == &stage) return overhangs_[i];
  }
  return kNone;
}

bool Overhangs::has(const Stage& stage, const std::string& var) const {
  const auto& all = of(stage);
  return std::any_of(all.begin(), all.end(), [&](const Overhang& o) { return o.var == var; });
}

bool Overhangs::fills(const Stage& s) const {
  return !of(s).empty() && !s.at.root() && s.reduce == Reduce::kNone &&
         without_casts(s.value)->op == Op::kLoad;
}

void Overhangs::check_sum(const Stage& s) const {
  const auto is_zero = [](const Expr& e) {
    return (e->op == Op::kInt && e->i == 0) || (e->op == Op::kFloat && e->f == 0);
  };
  const auto filled = [&](const auto& self, const Expr& factor, const std::string& var,
                          const Expr& end, int64_t unit) -> bool {
    const Expr& load = without_casts(factor);
    const Stage* copy = load->op == Op::kLoad ? program_.producer(load->name) : nullptr;
    if (!copy || load->guarded || !fills(*copy)) return false;
    const Expr& from = without_casts(copy->value);
    if (from->guarded && !is_zero(from->args.back())) return false;
    const int moved = dim_along(load->args, var);
    if (moved < 0) return false;
    const auto d = static_cast<size_t>(moved);
    const IndexVar* own =
        copy->out_index[d]->op == Op::kVar ? copy->var(copy->out_index[d]->name) : nullptr;
    const auto beside = beside_var(load->args[d], var);
    if (!own || own->lo || !ends_with(end, *beside, own->hi, unit)) return false;
    const Stage* below = program_.producer(from->name);
    if (below && !below->at.root()) return self(self, copy->value, own->name, own->hi, 0);
    const Buffer& tensor = *program_.buffer(from->name);
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      const Expr& at = from->args[i];
      if (at->op == Op::kVar && at->name == own->name) return equal(tensor.shape[i], own->hi);
    }
    return false;
  };
  for (const Overhang& o : of(s)) {
    if (!s.is_reduction_var(o.var)) continue;
    const IndexVar& v = *s.var(o.var);
    const bool product = s.reduce == Reduce::kSum && s.value->op == Op::kMul && !v.lo && !s.where;
    if (product && filled(filled, s.value->args[0], v.name, v.hi, o.unit) &&
        filled(filled, s.value->args[1], v.name, v.hi, o.unit)) {
      continue;
    }
    reject("stage " + s.name + ": a padded split of " + v.name +
           " adds what lies beyond its end; " +
           "only sums of products of two copies, made by stage inside the loop, are 0 there");
  }
}

}  // namespace hone::jit
