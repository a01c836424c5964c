// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Rows and words of a cell, of which each lane of a warp holds one word.
constexpr const char* kRows = "8";
constexpr const char* kWords = "4";

Applied apply_lanes(ir::Program p, const Step& step) {
  auto found = find_loops(p, {step.name("rows"), step.name("columns")});
  if (!found) return found.failure();
  const std::string stage = p.stages[found->front().stage].name;
  const std::string rows = p.stages[found->front().stage].loops[(*found)[0].loop].name;
  const std::string columns = p.stages[found->front().stage].loops[(*found)[1].loop].name;
  const std::string word = std::to_string(step.number("word"));
  const std::string s = stage + "/", r = s + rows, c = s + columns;
  const std::string& lane = step.name("lane");
  const std::string steps[] = {
      "split " + r + " " + kRows + " -> " + rows + ".c " + rows + ".l",
      "split " + c + " " + kWords + "*" + word + " -> " + columns + ".c " + columns + ".i",
      "split " + c + ".i " + word + " -> " + columns + ".l " + columns + ".w",
      "reorder " + r + ".l " + c + ".l " + r + ".c " + c + ".c " + c + ".w",
      "fuse " + r + ".l " + c + ".l -> " + lane,
      "bind " + s + lane + " thread.x",
  };
  for (const std::string& text : steps) {
    const auto part = parse_step(text);
    Applied made = part->row->apply(std::move(p), *part);
    if (!made) return Refused{text + ": " + made.failure().reason};
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
     {Arg::kNew, "lane"}},
    "Gives every lane of a warp the elements that it holds of tiles kept in=warp: one word, of so "
    "many neighbours along the columns, in each cell of 8 rows by 4 words. Of results of a tensor "
    "instruction a word is 2 elements, of a factor 32 bits.\n"
    "for m in 0..16: for n in 0..8: B  =>  lanes m n 2 -> t  =>  thread.x t in 0..32: for m.c in "
    "0..2: for n.c in 0..1: for n.w in 0..2: B",
    apply_lanes,
};

}  // namespace hone::schedules
