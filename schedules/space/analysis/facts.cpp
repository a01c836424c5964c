// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/facts.h"

#include <algorithm>
#include <set>

#include "jit/ir/facts.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"
#include "jit/ir/operations.h"
#include "jit/ir/scatter.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Elements that the step of an index that data decide is taken for.
/// Fixed by: pages and lines, since no two neighbours may share one.
constexpr int64_t kUnknownStride = 4096;
/// Elements that a stride known only at the call is taken for at least, and the gap after a row.
/// Mostly there is none, but no vector may rely on it, nor may two axes be one.
/// Fixed by: no structure that shuffles take apart (a prime), within a line.
constexpr int64_t kLeastUnknown = 10, kGap = 1;

void add(Affine& to, const Affine& from, int64_t factor) {
  to.constant += factor * from.constant;
  to.open |= from.open;
  for (const auto& [name, coefficient] : from.terms) {
    int64_t& sum = to.terms[name];
    sum += factor * coefficient;
    if (sum == 0) to.terms.erase(name);
  }
}

std::optional<Affine> product(const Affine& a, const Affine& b) {
  if (!a.terms.empty() && !b.terms.empty()) return {};
  // A coefficient that only the call knows is none.
  if ((a.open && !b.terms.empty()) || (b.open && !a.terms.empty())) return {};
  Affine out;
  out.open = a.open || b.open;
  if (a.terms.empty()) {
    add(out, b, a.constant);
  } else {
    add(out, a, b.constant);
  }
  return out;
}

int cost_of(const ir::Expr& e, bool device) {
  switch (e->op) {
    case ir::Op::kInt:
    case ir::Op::kFloat:
    case ir::Op::kVar:
    case ir::Op::kDim:
    case ir::Op::kScalar:
    case ir::Op::kLoad:
      return 0;
    case ir::Op::kCall:
      return static_cast<int>(device ? e->fn->device_length : ir::vector_length(e).all);
    default:
      return 1;
  }
}

/// Calls `f` on what a point computes. Index arithmetic is not the point's: it is done once a row,
/// or folded into addresses.
template <class F>
void each_of_point(const ir::Expr& e, const F& f) {
  f(e);
  if (e->op == ir::Op::kLoad) {
    if (e->guarded) each_of_point(e->args.back(), f);
    return;
  }
  for (const ir::Expr& a : e->args) each_of_point(a, f);
}

/// The affine part of a sum, as far as its terms are affine. The others go to `rest`.
Affine affine_part(const ir::Expr& e, int64_t factor, std::vector<ir::Expr>& rest) {
  Affine out;
  if (const auto whole = affine_of(e)) {
    add(out, *whole, factor);
  } else if (e->op == ir::Op::kAdd || e->op == ir::Op::kSub) {
    add(out, affine_part(e->args[0], factor, rest), 1);
    add(out, affine_part(e->args[1], e->op == ir::Op::kAdd ? factor : -factor, rest), 1);
  } else if (e->op == ir::Op::kCast) {
    return affine_part(e->args[0], factor, rest);
  } else {
    rest.push_back(e);
  }
  return out;
}

/// Bits that trade places of elements in vectors of any length.
/// Fixed by: lanes of 64 bits in a vector of 512.
constexpr int64_t kNearBits = 8;

/// Adds the variables whose steps leave `e` near. Those of a quotient, and of what is clamped, move
/// it by two at most; a constant may change the last bits. False where something else is in
/// it.
bool find_slow(const ir::Expr& e, std::set<std::string>& out) {
  const auto plain = affine_of(e);
  const auto add_terms = [&](const Affine& from, int64_t by) {
    for (const auto& [name, coefficient] : from.terms) {
      if (std::abs(coefficient) <= by) out.insert(name);
    }
    return true;
  };
  if (plain) return add_terms(*plain, 1);
  int64_t by = 0;
  switch (e->op) {
    case ir::Op::kCast:
      return find_slow(e->args[0], out);
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kAdd:
    case ir::Op::kSub:
      return find_slow(e->args[0], out) && find_slow(e->args[1], out);
    case ir::Op::kDiv: {
      const auto dividend = affine_of(e->args[0]);
      // Halves of a vector are whole ones where it goes twice as far.
      return dividend && ir::is_const(e->args[1], &by) && by > 0 && by <= kMostCount / 2 &&
             add_terms(*dividend, by > 1 ? 2 * by : by);
    }
    case ir::Op::kMod: {
      const auto dividend = affine_of(e->args[0]);
      const bool near = ir::is_const(e->args[1], &by) && by > 0 && by < kNearBits;
      return dividend && near && add_terms(*dividend, kMostCount);
    }
    case ir::Op::kBitAnd:
    case ir::Op::kBitOr:
    case ir::Op::kBitXor: {
      const auto plain = affine_of(e->args[0]);
      const bool near = ir::is_const(e->args[1], &by) && by >= 0 && by < kNearBits;
      return plain && near && add_terms(*plain, 1);
    }
    default:
      return false;
  }
}

/// The variables whose steps leave an index near. One that is in two terms may move it further.
std::set<std::string> slow_in(const ir::Expr& index) {
  std::set<std::string> found, out;
  if (!find_slow(index, found)) return out;
  for (const std::string& name : found) {
    int times = 0;
    ir::visit(index, [&](const ir::Expr& n) { times += n->op == ir::Op::kVar && n->name == name; });
    if (times == 1) out.insert(name);
  }
  return out;
}

Access access_of(const ir::Program& p, const ir::Buffer& b, const ir::Stage& s,
                 const std::vector<ir::Expr>& indices) {
  Access out;
  out.buffer = b.name;
  out.indices = indices;
  out.element_bytes = static_cast<int>(size_of(b.type));
  const std::vector<int64_t> strides = dim_strides(p, b);
  for (size_t d = 0; d < indices.size() && d < strides.size(); ++d) {
    std::vector<ir::Expr> rest;
    const Affine affine = affine_part(indices[d], 1, rest);
    for (const auto& [name, coefficient] : affine.terms) {
      out.strides[name] += coefficient * strides[d];
    }
    out.gathers |= !rest.empty();
    for (const ir::Expr& e : rest) {
      ir::visit(e, [&](const ir::Expr& n) {
        if (n->op == ir::Op::kVar && s.var(n->name)) out.chosen.insert(n->name);
      });
    }
  }
  for (size_t d = 0; d < indices.size() && d < strides.size(); ++d) {
    if (strides[d] != 1) continue;
    for (const std::string& var : slow_in(indices[d])) {
      const auto with = std::count_if(indices.begin(), indices.end(),
                                      [&](const ir::Expr& e) { return ir::mentions_var(e, var); });
      if (with == 1 && out.chosen.contains(var)) out.slow.insert(var);
    }
  }
  for (const std::string& var : out.chosen) out.strides[var] = kUnknownStride;
  std::erase_if(out.strides, [](const auto& item) { return item.second == 0; });
  return out;
}

bool same_access(const Access& a, const Access& b) {
  if (a.buffer != b.buffer || a.indices.size() != b.indices.size()) return false;
  for (size_t i = 0; i < a.indices.size(); ++i) {
    if (!equal(a.indices[i], b.indices[i])) return false;
  }
  return true;
}

void add_load(const ir::Program& p, const ir::Stage& s, const ir::Expr& load,
              std::vector<Access>& loads) {
  std::vector<ir::Expr> indices = load->args;
  if (load->guarded) indices.pop_back();
  for (const ir::Expr& index : indices) {
    ir::visit(index, [&](const ir::Expr& n) {
      if (n->op == ir::Op::kLoad) add_load(p, s, n, loads);
    });
  }
  Access a = access_of(p, *p.buffer(load->name), s, indices);
  a.guarded = load->guarded;
  for (const Access& other : loads) {
    if (same_access(a, other)) return;
  }
  loads.push_back(std::move(a));
}

/// Of loads whose elements lie a few apart along a variable: whether what lies between is read,
/// too.
void find_structures(const ir::Stage& s, StageFacts& facts) {
  constexpr int64_t kFew = 16;  // Chosen: no structure of more is shuffled (not measured).
  for (Access& a : facts.loads) {
    for (const auto& [var, stride] : a.strides) {
      if (stride < 2 || stride > kFew || a.chosen.contains(var)) continue;
      for (const ir::IndexVar& r : s.rvars) {
        const int64_t trips = facts.extent(r.name);
        const bool few = !r.lo && ir::is_const(r.hi) && trips > 1 && trips <= stride;
        if (few && a.stride(r.name) == 1) a.structures.emplace(var, r.name);
      }
      const bool listed = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& b) {
        return &a != &b && a.buffer == b.buffer && !b.gathers && a.strides == b.strides;
      });
      if (listed) a.structures.emplace(var, "");
    }
  }
}

}  // namespace

std::optional<Affine> affine_of(const ir::Expr& e) {
  Affine out;
  switch (e->op) {
    case ir::Op::kInt:
      out.constant = e->i;
      return out;
    case ir::Op::kVar:
      out.terms[e->name] = 1;
      return out;
    case ir::Op::kDim:
      out.open = true;
      return out;
    case ir::Op::kCast:
      return affine_of(e->args[0]);
    case ir::Op::kNeg: {
      auto a = affine_of(e->args[0]);
      if (!a) return {};
      add(out, *a, -1);
      return out;
    }
    case ir::Op::kAdd:
    case ir::Op::kSub:
    case ir::Op::kMul: {
      auto a = affine_of(e->args[0]), b = affine_of(e->args[1]);
      if (!a || !b) return {};
      if (e->op == ir::Op::kMul) return product(*a, *b);
      add(out, *a, 1);
      add(out, *b, e->op == ir::Op::kAdd ? 1 : -1);
      return out;
    }
    case ir::Op::kDiv: {  // exact, where each term can be divided
      auto a = affine_of(e->args[0]);
      if (!a || e->args[1]->op != ir::Op::kInt || e->args[1]->i <= 0) return {};
      const int64_t by = e->args[1]->i;
      for (auto& [name, coefficient] : a->terms) {
        if (coefficient % by != 0) return {};
        coefficient /= by;
      }
      a->constant = ir::floor_div_of(a->constant, by);
      return a;
    }
    default:
      return {};
  }
}

bool is_clamped(const ir::Expr& e) {
  if (affine_of(e)) return true;
  switch (e->op) {
    case ir::Op::kCast:
    case ir::Op::kNeg:
    case ir::Op::kMin:
    case ir::Op::kMax:
    case ir::Op::kAdd:
    case ir::Op::kSub:
      return std::all_of(e->args.begin(), e->args.end(), is_clamped);
    default:
      return false;
  }
}

std::string plain_var(const ir::Expr& e) { return e->op == ir::Op::kVar ? e->name : ""; }

int64_t at_most(const ir::Program& program, const ir::Expr& e) {
  if (!e) return 0;
  ir::Facts facts;
  for (const ir::Dim& d : program.dims) facts.define_dim(d.name, d.lo, d.hi);
  const auto most = facts.upper(ir::Poly::of(e, &facts));
  return most ? *most : typical(program, e);
}

int64_t typical(const ir::Program& program, const ir::Expr& e) {
  if (!e) return 0;
  if (e->op == ir::Op::kInt) return e->i;
  if (e->op == ir::Op::kDim) {
    for (const ir::Dim& d : program.dims) {
      if (d.name == e->name) return d.at.empty() ? d.hi : d.at.back();
    }
    return kUnknownStride;
  }
  constexpr int64_t kDataDependent = 64;  // Fixed by: nothing known; a moderate size.
  if (e->args.size() != 2) return kDataDependent;
  if (ir::mentions_load(e)) return kDataDependent;
  const int64_t a = typical(program, e->args[0]), b = typical(program, e->args[1]);
  switch (e->op) {
    case ir::Op::kAdd:
      return a + b;
    case ir::Op::kSub:
      return a - b;
    case ir::Op::kMul:
      return a * b;
    case ir::Op::kDiv:
      return b == 0 ? 0 : a / b;
    case ir::Op::kMin:
      return std::min(a, b);
    case ir::Op::kMax:
      return std::max(a, b);
    default:
      return kDataDependent;
  }
}

bool chosen_by_data(const Access& a) {
  return std::any_of(a.indices.begin(), a.indices.end(), ir::mentions_load);
}

int64_t Access::stride(const std::string& var) const {
  const auto it = strides.find(var);
  return it == strides.end() ? 0 : it->second;
}

int64_t StageFacts::extent(const std::string& var) const {
  const auto it = extents.find(var);
  return it == extents.end() ? 1 : it->second;
}

/// A stride that only the call knows.
static bool is_open(const ir::Program& program, const ir::Expr& stride) {
  return stride->op == ir::Op::kDim &&
         std::none_of(program.dims.begin(), program.dims.end(),
                      [&](const ir::Dim& d) { return d.name == stride->name && !d.at.empty(); });
}

std::vector<int64_t> dim_strides(const ir::Program& program, const ir::Buffer& b) {
  std::vector<ir::Axis> axes = b.axes;
  for (size_t d = 0; b.axes.empty() && d < b.shape.size(); ++d) {
    axes.push_back({static_cast<int>(d), 1, 0});
  }
  std::vector<int64_t> out(b.shape.size(), kUnknownStride);
  int64_t dense = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(axes[i].dim);
    int64_t stride = dense;
    if (!b.strides.empty()) {
      stride = is_open(program, b.strides[i]) ? std::max(dense, kLeastUnknown) + kGap
                                              : typical(program, b.strides[i]);
    }
    // Of a dim that lies on several axes, neighbours differ on the innermost.
    if (axes[i].div == 1) out[dim] = stride;
    const int64_t extent = (typical(program, b.shape[dim]) + axes[i].div - 1) / axes[i].div;
    dense = saturating_product(
        dense, axes[i].mod ? std::min(axes[i].mod, extent) : std::max<int64_t>(extent, 1));
  }
  return out;
}

int64_t bytes_of(const ir::Program& program, const ir::Buffer& buffer) {
  int64_t n = size_of(buffer.type);
  for (const ir::Expr& e : buffer.shape) {
    n = saturating_product(n, std::max<int64_t>(typical(program, e), 1));
  }
  return n;
}

StageFacts facts_of(const ir::Program& p, const ir::Stage& s, bool device) {
  StageFacts out;
  // A range that depends on a variable is as long as in the middle of that one's.
  const auto middle = [&](const ir::Expr& e) {
    if (e->op != ir::Op::kVar || !out.extents.contains(e->name)) return ir::Expr();
    return ir::make_int(out.extents[e->name] / 2);
  };
  for (const auto* list : {&s.vars, &s.rvars}) {
    for (const ir::IndexVar& v : *list) {
      const ir::Expr extent = ir::rewrite(v.lo ? v.hi - v.lo : v.hi, middle);
      // Of an index that terms tell each has one.
      out.extents[v.name] = ir::runs_scattered(s, v.name) ? 1 : typical(p, extent);
    }
  }
  for (const ir::IndexVar& v : s.rvars) {
    for (const ir::Expr& bound : {v.lo, v.hi}) {
      ir::visit(bound, [&](const ir::Expr& n) {
        if (n->op == ir::Op::kVar) out.bounds.insert(n->name);
      });
    }
  }
  out.operations = s.reduce == ir::Reduce::kNone ? 0 : 1;
  each_of_point(s.value, [&](const ir::Expr& n) {
    out.operations += cost_of(n, device);
    out.calls |= n->op == ir::Op::kCall;
    if (n->op == ir::Op::kLoad) add_load(p, s, n, out.loads);
  });
  find_structures(s, out);
  std::vector<ir::Expr> indices = s.out_index;
  out.store = access_of(p, *p.buffer(s.output), s, indices);
  return out;
}

int operations_of_point(ir::Reduce reduce, const ir::Expr& value) {
  int out = reduce == ir::Reduce::kNone ? 0 : 1;
  each_of_point(value, [&](const ir::Expr& n) { out += cost_of(n, false); });
  return out;
}

std::vector<ir::Expr> loads_of(const ir::Stage& stage, std::string_view buffer) {
  std::vector<ir::Expr> out;
  ir::visit(stage.value, [&](const ir::Expr& n) {
    if (n->op == ir::Op::kLoad && n->name == buffer) out.push_back(n);
  });
  return out;
}

/// Whether constants alone decide a stage at the root; `seen` are the stages that are looked at.
static bool is_bound(const ir::Program& program, const ir::Stage& stage,
                     std::set<std::string>& seen) {
  // Stages that a result is made of; one that is made of more is left to the call.
  // Fixed by: time, since rules ask this of each stage beside all others.
  constexpr size_t kMostSeen = 64;
  if (!seen.insert(stage.name).second) return true;
  bool reads = false, bound = stage.at.root() && seen.size() <= kMostSeen;
  const auto look = [&](const ir::Expr& e) {
    if (!e || !bound) return;
    ir::visit(e, [&](const ir::Expr& x) {
      bound &= x->op != ir::Op::kDim && x->op != ir::Op::kScalar;
      if (x->op != ir::Op::kLoad || !bound) return;
      reads = true;
      const ir::Buffer& b = *program.buffer(x->name);
      const ir::Stage* made = b.role == ir::Role::kTemp ? program.producer(x->name) : nullptr;
      bound = made ? is_bound(program, *made, seen) : b.constant;
    });
  };
  look(stage.value);
  look(stage.where);
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *vars) {
      look(v.lo);
      look(v.hi);
    }
  }
  return reads && bound;
}

bool made_at_bind(const ir::Program& program, const ir::Stage& stage) {
  const bool any = std::any_of(program.buffers.begin(), program.buffers.end(),
                               [](const ir::Buffer& b) { return b.constant; });
  std::set<std::string> seen;
  return any && is_bound(program, stage, seen);
}

bool is_bound(const ir::Program& program, const ir::Buffer& buffer) {
  if (buffer.constant) return true;
  const ir::Stage* made = buffer.role == ir::Role::kTemp ? program.producer(buffer.name) : nullptr;
  return made && made_at_bind(program, *made);
}

std::vector<size_t> readers_of(const ir::Program& program, std::string_view buffer) {
  std::vector<size_t> out;
  for (size_t i = 0; i < program.stages.size(); ++i) {
    if (reads(program.stages[i], buffer)) out.push_back(i);
  }
  return out;
}

}  // namespace hone::schedules
