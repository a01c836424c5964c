// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/program.h"
#include "schedules/step.h"

namespace hone::schedules {

/// How a copy that the step `stage` makes is kept.
struct CopyOptions {
  ir::Space in = ir::Space::kScratch;
  int64_t pad = 0;                   ///< elements between rows in shared memory
  bool swizzle = false;              ///< of 16-byte chunks in shared memory
  std::vector<LayoutAxis> layout{};  ///< empty: as the tensor's dims
};

/// Loops of one stage, in the order given.
std::vector<ir::Place> loops_of(const std::string& stage, const std::vector<std::string>& loops);

/// The loop of a copied tensor along a dim: `d0` along the first.
std::string dim_name(size_t dim);

/// Steps made of typed values, one function for each verb. A loop is the place that it makes, not
/// the root. Nothing is checked here: whether a step applies is for its row to say.
namespace step {

Step split(const ir::Place& loop, Number factor, std::string outer, std::string inner,
           ir::Tail tail = ir::Tail::kMask);
Step reorder(const std::vector<ir::Place>& loops);
Step fuse(const ir::Place& outer, const ir::Place& inner, std::string fused);
Step collapse(const ir::Place& outer, const ir::Place& inner, std::string collapsed);
Step unroll(const ir::Place& loop);
Step unroll(const std::vector<ir::Place>& loops);
Step vectorize(const ir::Place& loop);
Step vectorize(const std::vector<ir::Place>& loops);
Step scatter(const std::vector<ir::Place>& loops);
Step group(const ir::Place& loop, std::string order);
Step parallel(const ir::Place& loop);
Step partition(const std::vector<ir::Place>& loops);
/// `store`: a loop further out that keeps the stages; the root: `loop` does.
Step compute(std::vector<std::string> stages, const ir::Place& loop,
             ir::Space in = ir::Space::kScratch, const ir::Place& store = {});
/// The stages are kept as long as the call lasts: `store root`.
Step compute_kept(std::vector<std::string> stages, const ir::Place& loop);
/// The step `inline`, which is a word of C++.
Step inline_stage(std::string stage);
/// `place`: of the part among `parts_of` the stage. `layout` empty: its variables in the stage's
/// order.
Step precompute(std::string stage, size_t place, std::string made,
                std::vector<LayoutAxis> layout = {});
/// Names of the layout are the stage's indices; empty: in their order.
Step cache_write(std::string stage, std::string made, std::vector<LayoutAxis> layout);
/// `place` may be the root.
Step stage(std::string tensor, const ir::Place& place, std::string copy, CopyOptions options = {});
Step rfactor(const ir::Place& loop, std::string partial);
/// `factors`: positions in the product that `stage` sums, from 0.
Step factor(std::string stage, const std::vector<size_t>& factors, std::string partial);
Step separate(const ir::Place& loop, std::string partial);
/// `part`: the start of the names of the stages that it makes.
Step winograd(const ir::Place& loop, Number outputs, const std::string& part);
Step expand(std::string stage, std::string partial);
Step narrow(std::string stage, std::string partial);
Step predicate(const ir::Place& loop);
Step reciprocal(const ir::Place& loop);
Step split_reduction(const ir::Place& loop, Number factor, std::string partial);
/// `part`: the start of the names of the stages that it makes.
Step scan(const ir::Place& loop, Number factor, std::string part);
/// `part`: the end of the names of the stages that it makes.
Step running(const ir::Place& loop, Number factor, std::string part);
/// `lanes` of a tile's columns, 0 where each stage has its terms to itself; `rows`: of a block.
Step online(const ir::Place& loop, Number factor, std::string part, int64_t lanes = 0,
            int64_t rows = 0);
/// `outer`: a loop around, whose iterations are ahead; the root where `loop` itself is.
Step prefetch(std::string tensor, const ir::Place& loop, Number distance,
              const ir::Place& outer = {});
Step stream(std::string tensor);
Step tensorize(const std::vector<ir::Place>& loops, const ir::Instruction& instruction);
/// `axis`: one of a GPU's grid or of its blocks.
Step bind(const ir::Place& loop, ir::Mark axis);
Step pipeline(const ir::Place& loop, Number depth);
/// `warps`: 0 where one warp holds a tile.
Step lanes(const ir::Place& rows, const ir::Place& columns, int64_t word, std::string lane,
           int64_t warps = 0);
Step tma(std::string copy);
Step specialize(const ir::Place& loop);
Step cluster(const ir::Place& loop, Number blocks);

}  // namespace step

}  // namespace hone::schedules
