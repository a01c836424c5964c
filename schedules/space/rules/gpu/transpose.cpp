// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/device_limits.h"
#include "jit/ir/poly.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Threads along each side of a tile, which is a square: one side runs along what is read, one
/// along what is written.
/// Fixed by: a warp.
constexpr int64_t kTransposeSide = ir::DeviceLimits::kWarp;
/// Bytes that a thread passes on at a time.
/// Fixed by: a bank of shared memory, whose word it is.
constexpr int64_t kWord = 4;
/// An axis shorter than this is not worth a tile.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kTransposeShort = 8;

/// A tensor that is read along another axis than the stage's store.
struct Transposed {
  std::string buffer;
  std::string read;                      ///< the variable along which it is contiguous
  std::string written;                   ///< the variable along which the store is
  size_t read_dim = 0, written_dim = 0;  ///< the dims of the tensor that they index
};

/// The dim of an access that `var` alone moves; the number of dims where there is none.
size_t dim_of_transposed(const Access& a, const std::string& var) {
  const int d = ir::dim_along(a.indices, var);
  return d < 0 ? a.indices.size() : static_cast<size_t>(d);
}

/// The tensors that are. `plan` is told why there are none.
std::vector<Transposed> transposed_by(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  std::string written;
  for (const ir::IndexVar& v : s.vars) {
    if (facts.store.stride(v.name) == 1 && facts.extent(v.name) >= kTransposeShort)
      written = v.name;
  }
  std::vector<Transposed> out;
  const std::string values = std::to_string(kTransposeShort) + " values";
  if (written.empty()) {
    plan.declines("the result runs along memory in no index of " + values);
    return out;
  }
  plan.declines("each load runs along memory as the result does");
  for (const Access& a : facts.loads) {
    if (a.stride(written) <= 1) continue;
    if (a.gathers) {
      plan.declines("data choose where it reads " + a.buffer);
      continue;
    }
    plan.declines(a.buffer + " runs along memory in no index of " + values);
    for (const ir::IndexVar& v : s.vars) {
      if (a.stride(v.name) != 1 || facts.extent(v.name) < kTransposeShort) continue;
      const Transposed t{a.buffer, v.name, written, dim_of_transposed(a, v.name),
                         dim_of_transposed(a, written)};
      const bool plain = t.read_dim < a.indices.size() && t.written_dim < a.indices.size();
      const bool again = std::any_of(out.begin(), out.end(),
                                     [&](const Transposed& o) { return o.buffer == a.buffer; });
      if (plain && !again && (out.empty() || out[0].read == t.read)) out.push_back(t);
    }
  }
  return out;
}

/// How a block passes a tile on.
struct TransposeTile {
  int64_t width = 1;  ///< neighbours of a thread, where an access has several
  int64_t rows = 4;   ///< of threads; each thread has several parts of a tile
  int64_t side() const { return kTransposeSide * width; }
};

/// Neighbours that make a word, where rows of all tensors are aligned to it; fewer where tiles
/// would be too few for the GPU.
TransposeTile tile_of(const Plan& plan, const std::string& name,
                      const std::vector<Transposed>& transposed, int64_t blocks_of_elements) {
  const StageFacts& facts = plan.facts(name);
  const Transposed& t = transposed[0];
  TransposeTile out{kWord, 4};
  const auto suits = [&](const Access& a, const std::string& along) {
    const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
    out.width = std::min(out.width, vector_width(plan, facts, a, {along}));
    out.width = std::min(out.width, std::max<int64_t>(1, kWord / size));
  };
  for (const Access& a : facts.loads) {
    if (a.stride(t.read) == 1) suits(a, t.read);
    if (a.stride(t.written) == 1) suits(a, t.written);
  }
  suits(facts.store, t.written);
  const int64_t few = 2 * multiprocessors(plan);
  while (out.width > 1 && blocks_of_elements / (out.side() * out.side()) < few) {
    out.width /= 2;
  }
  if (out.width > 1) out.rows = 8;
  return out;
}

/// Copies the part of the tensor that a block needs through shared memory. Rows are an odd number
/// of elements apart, so that a column of words lies in different banks.
bool share_transposed(Plan& plan, const Transposed& t, const ir::Place& at,
                      const TransposeTile& tile, int64_t row) {
  const std::string copy = t.buffer + ".tile";
  const CopyOptions options{ir::Space::kSharedMemory, row % 2 == 0 ? 1 : 0};
  if (!plan.add(step::stage(t.buffer, at, copy, options))) return false;
  const std::string x = dim_name(t.read_dim), y = dim_name(t.written_dim);
  const std::string words = cut_vectors(plan, copy, plan.loop_of(copy, x), tile.width);
  const std::string each = y + ".e", thread = y + ".t";
  if (words.empty() || !plan.add(step::split({copy, y}, tile.rows, each, thread)) ||
      !plan.add(step::bind({copy, thread}, ir::Mark::kThreadY)) ||
      !plan.add(step::unroll({copy, each}))) {
    return false;
  }
  return plan.add(step::bind({copy, words}, ir::Mark::kThreadX));
}

/// Splits the stage's loops into tiles and gives them to blocks and threads. Returns the loop
/// around a tile, or "" where that does not apply.
std::string cut_tiles(Plan& plan, const std::string& name, const Transposed& t,
                      const TransposeTile& tile, const std::vector<std::string>& others) {
  const std::string &m = t.read, &n = t.written;
  if (!plan.add(step::split({name, m}, tile.side(), m + ".b", m + ".i")) ||
      !plan.add(step::split({name, m + ".i"}, tile.rows, m + ".e", m + ".t")) ||
      !plan.add(step::split({name, n}, tile.side(), n + ".b", n + ".i"))) {
    return {};
  }
  const std::string words = cut_vectors(plan, name, n + ".i", tile.width);
  std::vector<std::string> order = others;
  order.insert(order.end(), {m + ".b", n + ".b", m + ".t", words, m + ".e"});
  if (tile.width > 1) order.push_back(n + ".i.v");
  if (words.empty() || !plan.add(step::reorder(loops_of(name, order)))) return {};
  std::vector<std::string> blocks = fuse_loops(plan, name, others);
  blocks.push_back(m + ".b");
  blocks.push_back(n + ".b");
  if (!bind_blocks(plan, name, blocks) || !plan.add(step::unroll({name, m + ".e"}))) return {};
  return plan.add(step::bind({name, m + ".t"}, ir::Mark::kThreadY)) &&
                 plan.add(step::bind({name, words}, ir::Mark::kThreadX))
             ? n + ".b"
             : "";
}

bool apply_gpu_transpose(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.where) return plan.declines("the stage has a `where`");
  const std::vector<Transposed> transposed = transposed_by(plan, name);
  if (transposed.empty()) return false;
  const std::string &m = transposed[0].read, &n = transposed[0].written;
  const StageFacts facts = plan.facts(name);
  std::vector<std::string> others;
  int64_t most = 1;  // as no call exceeds
  for (const ir::IndexVar& v : s.vars) {
    if (v.name == m || v.name == n) continue;
    others.push_back(v.name);
    most = saturating_product(most, at_most(plan.program(), v.hi));
  }
  const TransposeTile tile = tile_of(plan, name, transposed, facts.points(s.vars));
  const int64_t across = at_most(plan.program(), s.var(m)->hi) / tile.side();
  if (std::max(most, across) > kMostGridBlocks) {
    return plan.declines("a grid axis would have more blocks than it may");
  }
  const std::string at = cut_tiles(plan, name, transposed[0], tile, others);
  if (at.empty()) return false;
  const int64_t row = std::min(tile.side(), facts.extent(m));
  for (const Transposed& t : transposed) {
    if (!share_transposed(plan, t, {name, at}, tile, row)) return false;
  }
  if (!lowers(plan)) return false;
  plan.finish(name);
  return true;
}

}  // namespace

const Rule gpu::kTranspose = {
    "transpose",
    "A tensor that is read along another axis than the store's: square tiles pass through shared "
    "memory, so that neighbouring threads read neighbours and write neighbours.",
    apply_gpu_transpose,
};

}  // namespace hone::schedules
