// SPDX-License-Identifier: Apache-2.0
#include "schedules/legal.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "jit/passes/joins.h"
#include "schedules/covers.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// What is wrong with the loop, or with the placement of the stage where `loop` is empty.
ir::Reject illegal(const ir::Stage& stage, const std::string& loop, std::string why) {
  ir::Reject reject(std::move(why));
  reject.stage = stage.name;
  reject.loop = loop;
  return reject;
}

/// The loops of others in which a stage is computed, the outermost first.
std::vector<ir::Place> path_to(const ir::Program& p, const ir::Stage& s) {
  std::vector<ir::Place> out;
  for (ir::Place at = s.at; !at.root(); at = p.stage(at.stage)->at) out.insert(out.begin(), at);
  return out;
}

/// True where `made` is computed before `reader` runs. In one loop the stages placed there come in
/// the program's order, then the loops inside, and a stage's own value last.
bool comes_first(const ir::Program& p, const ir::Stage& made, const ir::Stage& reader) {
  const std::vector<ir::Place> to_made = path_to(p, made), to_reader = path_to(p, reader);
  const auto owner = [](const std::vector<ir::Place>& path, size_t depth, const ir::Stage& last) {
    return depth < path.size() ? path[depth].stage : last.name;
  };
  const auto rank = [&](const std::string& name) {
    const auto named = [&](const ir::Stage& s) { return s.name == name; };
    return std::distance(p.stages.begin(), std::find_if(p.stages.begin(), p.stages.end(), named));
  };
  for (size_t depth = 0;; ++depth) {
    const std::string a = owner(to_made, depth, made), b = owner(to_reader, depth, reader);
    if (a != b) return rank(a) < rank(b);
    if (depth == to_made.size() || depth == to_reader.size()) return true;
    const size_t loop_a = position_of(*p.stage(a), to_made[depth].loop);
    const size_t loop_b = position_of(*p.stage(b), to_reader[depth].loop);
    if (loop_a != loop_b) return loop_a < loop_b;
  }
}

/// The place of a stage and those around it are there.
std::optional<ir::Reject> missing_place(const ir::Program& p, const ir::Stage& s) {
  size_t depth = 0;
  for (ir::Place at = s.at; !at.root(); ++depth) {
    const ir::Stage* owner = p.stage(at.stage);
    if (!owner) return illegal(s, "", "there is no stage " + at.stage + " to compute it at");
    if (depth > p.stages.size()) return illegal(s, "", "it is computed inside itself");
    at = owner->at;
  }
  return {};
}

std::optional<ir::Reject> placement(const ir::Program& p, const ir::Stage& s) {
  if (s.at.root()) return {};
  const bool outlives = jit::kept_at_root(p, s);
  const ir::Place keep = s.store.root() ? s.at : s.store;
  if (!is_inside(p, s.at, keep)) {
    return illegal(s, "",
                   "loop " + keep.stage + "/" + keep.loop + " does not enclose " + s.at.stage +
                       "/" + s.at.loop);
  }
  bool before = true;  // the stage whose loop computes s has not come yet
  for (const ir::Stage& reader : p.stages) {
    if (reader.name == s.at.stage) before = false;
    if (!reads(reader, s.output)) continue;
    if (!is_inside(p, reader.at, s.at) && (before || !comes_first(p, s, reader))) {
      return illegal(s, "",
                     "stage " + reader.name + " reads " + s.output + " before " + s.at.stage +
                         " computes it; compute it at a loop of " + reader.name);
    }
    if (outlives || reader.name == keep.stage) continue;
    if (is_inside(p, reader.at, keep)) continue;
    return illegal(s, "",
                   "stage " + reader.name + " reads " + s.output + " outside loop " + keep.stage +
                       "/" + keep.loop + "; compute " + reader.name +
                       " there as well, or choose a loop around both");
  }
  if (std::string why = gaps(p, s); !why.empty()) return illegal(s, "", std::move(why));
  return {};
}

/// A loop whose iterations are prefetched is around the one that asks.
std::optional<ir::Reject> prefetched(const ir::Program& p, const ir::Stage& s) {
  for (const ir::Prefetch& f : s.prefetches) {
    const ir::Place here{s.name, f.loop};
    if (f.outer.root() || (!(f.outer == here) && is_inside(p, here, f.outer))) continue;
    return illegal(s, f.loop,
                   f.tensor + " is prefetched there of loop " + f.outer.stage + "/" + f.outer.loop +
                       ", which is not around it");
  }
  return {};
}

std::optional<ir::Reject> parallel_mark(const ir::Stage& s, size_t at) {
  if (s.loops[at].mark != ir::Mark::kParallel) return {};
  const std::string& name = s.loops[at].name;
  if (!s.at.root()) {
    return illegal(s, name,
                   "stage " + s.name + " is computed inside another, so loop " + name +
                       " cannot be parallel; mark a loop around it");
  }
  if (at == 0) return {};
  return illegal(s, name,
                 "loop " + name + " is inside " + s.loops[0].name +
                     "; only the outermost loop can be parallel: reorder or fuse");
}

std::optional<ir::Reject> bound_mark(const ir::Stage& s, size_t at) {
  const ir::Loop& loop = s.loops[at];
  if (!is_block(loop.mark) && !is_thread(loop.mark)) return {};
  for (size_t i = 0; i < at; ++i) {
    if (s.loops[i].mark == loop.mark) {
      return illegal(s, loop.name,
                     "loops " + s.loops[i].name + " and " + loop.name + " are both bound to " +
                         std::string(name_of(loop.mark)) + "; take another axis for one");
    }
    // The same blocks run every iteration of the outermost loop: a persistent grid.
    const bool persistent =
        i == 0 && s.loops[0].mark == ir::Mark::kSerial && !is_reduction(s, s.loops[0].name);
    if (is_block(loop.mark) && !is_block(s.loops[i].mark) && !persistent) {
      return illegal(s, loop.name,
                     "loop " + loop.name + " is inside " + s.loops[i].name +
                         ", which is no block; reorder the loops of blocks outermost, one serial "
                         "loop around them at most");
    }
  }
  if (!is_block(loop.mark) || s.at.root()) return {};
  return illegal(s, loop.name,
                 "stage " + s.name + " is computed inside another, so loop " + loop.name +
                     " cannot be blocks; bind it to threads, or a loop around it");
}

std::optional<ir::Reject> vector_mark(const ir::Program& p, const ir::Stage& s, size_t at) {
  if (s.loops[at].mark != ir::Mark::kVector) return {};
  const std::string& name = s.loops[at].name;
  for (size_t i = 0; i < s.loops.size(); ++i) {
    if (i != at && s.loops[i].mark == ir::Mark::kVector) {
      return illegal(s, s.loops[i].name,
                     "loops " + name + " and " + s.loops[i].name + " of " + s.name +
                         " are both vector loops; keep one");
    }
    if (i > at && s.loops[i].mark != ir::Mark::kUnroll && s.loops[i].mark != ir::Mark::kTensor) {
      return illegal(s, name,
                     "loop " + s.loops[i].name + " is inside vector loop " + name +
                         "; unroll it, or reorder it outside");
    }
  }
  for (const ir::Stage& other : p.stages) {
    if (other.at.stage != s.name || position_of(s, other.at.loop) < at) continue;
    return illegal(s, name,
                   "stage " + other.name + " is computed inside vector loop " + name +
                       "; compute it at a loop outside, or inline it");
  }
  return {};
}

std::optional<ir::Reject> tensor_mark(const ir::Program& p, const ir::Stage& s, size_t at) {
  const ir::Loop& loop = s.loops[at];
  if (loop.mark != ir::Mark::kTensor) return {};
  const auto wrong = [&](std::string why) { return illegal(s, loop.name, std::move(why)); };
  const bool tiles = loop.instruction->lanes != 0;
  std::vector<std::string> together;
  for (const ir::Loop& l : s.loops) {
    if (l.mark == ir::Mark::kTensor) together.push_back(l.name);
  }
  std::string objection = tiles ? tile_objection(s, together, *loop.instruction)
                                : tensor_objection(s, loop.name, *loop.instruction);
  if (!objection.empty()) return wrong(std::move(objection));
  const bool last = at + 1 == s.loops.size();
  if (!last && !(tiles && s.loops[at + 1].instruction == loop.instruction)) {
    return wrong("loop " + s.loops[at + 1].name + " is inside tensor loop " + loop.name +
                 "; reorder " + loop.name + " innermost");
  }
  if (loop.partition) return wrong("tensor loop " + loop.name + " cannot be partitioned");
  for (const ir::Stage& other : p.stages) {
    const ir::Place here{s.name, loop.name};
    if (other.at == here || other.store == here) {
      return wrong("stage " + other.name + " is placed at tensor loop " + loop.name +
                   "; place it at a loop outside");
    }
  }
  for (const ir::Prefetch& f : s.prefetches) {
    if (f.loop == loop.name) {
      return wrong(f.tensor + " is prefetched at tensor loop " + loop.name +
                   "; prefetch at a loop outside");
    }
  }
  return {};
}

}  // namespace

std::optional<ir::Reject> find_illegal(const ir::Program& program) {
  for (const ir::Stage& s : program.stages) {
    if (auto wrong = missing_place(program, s)) return wrong;
  }
  for (const ir::Stage& s : program.stages) {
    if (auto wrong = placement(program, s)) return wrong;
    if (auto wrong = prefetched(program, s)) return wrong;
    for (size_t i = 0; i < s.loops.size(); ++i) {
      if (auto wrong = parallel_mark(s, i)) return wrong;
      if (auto wrong = bound_mark(s, i)) return wrong;
      if (auto wrong = vector_mark(program, s, i)) return wrong;
      if (auto wrong = tensor_mark(program, s, i)) return wrong;
    }
  }
  if (auto wrong = ir::broken_scatter(program)) return wrong;
  return ir::broken_order(program);
}

}  // namespace hone::schedules
