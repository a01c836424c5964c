// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/gpu.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"

namespace hone::schedules {
namespace {

/// A tile is a square: one side runs along what is read, one along what is written.
constexpr int64_t kSide = 32;
/// Rows of threads; each thread has several elements of a tile.
constexpr int64_t kRows = 8;
/// An axis shorter than this is not worth a tile.
constexpr int64_t kShort = 8;
/// Blocks along the second and third axis of a grid.
constexpr int64_t kMostBlocks = 65535;

/// A tensor that is read along another axis than the stage's store.
struct Turned {
  std::string buffer;
  std::string read;                      ///< the variable along which it is contiguous
  std::string written;                   ///< that of the store
  size_t read_dim = 0, written_dim = 0;  ///< the dims of the tensor that they index
};

/// The dim of an access that `var` alone indexes; the number of dims where there is none.
size_t dim_of(const Access& a, const std::string& var) {
  size_t d = 0;
  while (d < a.indices.size() && plain_var(a.indices[d]) != var) ++d;
  return d;
}

std::vector<Turned> turned_by(const Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  std::string written;
  for (const ir::IndexVar& v : s.vars) {
    if (facts.store.stride(v.name) == 1 && facts.extent(v.name) >= kShort) written = v.name;
  }
  std::vector<Turned> out;
  if (written.empty()) return out;
  for (const Access& a : facts.loads) {
    if (a.gathers || a.guarded || a.stride(written) <= 1) continue;
    for (const ir::IndexVar& v : s.vars) {
      if (a.stride(v.name) != 1 || facts.extent(v.name) < kShort) continue;
      const Turned t{a.buffer, v.name, written, dim_of(a, v.name), dim_of(a, written)};
      const bool plain = t.read_dim < a.indices.size() && t.written_dim < a.indices.size();
      const bool again = std::any_of(out.begin(), out.end(),
                                     [&](const Turned& o) { return o.buffer == a.buffer; });
      if (plain && !again && (out.empty() || out[0].read == t.read)) out.push_back(t);
    }
  }
  return out;
}

/// The part of the tensor that a block needs, by way of shared memory: rows apart by one element
/// more, so that a column of it lies in different banks.
bool share(Plan& plan, const Turned& t, const std::string& at) {
  const std::string copy = t.buffer + ".tile", step = "stage " + t.buffer + " at " + at + " -> ";
  if (!plan.add(step + copy + " in=shared pad=1") && !plan.add(step + copy + " in=shared")) {
    return false;
  }
  const std::string x = "d" + std::to_string(t.read_dim), y = "d" + std::to_string(t.written_dim);
  plan.set_window(copy, x, kSide);
  plan.set_window(copy, y, kSide);
  return bind_threads(plan, copy, y, kRows, "y") && bind_threads(plan, copy, x, kSide, "x");
}

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root() || s.reduce != ir::Reduce::kNone || s.where) return false;
  const std::vector<Turned> turned = turned_by(plan, name);
  if (turned.empty()) return false;
  const std::string &m = turned[0].read, &n = turned[0].written, at = name + "/";
  std::vector<std::string> others;
  for (const ir::IndexVar& v : s.vars) {
    if (v.name != m && v.name != n) others.push_back(v.name);
  }
  const std::string side = std::to_string(kSide);
  if (!plan.add("split " + at + m + " " + side + " -> " + m + ".b " + m + ".i") ||
      !plan.add("split " + at + m + ".i " + std::to_string(kRows) + " -> " + m + ".r " + m +
                ".t") ||
      !plan.add("split " + at + n + " " + side + " -> " + n + ".b " + n + ".t")) {
    return false;
  }
  std::string order = "reorder";
  for (const std::string& l : others) order += " " + at + l;
  for (const std::string& l : {m + ".b", n + ".b", m + ".r", m + ".t", n + ".t"}) {
    order += " " + at + l;
  }
  if (!plan.add(order)) return false;
  int64_t outer = 1;
  for (const std::string& v : others) outer *= plan.facts(name).extent(v);
  if (std::max(outer, plan.facts(name).extent(m) / kSide) > kMostBlocks) return false;
  std::vector<std::string> blocks = fuse_loops(plan, name, others);
  blocks.push_back(m + ".b");
  blocks.push_back(n + ".b");
  if (!bind_blocks(plan, name, blocks)) return false;
  for (const Turned& t : turned) {
    if (!share(plan, t, at + n + ".b")) return false;
  }
  if (!plan.add("bind " + at + m + ".t thread.y") || !plan.add("bind " + at + n + ".t thread.x") ||
      !lowers(plan)) {
    return false;
  }
  plan.finish(name);
  return true;
}

}  // namespace

const Rule kGpuTurn = {
    "turn",
    "A tensor that is read along another axis than the store's: square tiles pass through shared "
    "memory, so that neighbouring threads read neighbours and write neighbours.",
    apply,
};

}  // namespace hone::schedules
