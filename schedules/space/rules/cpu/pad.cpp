// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

int64_t iterations(const Plan& plan, const std::string& stage) {
  const StageFacts& facts = plan.facts(stage);
  return facts.points(facts.extents);
}

/// Elements of a tensor.
int64_t elements(const Plan& plan, const ir::Buffer& b) {
  return bytes_of(plan.program(), b) / size_of(b.type);
}

/// Reads of each element from which a copy with a border pays.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kFewReads = 16;

/// Cycles of a lane that is tested and read by itself, and of a vector that is copied.
/// Tuned on: nothing; reckoned from a branch and a load, a load and a store.
constexpr int64_t kTestedLane = 4, kCopied = 2;

/// True where no results next to each other read elements of `a` next to each other.
bool reads_apart(const Plan& plan, const std::string& stage, const Access& a) {
  const StageFacts& facts = plan.facts(stage);
  const std::vector<ir::IndexVar> vars = plan.stage(stage).vars;
  return std::none_of(vars.begin(), vars.end(), [&](const ir::IndexVar& v) {
    return facts.extent(v.name) > 1 && a.stride(v.name) == 1;
  });
}

/// True of elements that no mask loads: a vector tests its lanes one by one.
bool tests_lanes(const Plan& plan, const std::string& tensor) {
  const int size = size_of(plan.program().buffer(tensor)->type);
  return !plan.machine().masks_lanes && size < size_of(DType::kF32);
}

/// True where tests lane by lane cost more than a copy of `copied` elements.
bool tests_cost_more(const Plan& plan, const std::string& stage, const std::string& tensor,
                     int64_t copied) {
  const int64_t copy = copied / plan.lanes(plan.program().buffer(tensor)->type) * kCopied;
  return kTestedLane * iterations(plan, stage) >= copy;
}

/// True where results share elements of `a`, as the channels of a convolution do.
bool shares(const Plan& plan, const std::string& stage, const Access& a) {
  const StageFacts& facts = plan.facts(stage);
  const std::vector<ir::IndexVar> vars = plan.stage(stage).vars;
  return std::any_of(vars.begin(), vars.end(), [&](const ir::IndexVar& v) {
    return facts.extent(v.name) > 1 && a.stride(v.name) == 0;
  });
}

/// True of an index that wraps around its dim wherever several variables have it do so: no loop
/// over one of them is cut there.
bool wraps_around(const Plan& plan, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  for (size_t d = 0; d < b.shape.size(); ++d) {
    int64_t by = 0, extent = 0;
    const ir::Expr& index = a.indices[d];
    if (index->op != ir::Op::kMod || !ir::is_const(index->args[1], &by)) continue;
    const auto dividend = affine_of(index->args[0]);
    if (dividend && dividend->terms.size() > 1 && ir::is_const(b.shape[d], &extent) &&
        by == extent) {
      return true;
    }
  }
  return false;
}

/// Why no copy with borders pays; "" where one does. Where lanes would be tested one by one it
/// does. Where elements are read often it does, too, but for short rows that no results share.
/// Else the tests cost less: the inner part of the loops is rid of them.
std::string unworthy(const Plan& plan, const std::string& stage, const std::string& tensor) {
  const ir::Buffer& b = *plan.program().buffer(tensor);
  bool apart = tests_lanes(plan, tensor), shared = false;
  for (const Access& a : plan.facts(stage).loads) {
    if (a.buffer != tensor) continue;
    apart |= reads_apart(plan, stage, a) || wraps_around(plan, a);
    shared |= shares(plan, stage, a);
  }
  if (apart && tests_cost_more(plan, stage, tensor, elements(plan, b))) return {};
  if (iterations(plan, stage) <= kFewReads * elements(plan, b)) {
    return "elements of " + tensor + " are read a few times each";
  }
  int64_t row = 0;
  const bool is_long =
      b.shape.empty() || !ir::is_const(b.shape.back(), &row) || 2 * row > plan.lanes(b.type);
  if (is_long || shared) return {};
  return "rows of " + tensor + " are half a vector at most, and results share none of it";
}

/// The order of a tensor's axes in memory, for a copy that lies as it does.
std::vector<LayoutAxis> layout_of(const ir::Buffer& tensor) {
  std::vector<LayoutAxis> out;
  for (const ir::Axis& a : tensor.axes) {
    out.push_back({dim_name(static_cast<size_t>(a.dim)), a.div, a.mod ? Number(a.mod) : Number()});
  }
  return out;
}

/// Adds the copy of a tensor. False, nothing changed and `plan` told why, where that leaves a load
/// of it guarded.
bool copy_with_borders(Plan& plan, const std::string& stage, const std::string& tensor,
                       const std::string& copy) {
  Plan::Mark before = plan.mark();
  bool done = plan.add(
      step::stage(tensor, {}, copy, {.layout = layout_of(*plan.program().buffer(tensor))}));
  if (done) {
    for (const Access& a : std::vector(plan.facts(stage).loads)) {
      done &= a.buffer != copy || (!a.guarded && !wraps_around(plan, a));
    }
    if (!done) plan.declines("a load of " + tensor + " is tested with a border around it, too");
  }
  if (!done) plan.rewind(std::move(before));
  return done;
}

/// Elements of a copy for each of the tensor from which it is nearly all border. Loops without such
/// reads do less than those that it saves tests.
/// Tuned on: Zen 5; average pooling in which 1 to 6 of 100 reads find an element.
constexpr int64_t kHardlyInside = 8;

/// True for a copy that costs more than the tests that it saves. It is nearly all border, half
/// border with elements that are read twice at most, or of twice the elements that are read.
bool mostly_border(Plan& plan, const std::string& stage, const std::string& tensor,
                   const std::string& copy) {
  Plan::Mark before = plan.mark();
  if (!copy_with_borders(plan, stage, tensor, copy)) return false;
  const int64_t copied = iterations(plan, copy);
  const int64_t inside = elements(plan, *plan.program().buffer(tensor));
  bool wasted = copied >= kHardlyInside * inside ||
                (copied >= 2 * inside && 2 * copied >= iterations(plan, stage));
  if (tests_lanes(plan, copy)) wasted = !tests_cost_more(plan, stage, copy, copied);
  wasted |= copied >= 2 * iterations(plan, stage);
  plan.rewind(std::move(before));
  return wasted;
}

bool apply_pad(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const bool reduces = s.reduce != ir::Reduce::kNone;
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  plan.declines(reduces ? "no load of it leaves its tensor"
                        : "it does not reduce, and no load of it wraps around");
  std::vector<std::string> guarded;  // or beyond, where they wrap around
  for (const Access& a : std::vector(plan.facts(name).loads)) {
    if (reduces && a.guarded && a.gathers) plan.declines("data choose where it reads " + a.buffer);
    const bool leaves = (reduces && a.guarded && !a.gathers) || wraps_around(plan, a);
    if (leaves && std::count(guarded.begin(), guarded.end(), a.buffer) == 0) {
      guarded.push_back(a.buffer);
    }
  }
  bool any = false;
  for (const std::string& tensor : guarded) {
    const std::string copy = plan.fresh_stage(tensor + ".g");
    std::string why = unworthy(plan, name, tensor);
    if (why.empty() && mostly_border(plan, name, tensor, copy)) {
      why = "a copy of " + tensor + " would be mostly border";
    }
    if (plan.decide("pad " + tensor, 2, why.empty()) == 0) {
      if (why.empty()) why = tensor + " was decided to stay without a border";
      plan.declines(why);
      continue;
    }
    any |= copy_with_borders(plan, name, tensor, copy);
  }
  return any;
}

}  // namespace

const Rule cpu::kPad = {
    "pad",
    "A tensor that a reduction reads beyond its borders is copied with the border around it, so "
    "that no load of the reduction is tested. What wraps around goes on in the copy, whoever reads "
    "it.",
    apply_pad,
};

}  // namespace hone::schedules
