// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/shape.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <set>

#include "jit/ir/short_value.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

int64_t loop_extent(const Plan& plan, const ir::Stage& s, const std::string& loop) {
  return typical(plan.program(), extent_of(s, loop));
}

/// True when some stage is computed in the loop over `var`.
bool hosts_a_stage(const Plan& plan, const std::string& name, const std::string& var) {
  for (const ir::Stage& other : plan.program().stages) {
    if (other.at.stage == name && other.at.loop == plan.loop_of(name, var)) return true;
  }
  return false;
}

}  // namespace

std::string nearest_var(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const int64_t line = plan.machine().line_bytes;
  const auto bytes = [&](const Access& a, const std::string& var) {
    const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
    return std::min(saturating_product(std::abs(a.stride(var)), size), line);
  };
  std::string best;
  int64_t least = 0;
  for (const ir::IndexVar& v : s.vars) {
    if (facts.extent(v.name) <= 1 || hosts_a_stage(plan, name, v.name)) continue;
    int64_t moved = 2 * bytes(facts.store, v.name);  // what is written is read first
    for (const Access& a : facts.loads) moved += bytes(a, v.name);
    if (!best.empty() && moved >= least) continue;
    best = v.name;
    least = moved;
  }
  return best;
}

std::string contiguous_var(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  std::string best;
  int64_t best_extent = 0;
  const auto hosts = [&](const std::string& var) { return hosts_a_stage(plan, name, var); };
  const auto look = [&](const Access& a) {
    for (size_t i = s.vars.size(); i-- > 0;) {
      const std::string& var = s.vars[i].name;
      const int64_t extent = std::max<int64_t>(facts.extent(var), 1);
      if (a.stride(var) != 1 || extent <= best_extent || hosts(var)) continue;
      best = var;
      best_extent = extent;
    }
  };
  look(facts.store);
  for (const Access& a : facts.loads) {
    if (best.empty() || best_extent <= 1) look(a);
  }
  return best;
}

/// True of integers made of indices and dims alone.
static bool is_index_arithmetic(const ir::Expr& e) {
  if (e->op == ir::Op::kVar || e->op == ir::Op::kDim) return true;
  if (e->op == ir::Op::kInt) return true;
  return e->op != ir::Op::kLoad && !e->args.empty() && !is_float(e->type) &&
         std::all_of(e->args.begin(), e->args.end(), is_index_arithmetic);
}

DType widest_type(const ir::Program& program, const ir::Stage& stage) {
  DType widest = program.buffer(stage.output)->type;
  const auto see = [&](DType t) {
    if (size_of(t) > size_of(widest)) widest = t;
  };
  if (stage.reduce != ir::Reduce::kNone) see(stage.accumulate);
  // Indices are reckoned in i64 whatever the data are: only what is computed on counts.
  const auto walk = [&](const auto& self, const ir::Expr& e) -> void {
    if (is_index_arithmetic(e)) return;
    see(e->type);
    if (e->op == ir::Op::kLoad) return;
    for (const ir::Expr& a : e->args) self(self, a);
  };
  // Back ends compute in 16 bits or fewer what those decide.
  const ir::Expr computed = ir::short_value(stage.value, [](const ir::Expr&) { return true; });
  walk(walk, computed ? computed : stage.value);
  return widest;
}

bool order_loops(Plan& plan, const std::string& name, const std::vector<std::string>& inner) {
  std::vector<std::string> order;
  const ir::Stage s = plan.stage(name);
  for (const ir::Loop& l : s.loops) {
    if (std::find(inner.begin(), inner.end(), l.name) == inner.end()) order.push_back(l.name);
  }
  order.insert(order.end(), inner.begin(), inner.end());
  bool same = order.size() == s.loops.size();
  for (size_t i = 0; i < order.size(); ++i) same = same && s.loops[i].name == order[i];
  return same || plan.add(step::reorder(loops_of(name, order)));
}

namespace {

/// Tensors of a stage that no near cache holds, and the bytes of a step along each loop.
struct FarTensor {
  int64_t element = 0;  ///< bytes
  std::map<std::string, int64_t> steps;
};

std::vector<FarTensor> far_tensors(const Plan& plan, const std::string& name) {
  std::vector<FarTensor> out;
  for (const Access& a : plan.facts(name).loads) {
    const ir::Buffer& b = *plan.program().buffer(a.buffer);
    if (bytes_of(plan.program(), b) <= plan.machine().l1d) continue;
    FarTensor t{size_of(b.type), {}};
    for (const auto& [var, stride] : a.strides) {
      t.steps[var] = saturating_product(std::abs(stride), t.element);
    }
    out.push_back(std::move(t));
  }
  return out;
}

/// The least step of a loop in a tensor that it moves along; 0 within a line.
int64_t least_step(const Plan& plan, const std::vector<FarTensor>& tensors,
                   const std::string& loop) {
  int64_t least = 0;
  for (const FarTensor& t : tensors) {
    const auto step = t.steps.find(loop);
    if (step == t.steps.end() || step->second == 0) continue;
    least = least == 0 ? step->second : std::min(least, step->second);
  }
  return least < plan.machine().line_bytes ? 0 : least;
}

/// Bytes of the lines that these steps along variables read.
int64_t bytes_of_steps(const Plan& plan, const std::vector<FarTensor>& tensors,
                       const std::map<std::string, int64_t>& steps) {
  int64_t bytes = 0;
  for (const FarTensor& t : tensors) {
    int64_t elements = 1, each = plan.machine().line_bytes;
    for (const auto& [var, count] : steps) {
      const auto step = t.steps.find(var);
      if (step == t.steps.end() || step->second == 0) continue;
      elements = saturating_product(elements, count);
      each = std::min(each, std::max(step->second, t.element));
    }
    bytes += saturating_product(elements, each);
  }
  return bytes;
}

}  // namespace

std::vector<std::string> reduction_by_memory(const Plan& plan, const std::string& name,
                                             std::map<std::string, int64_t> together) {
  const ir::Stage& s = plan.stage(name);
  const std::vector<FarTensor> tensors = far_tensors(plan, name);
  std::vector<std::string> loops;
  std::map<std::string, int64_t> steps;
  bool free = true;
  for (const ir::Loop& l : s.loops) {
    if (!is_reduction(s, l.name)) continue;
    loops.push_back(l.name);
    const ir::IndexVar* var = s.var(l.name);
    free = free && var && !var->lo && (ir::is_const(var->hi) || var->hi->op == ir::Op::kDim);
    steps[l.name] = least_step(plan, tensors, l.name);
  }
  // Lines that a loop reads parts of are still near at its next iteration.
  const StageFacts& facts = plan.facts(name);
  bool kept = true;
  for (size_t i = loops.size(); i-- > 0 && free && kept;) {
    kept =
        steps.at(loops[i]) > 0 || bytes_of_steps(plan, tensors, together) <= plan.machine().l2 / 2;
    together[loops[i]] = facts.extent(loops[i]);
  }
  if (kept || !free) return loops;
  std::stable_sort(loops.begin(), loops.end(), [&](const std::string& a, const std::string& b) {
    return std::bit_width(static_cast<uint64_t>(steps.at(a))) >
           std::bit_width(static_cast<uint64_t>(steps.at(b)));
  });
  return loops;
}

bool reduce_by_memory(Plan& plan, const std::string& name,
                      const std::map<std::string, int64_t>& together) {
  const ir::Stage s = plan.stage(name);
  const std::vector<std::string> wanted = reduction_by_memory(plan, name, together);
  std::vector<std::string> now;
  for (const ir::Loop& l : s.loops) {
    if (is_reduction(s, l.name)) now.push_back(l.name);
  }
  return now == wanted || order_loops(plan, name, wanted);
}

bool move_innermost(Plan& plan, const std::string& name, const std::string& loop) {
  return order_loops(plan, name, {loop});
}

double idle_lanes(int64_t extent, int64_t lanes) {
  const int64_t filled = (extent + lanes - 1) / lanes * lanes;
  return static_cast<double>(filled) / static_cast<double>(std::max<int64_t>(extent, 1)) - 1;
}

bool hosts_stages(const Plan& plan, const std::string& name) {
  const auto& stages = plan.program().stages;
  return std::any_of(stages.begin(), stages.end(),
                     [&](const ir::Stage& other) { return other.at.stage == name; });
}

bool best_at_bind(const Plan& plan, const ir::Stage& stage) {
  const ir::Program& program = plan.program();
  if (!made_at_bind(program, stage)) return false;
  // Reading a result is less than to compute it again where that takes more than a few operations.
  // Chosen: as many as reads of the same bytes come to, at bind's few results (not measured).
  constexpr int kManyOperations = 8;
  constexpr int64_t kTimes = 2;
  int64_t read = 0;
  std::set<std::string> seen;
  const StageFacts& facts = plan.facts(stage.name);
  for (const Access& a : facts.loads) {
    if (seen.insert(a.buffer).second) read += bytes_of(program, *program.buffer(a.buffer));
  }
  if (facts.operations >= kManyOperations) read *= kTimes;
  return bytes_of(program, *program.buffer(stage.output)) <= read + plan.machine().l2;
}

bool order_by_memory(Plan& plan, const std::string& name, const std::vector<std::string>& inner) {
  const ir::Stage s = plan.stage(name);
  std::vector<std::string> order;
  bool free = s.at.root() && plan.facts(name).bounds.empty() && !hosts_stages(plan, name);
  for (const ir::Loop& l : s.loops) {
    if (std::find(inner.begin(), inner.end(), l.name) != inner.end()) continue;
    free &= s.var(l.name) != nullptr;
    order.push_back(l.name);
  }
  if (free) {
    const Access store = plan.facts(name).store;
    std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
      return std::abs(store.stride(a)) > std::abs(store.stride(b));
    });
  }
  order.insert(order.end(), inner.begin(), inner.end());
  return order_loops(plan, name, order);
}

void spread(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root() || s.loops.size() < 2) return;
  if (hosts_stages(plan, name)) return;  // its producers depend on the loops around them
  const int64_t wanted = 2 * static_cast<int64_t>(plan.machine().threads);
  if (loop_extent(plan, s, s.loops[0].name) >= wanted) return;
  std::string longest;
  int64_t most = loop_extent(plan, s, s.loops[0].name);
  for (const ir::Loop& l : s.loops) {
    const bool free = l.mark == ir::Mark::kSerial && !is_reduction(s, l.name);
    if (!free || loop_extent(plan, s, l.name) <= most) continue;
    longest = l.name;
    most = loop_extent(plan, s, l.name);
  }
  if (longest.empty()) return;
  std::vector<std::string> rest;
  for (const ir::Loop& l : s.loops) {
    if (l.name != longest) rest.push_back(l.name);
  }
  order_loops(plan, name, rest);
}

std::string knob_name(const std::string& base, const std::string& stage) {
  std::string out = base + "_";
  for (char c : stage) out += c == '.' ? '_' : c;
  return out;
}

bool runs_on(const Access& a, const std::string& outer, const std::string& inner, int64_t extent) {
  return !a.gathers && a.stride(outer) == extent * a.stride(inner);
}

}  // namespace hone::schedules
