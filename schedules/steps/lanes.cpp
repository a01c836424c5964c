// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Rows and words of a cell, of which each lane of a warp holds one word.
constexpr const char* kRows = "8";
constexpr const char* kWords = "4";
/// Rows of a tile that each of several warps holds.
constexpr const char* kWarpRows = "16";

/// The steps that this one stands for. Those loops that are one lane's come innermost.
std::vector<std::string> parts_of(const std::string& stage, const std::string& rows,
                                  const std::string& columns, const Step& step) {
  const std::string word = std::to_string(step.number("word"));
  const std::string s = stage + "/", r = s + rows, c = s + columns;
  const std::string& lane = step.name("lane");
  std::vector<std::string> out;
  std::string cells = r, apart = r + ".l " + c + ".l", together = r + ".c";
  if (step.number("warps") > 1) {
    const std::string warps = std::to_string(step.number("warps"));
    out.push_back("split " + r + " " + kWarpRows + "*" + warps + " -> " + rows + ".t " + rows +
                  ".g");
    out.push_back("split " + r + ".g " + kWarpRows + " -> " + rows + ".w " + rows + ".r");
    cells = r + ".r";
    apart = r + ".w " + apart;
    together = r + ".t " + together;
  }
  out.push_back("split " + cells + " " + kRows + " -> " + rows + ".c " + rows + ".l");
  out.push_back("split " + c + " " + kWords + "*" + word + " -> " + columns + ".c " + columns +
                ".i");
  out.push_back("split " + c + ".i " + word + " -> " + columns + ".l " + columns + ".w");
  out.push_back("reorder " + apart + " " + together + " " + c + ".c " + c + ".w");
  if (step.number("warps") > 1) {
    out.push_back("fuse " + r + ".w " + r + ".l -> " + lane + ".r");
    out.push_back("fuse " + s + lane + ".r " + c + ".l -> " + lane);
  } else {
    out.push_back("fuse " + r + ".l " + c + ".l -> " + lane);
  }
  out.push_back("bind " + s + lane + " thread.x");
  return out;
}

Applied apply_lanes(ir::Program p, const Step& step) {
  auto found = find_loops(p, {step.name("rows"), step.name("columns")});
  if (!found) return found.failure();
  const ir::Stage& stage = p.stages[found->front().stage];
  const std::string name = stage.name, rows = stage.loops[(*found)[0].loop].name,
                    columns = stage.loops[(*found)[1].loop].name;
  for (const std::string& text : parts_of(name, rows, columns, step)) {
    const auto part = parse_step(text);
    Applied made = part->row->apply(std::move(p), *part);
    if (!made) return ir::Reject{text + ": " + made.failure().reason};
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
