// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/build.h"

#include <utility>

#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

std::string spelled(const ir::Place& place) {
  return place.root() ? "root" : place.stage + "/" + place.loop;
}

std::vector<std::string> spelled(const std::vector<ir::Place>& loops) {
  std::vector<std::string> out;
  out.reserve(loops.size());
  for (const ir::Place& loop : loops) out.push_back(spelled(loop));
  return out;
}

/// A step of a row, whose values are set one by one.
class StepBuilder {
 public:
  explicit StepBuilder(const StepRow& row) {
    step_.row = &row;
    size_t count = 0;
    while (count < kMaxParams && row.params[count].kind != Arg::kEnd) ++count;
    step_.values.resize(count);
  }

  StepBuilder& set(std::string_view param, std::vector<std::string> names) {
    Value& v = value(param);
    v.present = true;
    v.names = std::move(names);
    return *this;
  }
  StepBuilder& set(std::string_view param, std::string name) {
    return set(param, std::vector<std::string>{std::move(name)});
  }
  StepBuilder& set(std::string_view param, const ir::Place& place) {
    return set(param, spelled(place));
  }
  StepBuilder& set(std::string_view param, Number number) {
    Value& v = value(param);
    v.present = true;
    v.number = std::move(number);
    return *this;
  }
  StepBuilder& set(std::string_view param, std::vector<LayoutAxis> layout) {
    Value& v = value(param);
    v.present = !layout.empty();
    v.layout = std::move(layout);
    return *this;
  }

  Step done() { return std::move(step_); }

 private:
  Value& value(std::string_view param) {
    size_t i = 0;
    while (param != step_.row->params[i].name) ++i;
    return step_.values[i];
  }

  Step step_;
};

Step of_loop(const StepRow& row, const ir::Place& loop) {
  return StepBuilder(row).set("loop", loop).done();
}

Step of_loops(const StepRow& row, const std::vector<ir::Place>& loops) {
  return StepBuilder(row).set("loops", spelled(loops)).done();
}

}  // namespace

std::vector<ir::Place> loops_of(const std::string& stage, const std::vector<std::string>& loops) {
  std::vector<ir::Place> out;
  out.reserve(loops.size());
  for (const std::string& loop : loops) out.push_back({stage, loop});
  return out;
}

std::string dim_name(size_t dim) { return "d" + std::to_string(dim); }

namespace step {

Step split(const ir::Place& loop, Number factor, std::string outer, std::string inner,
           ir::Tail tail) {
  return StepBuilder(kSplit)
      .set("loop", loop)
      .set("factor", std::move(factor))
      .set("outer", std::move(outer))
      .set("inner", std::move(inner))
      .set("tail", std::string(name_of(tail)))
      .done();
}

Step reorder(const std::vector<ir::Place>& loops) { return of_loops(kReorder, loops); }

Step fuse(const ir::Place& outer, const ir::Place& inner, std::string fused) {
  return StepBuilder(kFuse)
      .set("outer", outer)
      .set("inner", inner)
      .set("fused", std::move(fused))
      .done();
}

Step collapse(const ir::Place& outer, const ir::Place& inner, std::string collapsed) {
  return StepBuilder(kCollapse)
      .set("outer", outer)
      .set("inner", inner)
      .set("collapsed", std::move(collapsed))
      .done();
}

Step unroll(const ir::Place& loop) { return of_loops(kUnroll, {loop}); }

Step unroll(const std::vector<ir::Place>& loops) { return of_loops(kUnroll, loops); }

Step scatter(const std::vector<ir::Place>& loops) { return of_loops(kScatter, loops); }

Step vectorize(const ir::Place& loop) { return of_loops(kVectorize, {loop}); }

Step vectorize(const std::vector<ir::Place>& loops) { return of_loops(kVectorize, loops); }

Step parallel(const ir::Place& loop) { return of_loops(kParallel, {loop}); }

Step partition(const std::vector<ir::Place>& loops) { return of_loops(kPartition, loops); }

Step compute(std::vector<std::string> stages, const ir::Place& loop, ir::Space in,
             const ir::Place& store) {
  StepBuilder made(kCompute);
  made.set("stages", std::move(stages)).set("loop", loop).set("in", std::string(name_of(in)));
  if (!store.root()) made.set("store", store);
  return made.done();
}

Step compute_kept(std::vector<std::string> stages, const ir::Place& loop) {
  return StepBuilder(kCompute)
      .set("stages", std::move(stages))
      .set("loop", loop)
      .set("store", "root")
      .set("in", std::string(name_of(ir::Space::kScratch)))
      .done();
}

Step inline_stage(std::string stage) {
  return StepBuilder(kInline).set("stages", std::move(stage)).done();
}

Step cache_write(std::string stage, std::string made, std::vector<LayoutAxis> layout) {
  return StepBuilder(kCacheWrite)
      .set("stage", std::move(stage))
      .set("made", std::move(made))
      .set("layout", std::move(layout))
      .done();
}

Step precompute(std::string stage, size_t place, std::string made, std::vector<LayoutAxis> layout) {
  return StepBuilder(kPrecompute)
      .set("stage", std::move(stage))
      .set("part", Number(static_cast<int64_t>(place) + 1))
      .set("made", std::move(made))
      .set("layout", std::move(layout))
      .done();
}

Step stage(std::string tensor, const ir::Place& place, std::string copy, CopyOptions options) {
  return StepBuilder(kStage)
      .set("tensor", std::move(tensor))
      .set("place", place)
      .set("copy", std::move(copy))
      .set("in", std::string(name_of(options.in)))
      .set("pad", Number(options.pad))
      .set("swizzle", std::string(options.swizzle ? "on" : "off"))
      .set("layout", std::move(options.layout))
      .done();
}

Step rfactor(const ir::Place& loop, std::string partial) {
  return StepBuilder(kRfactor)
      .set("stage", loop.stage)
      .set("loop", loop.loop)
      .set("partial", std::move(partial))
      .done();
}

Step factor(std::string stage, const std::vector<size_t>& factors, std::string partial) {
  std::vector<std::string> positions;
  positions.reserve(factors.size());
  for (const size_t f : factors) positions.push_back(std::to_string(f));
  return StepBuilder(kFactor)
      .set("stage", std::move(stage))
      .set("factors", std::move(positions))
      .set("partial", std::move(partial))
      .done();
}

Step separate(const ir::Place& loop, std::string partial) {
  return StepBuilder(kSeparate).set("loop", loop).set("partial", std::move(partial)).done();
}

Step winograd(const ir::Place& loop, Number outputs, const std::string& part) {
  return StepBuilder(kWinograd)
      .set("loop", loop)
      .set("outputs", std::move(outputs))
      .set("data", part + "d")
      .set("filter", part + "f")
      .set("products", part + "m")
      .done();
}

Step expand(std::string stage, std::string partial) {
  return StepBuilder(kExpand)
      .set("stage", std::move(stage))
      .set("partial", std::move(partial))
      .done();
}

Step narrow(std::string stage, std::string partial) {
  return StepBuilder(kNarrow)
      .set("stage", std::move(stage))
      .set("partial", std::move(partial))
      .done();
}

Step predicate(const ir::Place& loop) { return StepBuilder(kPredicate).set("loop", loop).done(); }

Step reciprocal(const ir::Place& loop) { return StepBuilder(kReciprocal).set("loop", loop).done(); }

Step group(const ir::Place& loop, std::string order) {
  return StepBuilder(kGroup).set("loop", loop).set("order", std::move(order)).done();
}

Step split_reduction(const ir::Place& loop, Number factor, std::string partial) {
  return StepBuilder(kSplitReduction)
      .set("loop", loop)
      .set("factor", std::move(factor))
      .set("partial", std::move(partial))
      .done();
}

Step scan(const ir::Place& loop, Number factor, std::string part) {
  return StepBuilder(kScan)
      .set("loop", loop)
      .set("factor", std::move(factor))
      .set("part", std::move(part))
      .done();
}

Step running(const ir::Place& loop, Number factor, std::string part) {
  return StepBuilder(kRunning)
      .set("loop", loop)
      .set("factor", std::move(factor))
      .set("part", std::move(part))
      .done();
}

Step online(const ir::Place& loop, Number factor, std::string part, int64_t lanes, int64_t rows) {
  return StepBuilder(kOnline)
      .set("loop", loop)
      .set("factor", std::move(factor))
      .set("part", std::move(part))
      .set("lanes", Number(lanes))
      .set("rows", Number(rows))
      .done();
}

Step prefetch(std::string tensor, const ir::Place& loop, Number distance, const ir::Place& outer) {
  StepBuilder made(kPrefetch);
  made.set("tensor", std::move(tensor)).set("loop", loop).set("distance", std::move(distance));
  if (!outer.root()) made.set("of", outer);
  return made.done();
}

Step stream(std::string tensor) {
  return StepBuilder(kStream).set("tensor", std::move(tensor)).done();
}

Step tensorize(const std::vector<ir::Place>& loops, const ir::Instruction& instruction) {
  return StepBuilder(kTensorize)
      .set("loops", spelled(loops))
      .set("instruction", std::string(instruction.name))
      .done();
}

Step bind(const ir::Place& loop, ir::Mark axis) {
  return StepBuilder(kBind).set("loop", loop).set("axis", std::string(name_of(axis))).done();
}

Step pipeline(const ir::Place& loop, Number depth) {
  return StepBuilder(kPipeline).set("loop", loop).set("depth", std::move(depth)).done();
}

Step lanes(const ir::Place& rows, const ir::Place& columns, int64_t word, std::string lane,
           int64_t warps) {
  return StepBuilder(kWarpLanes)
      .set("rows", rows)
      .set("columns", columns)
      .set("word", Number(word))
      .set("lane", std::move(lane))
      .set("warps", Number(warps))
      .done();
}

Step tma(std::string copy) { return StepBuilder(kTma).set("copy", std::move(copy)).done(); }

Step specialize(const ir::Place& loop) { return of_loop(kSpecialize, loop); }

Step cluster(const ir::Place& loop, Number blocks) {
  return StepBuilder(kCluster).set("loop", loop).set("blocks", std::move(blocks)).done();
}

}  // namespace step

}  // namespace hone::schedules
