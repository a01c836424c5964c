// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/build.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Rows and words of a cell: each lane of a warp holds one word of it.
/// Fixed by: mma.
constexpr int64_t kRows = 8;
constexpr int64_t kWords = 4;
/// Rows of a tile that each of several warps holds.
/// Fixed by: mma.
constexpr int64_t kWarpRows = 16;

/// The steps that this one stands for. Those loops that are one lane's come innermost.
std::vector<Step> steps_of(const std::string& stage, const std::string& r, const std::string& c,
                           const Step& lanes) {
  const int64_t word = lanes.number("word"), warps = lanes.number("warps");
  const std::string& lane = lanes.name("lane");
  const auto at = [&](const std::string& loop) { return ir::Place{stage, loop}; };
  std::vector<Step> out;
  std::string cells = r;
  std::vector<std::string> order = {r + ".l", c + ".l"}, together = {r + ".c"};
  if (warps > 1) {
    out.push_back(step::split(at(r), Number(kWarpRows) * warps, r + ".t", r + ".g"));
    out.push_back(step::split(at(r + ".g"), kWarpRows, r + ".w", r + ".r"));
    cells = r + ".r";
    order.insert(order.begin(), r + ".w");
    together.insert(together.begin(), r + ".t");
  }
  out.push_back(step::split(at(cells), kRows, r + ".c", r + ".l"));
  out.push_back(step::split(at(c), Number(kWords) * word, c + ".c", c + ".i"));
  out.push_back(step::split(at(c + ".i"), word, c + ".l", c + ".w"));
  order.insert(order.end(), together.begin(), together.end());
  order.insert(order.end(), {c + ".c", c + ".w"});
  out.push_back(step::reorder(loops_of(stage, order)));
  std::string all = r + ".l";
  if (warps > 1) {
    all = lane + ".r";
    out.push_back(step::fuse(at(r + ".w"), at(r + ".l"), all));
  }
  out.push_back(step::fuse(at(all), at(c + ".l"), lane));
  out.push_back(step::bind(at(lane), ir::Mark::kThreadX));
  return out;
}

Applied apply_lanes(ir::Program p, const Step& step) {
  auto found = find_loops(p, {step.name("rows"), step.name("columns")});
  if (!found) return found.failure();
  const ir::Stage& stage = p.stages[found->front().stage];
  const std::string name = stage.name, rows = stage.loops[(*found)[0].loop].name,
                    columns = stage.loops[(*found)[1].loop].name;
  for (const Step& part : steps_of(name, rows, columns, step)) {
    Applied made = part.row->apply(std::move(p), part);
    if (!made) return ir::Reject{print(part) + ": " + made.failure().reason};
    p = *std::move(made);
  }
  return p;
}

}  // namespace

const StepRow kWarpLanes = {
    "lanes",
    {{Arg::kLoop, "rows"},
     {Arg::kLoop, "columns"},
     {Arg::kNumber, "word"},
     {Arg::kWord, "->"},
     {Arg::kNew, "lane"},
     {Arg::kCount, "warps"}},
    "Gives every lane of a warp the elements that it holds of tiles kept in=warp: one word, of so "
    "many neighbours along the columns, in each cell of 8 rows by 4 words. Of results of a tensor "
    "instruction a word is 2 elements, of a factor 32 bits. Of tiles that several warps hold "
    "together, each has 16 rows.\n"
    "for m in 0..16: for n in 0..8: B  =>  lanes m n 2 -> t  =>  thread.x t in 0..32: for m.c in "
    "0..2: for n.c in 0..1: for n.w in 0..2: B",
    apply_lanes,
};

}  // namespace hone::schedules
