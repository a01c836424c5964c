// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/recurrence.h"
#include "jit/passes/lower/lowering.h"
#include "jit/passes/reject.h"

// What stands in a tensor before the first value is computed. It is the identity of a reduction, or
// what is before the first element along a carried dim.

namespace hone::jit {

using namespace ir;

namespace {

/// Whether a window, along all dims but the carried one, depends on the loop whose variable that
/// is.
bool moves_aside(const std::vector<Span>& window, size_t carried, const Poly& value) {
  if (value.is_constant()) return false;
  const int loop = value.terms()[0].factors[0]->id;
  for (size_t d = 0; d < window.size(); ++d) {
    if (d == carried) continue;
    if (window[d].lo.mentions_loop(loop) || window[d].extent.mentions_loop(loop)) return true;
  }
  return false;
}

}  // namespace

/// Initialises the window over the loops from `depth` on that are not reduced, in their order. The
/// loops of a scatter are made for terms. Where none is a vector, the one that runs along memory
/// becomes the innermost one, and a vector.
void Lowering::initialise(Instance& in, size_t depth, Block& out) {
  const Stage& s = in.stage();
  std::vector<size_t> depths;
  bool scattered = false, vectors = target_.is_cuda();
  for (; depth < in.loops->order.size(); ++depth) {
    const LoopNode& node = in.loops->nodes[static_cast<size_t>(in.loops->order[depth])];
    if (node.reduction && s.reduce != Reduce::kNone) continue;
    depths.push_back(depth);
    scattered |= s.loops[depth].mark == Mark::kScatter;
    vectors |= s.loops[depth].mark == Mark::kVector;
  }
  auto lanes = depths.end();
  if (scattered && !vectors) {
    lanes = std::find_if(depths.begin(), depths.end(), [&](size_t d) {
      const Mark mark = s.loops[d].mark;
      const bool turns = mark == Mark::kSerial || mark == Mark::kUnroll || mark == Mark::kScatter;
      return turns && along_memory(s, s.loops[d].name);
    });
  }
  const bool along = lanes != depths.end();
  if (along) std::rotate(lanes, lanes + 1, depths.end());
  fill(in, depths, 0, along, out);
}

/// Whether elements of the stage's result lie one after the other along the loop.
bool Lowering::along_memory(const Stage& s, const std::string& loop) {
  const Storage& to = kept_storage(s.output);
  for (size_t axis = 0; axis < to.axes.size(); ++axis) {
    const Axis& a = to.axes[axis];
    if (to.strides[axis] != Poly(1) || a != Axis{a.dim}) continue;
    const auto dim = static_cast<size_t>(a.dim);
    if (dim >= s.out_index.size()) return s.factored[dim - s.out_index.size()] == loop;
    return s.out_index[dim]->op == Op::kVar && s.out_index[dim]->name == loop;
  }
  return false;
}

void Lowering::fill(Instance& in, const std::vector<size_t>& depths, size_t next, bool vectors,
                    Block& out) {
  if (next == depths.size()) {
    leaf(in, true, out);
    return;
  }
  Loop l = in.stage().loops[depths[next]];
  if (vectors && next + 1 == depths.size()) l.mark = Mark::kVector;
  walk_loop(in, depths[next], l, true, out,
            [&](Block& inside) { fill(in, depths, next + 1, vectors, inside); });
}

/// Stores what stands before the first element along a carried dim.
void Lowering::before_first(size_t stage, std::vector<Span> window, Block& out) {
  const auto carried = carried_state(program_, program_.stages[stage]);
  window[carried->dim] = {0, 1};
  Instance first(context_.loops[stage], std::move(window));
  initialise(first, 0, out);
}

/// Where the loop begins whose variable, or only value, that is.
std::optional<Poly> Lowering::begin_of(const Poly& value) const {
  if (value.is_constant()) return value;
  const auto found = begins_.find(value.terms()[0].factors[0]->id);
  return found == begins_.end() ? std::nullopt : std::optional(found->second);
}

/// Before the next element along a carried dim is computed: what was the youngest is the one before
/// it. Elements come one by one, from the first on, in the iterations of the loop or of its pieces.
void Lowering::keep_earlier(Instance& in, const std::string& loop_name, size_t stage,
                            const std::vector<Span>& window, Block& out) {
  const Stage& s = program_.stages[stage];
  const CarriedState carried = *carried_state(program_, s);
  if (s.store.root()) {
    if (carried.kept == 1) return;
    reject("stage " + s.name + " is read at the element before the one that it computes; compute " +
           "it at a loop of its readers, and keep it at a loop around that");
  }
  // Iterations of the loops inside the one where it is kept come one after the other.
  const auto& order = in.loops->order;
  const bool around = s.store.stage == in.stage().name;
  size_t from = 0;
  while (around && in.stage().loops[from++].name != s.store.loop) {
  }
  bool once = around || in.stage().at == s.store, follows = false;
  for (size_t i = from; i < order.size() && once; ++i) {
    const Loop& l = in.stage().loops[i];
    const auto& value = in.value[static_cast<size_t>(order[i])];
    if (l.name == loop_name) {
      const auto begin = begin_of(*value), youngest = kept_storage(s.output).youngest;
      const bool goes_on =
          begin && (*begin == Poly() || (youngest && *begin == *youngest + Poly(1)));
      follows = window[carried.dim].lo == *value && window[carried.dim].extent == Poly(1) &&
                l.mark == Mark::kSerial && goes_on;
      // Each iteration needs what the one before made.
      if (moves_aside(window, carried.dim, *value)) {
        reject("stage " + s.name + " goes on along " + carried.var + " in loop " + loop_name +
               ", whose iterations take other elements along another dim");
      }
      break;
    }
    once = value && value->is_constant();
  }
  if (!follows) {
    reject("stage " + s.name + " goes on from one element of " + carried.var + " to the next; " +
           "compute it at a serial loop over all of them from the first on, " +
           "the outermost of its stage, and keep it where that is computed or at the loop around");
  }
  kept_storage(s.output).youngest = window[carried.dim].lo;
  if (carried.kept == 1) return;
  Instance earlier(context_.loops[stage], window);
  earlier.keeps_earlier = true;
  initialise(earlier, 0, out);
}

Storage& Lowering::kept_storage(const std::string& buffer) {
  for (size_t i = context_.storage.size(); i-- > 0;) {
    if (context_.storage[i].first == buffer) return context_.storage[i].second;
  }
  reject("no memory for " + buffer);
}

/// After a loop, what its last iteration computed is the youngest.
void Lowering::after_loop(int loop, const Poly& end) {
  for (auto& [name, storage] : context_.storage) {
    if (!storage.youngest || !storage.youngest->mentions_loop(loop)) continue;
    const bool itself =
        *storage.youngest == Poly::atom(make_var(nest_.loops[static_cast<size_t>(loop)], loop));
    storage.youngest = itself ? std::optional(end - Poly(1)) : std::nullopt;
  }
}

}  // namespace hone::jit
