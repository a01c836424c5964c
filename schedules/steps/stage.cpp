// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/sort.h"
#include "schedules/steps/rows.h"
#include "schedules/steps/stage_copy.h"

namespace hone::schedules {
namespace {

Applied apply_stage(ir::Program p, const Step& step) {
  auto tensor = find_buffer(p, step.name("tensor"));
  if (!tensor) return tensor.failure();
  std::string taken = taken_stage(p, step.name("copy"));
  if (!taken.empty()) return ir::Reject{std::move(taken)};
  CopySpot spot;
  spot.root = step.name("place") == "root";
  if (!spot.root) {
    auto at = find_loop(p, step.name("place"));
    if (!at) return at.failure();
    spot.owner = at->stage;
    spot.loop = at->loop;
  }
  const bool laid = step.number("pad") != 0 || step.name("swizzle") != "off";
  if (laid && step.name("in") != "shared") {
    return ir::Reject{"pad= and swizzle= lay out shared memory; add in=shared"};
  }
  // Chosen: beyond any bank conflict (not measured).
  constexpr int64_t kMostPad = 4096;
  if (step.number("pad") > kMostPad) {
    return ir::Reject{"pad= leaves at most " + std::to_string(kMostPad) + " elements between rows"};
  }
  if (step.number("pad") != 0 && step.name("swizzle") != "off") {
    return ir::Reject{"rows with a pad are no powers of two; take pad= or swizzle=, not both"};
  }
  if (spot.root && step.name("in") != "scratch") {
    return ir::Reject{"a copy at the root lives in memory; leave out in=" + step.name("in")};
  }
  if (!spot.root && p.stages[spot.owner].output == step.name("tensor")) {
    return copy_written(std::move(p), step, spot);
  }
  return copy_read(std::move(p), step, spot);
}

}  // namespace

Result<std::vector<ir::Axis>, ir::Reject> layout_axes(const Step& step, const std::string& tensor,
                                                      const std::vector<std::string>& dims) {
  std::vector<ir::Axis> out;
  for (const LayoutAxis& a : step.at("layout").layout) {
    ir::Axis axis;
    axis.div = a.div.value();
    axis.mod = a.mod.factors.empty() ? 0 : a.mod.value();
    size_t d = 0;
    while (d < dims.size() && dims[d] != a.dim && a.dim != "d" + std::to_string(d)) ++d;
    if (d == dims.size()) {
      return ir::Reject{"layout names " + a.dim + "; the dims of " + tensor + " are " +
                        list_text(dims)};
    }
    axis.dim = static_cast<int>(d);
    out.push_back(axis);
  }
  for (size_t d = 0; d < dims.size() && !out.empty(); ++d) {
    // Each dim's axes must tell every element apart: from the remainders up to a quotient, in
    // whichever order they stand.
    std::vector<ir::Axis> own;
    for (const ir::Axis& a : out) {
      if (a.dim == static_cast<int>(d)) own.push_back(a);
    }
    ir::stable_sort(own, [](const ir::Axis& a, const ir::Axis& b) { return a.div < b.div; });
    int64_t reach = 1;
    for (const ir::Axis& axis : own) {
      if (axis.div != reach) {
        return ir::Reject{"layout puts two elements of dim " + dims[d] +
                          " in one place; split it as " + "[" + dims[d] + "/N] .. [" + dims[d] +
                          "%N]"};
      }
      reach = axis.mod == 0 ? 0 : reach * axis.mod;
    }
    if (reach != 0) {
      return ir::Reject{"layout does not hold all of dim " + dims[d] + "; add [" + dims[d] +
                        (reach == 1 ? "" : "/" + std::to_string(reach)) + "]"};
    }
  }
  return out;
}

const StepRow kStage = {
    "stage",
    {{Arg::kTensor, "tensor"},
     {Arg::kWord, "at"},
     {Arg::kPlace, "place"},
     {Arg::kWord, "->"},
     {Arg::kNew, "copy"},
     {Arg::kChoice, "in", "scratch|registers|shared|warp"},
     {Arg::kCount, "pad"},
     {Arg::kChoice, "swizzle", "off|on"},
     {Arg::kLayout, "layout"}},
    "Copies the window of a tensor that the body of a loop touches, and uses the copy there; of "
    "the tensor that the loop's stage writes, computes it in the copy and writes it back after. "
    "The copy is a stage; loads that are guarded with one constant find a copy padded with it, and "
    "lose their guards. At root, indices that wrap around a dim find it begin anew in the copy. Of "
    "a tensor that is read its loops are d0, d1, .., of one that is written they are the "
    "variables'. In shared memory, pad= leaves that many elements between rows, and swizzle=on "
    "puts 16-byte chunk c of row r at c xor r, so that columns lie in different banks. "
    "At "
    "root it is a launch of its own, of a constant tensor at bind.\n"
    "for m.o: for k: for m.i: C[..] += A*B  =>  stage C at m.o -> Ct in=registers  =>  "
    "for m.o: for k: for m: Ct[..] += A*B; for m.i: C[..] = Ct[..]",
    apply_stage,
};

}  // namespace hone::schedules
