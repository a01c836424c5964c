// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

ir::Tail tail_named(std::string_view name) {
  for (ir::Tail t : {ir::Tail::kExact, ir::Tail::kPeel, ir::Tail::kOverlap, ir::Tail::kPad}) {
    if (name_of(t) == name) return t;
  }
  return ir::Tail::kMask;
}

/// Why `loop` may not have that tail; empty when it may.
std::string tail_objection(const ir::Stage& s, const std::string& loop, int64_t factor,
                           ir::Tail tail) {
  int64_t extent = 0;
  const bool known = ir::is_const(extent_of(s, loop), &extent);
  if (tail == ir::Tail::kExact && known && s.at.root() && extent % factor != 0) {
    return std::to_string(factor) + " does not divide " + std::to_string(extent) +
           " and tail=exact; use tail=mask or tail=peel";
  }
  if (tail != ir::Tail::kOverlap) return {};
  if (is_reduction(s, loop)) {
    return "tail=overlap would reduce the elements of the overlap twice; use tail=mask or "
           "tail=peel";
  }
  if (reads(s, s.output)) {
    return "tail=overlap would store the overlap twice, and " + s.name +
           " reads what it stores; use tail=mask or tail=peel";
  }
  if (known && s.at.root() && extent < factor) {
    return "tail=overlap needs at least " + std::to_string(factor) + " iterations, " + loop +
           " has " + std::to_string(extent) + "; use tail=mask or tail=peel";
  }
  return {};
}

Applied apply_split(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const ir::Loop parent = s.loops[at->loop];
  const int64_t factor = step.number("factor");
  const std::string &outer = step.name("outer"), &inner = step.name("inner");
  if (factor < 1) return ir::Reject{"the factor is " + std::to_string(factor) + "; give 1 or more"};
  if (parent.mark != ir::Mark::kSerial) {
    return ir::Reject{"loop " + parent.name + " is marked " + std::string(name_of(parent.mark)) +
                      "; split it before marking it"};
  }
  std::string pinned = pinned_loop(p, s, parent.name);
  if (!pinned.empty()) return ir::Reject{std::move(pinned)};
  for (const std::string& name : {outer, inner}) {
    std::string taken = taken_loop(s, name);
    if (!taken.empty()) return ir::Reject{std::move(taken)};
  }
  if (outer == inner) return ir::Reject{"both loops are called " + outer};
  const ir::Tail tail = tail_named(step.name("tail"));
  std::string wrong = tail_objection(s, parent.name, factor, tail);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  s.relations.push_back({ir::Relation::kSplit, parent.name, "", outer, inner, factor, tail});
  s.loops[at->loop].name = outer;
  s.loops.insert(s.loops.begin() + static_cast<long>(at->loop) + 1,
                 {inner, ir::Mark::kSerial, parent.partition});
  return p;
}

}  // namespace

const StepRow kSplit = {
    "split",
    {{Arg::kLoop, "loop"},
     {Arg::kNumber, "factor"},
     {Arg::kWord, "->"},
     {Arg::kNew, "outer"},
     {Arg::kNew, "inner"},
     {Arg::kChoice, "tail", "mask|peel|overlap|exact|pad"}},
    "One loop into two: `loop = factor*outer + inner`. Where the factor does not divide, mask "
    "tests "
    "each iteration, peel makes a copy of the body for the rest, overlap shifts the last block "
    "inward, exact refuses, pad runs the inner loop whole all the same: copies find 0 outside "
    "their "
    "tensor, and results outside theirs are not stored.\n"
    "for k in 0..100: B  =>  split k 8 -> k.o k.i  =>  for k.o in 0..13: for k.i in 0..8: B",
    apply_split,
};

}  // namespace hone::schedules
