// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/nest.h"

#include <algorithm>

#include "jit/ir/instructions.h"

namespace hone::ir {
namespace {

constexpr std::string_view kHomeNames[] = {"argument",  "bound", "shared", "worker",
                                           "registers", "team",  "warp"};

/// What a loop's line starts with: how it runs.
std::string_view keyword_of(const Stmt& loop) {
  if (loop.mark == Mark::kTensor) return loop.instruction->name;
  return loop.mark == Mark::kSerial ? "for" : name_of(loop.mark);
}

/// The tensor that a kTmaCopy copies from.
int buffer_of(const Nest& nest, const Stmt& s) {
  return nest.maps[static_cast<size_t>(s.map)].buffer;
}

std::string list_text(const std::vector<Expr>& all) {
  std::string out;
  for (const Expr& e : all) out += (out.empty() ? "" : ", ") + print(e);
  return out;
}

/// `A: size 100 by 64, box 64 by 32`.
std::string map_text(const Nest& nest, const TensorMap& m) {
  std::string sizes, box;
  for (size_t d = 0; d < m.box.size(); ++d) {
    sizes += (d ? " by " : "") + print(m.sizes[d]);
    box += (d ? " by " : "") + std::to_string(m.box[d]);
  }
  return nest.buffers[static_cast<size_t>(m.buffer)].name + ": size " + sizes + ", box " + box +
         (m.swizzle ? ", swizzle " + std::to_string(m.swizzle) : "");
}

void print_stmt(const Nest& nest, const Stmt& s, int depth, std::string& out) {
  const std::string pad(2 * static_cast<size_t>(depth), ' ');
  switch (s.kind) {
    case Stmt::kSequence:
      for (const StmtRef& b : s.body) print_stmt(nest, *b, depth, out);
      return;
    case Stmt::kFor:
      out += pad + std::string(keyword_of(s)) + " " + nest.loops[static_cast<size_t>(s.id)] +
             " in " + print(s.begin) + ".." + print(s.end) +
             (s.cluster > 1 ? " by " + std::to_string(s.cluster) : "") + ":\n";
      for (const StmtRef& b : s.body) print_stmt(nest, *b, depth + 1, out);
      return;
    case Stmt::kIf:
      out += pad + "if " + print(s.condition) + ":\n";
      print_stmt(nest, *s.body[0], depth + 1, out);
      if (s.body.size() > 1) {
        out += pad + "else:\n";
        print_stmt(nest, *s.body[1], depth + 1, out);
      }
      return;
    case Stmt::kStore:
      out += pad + (s.async ? "async " : "") + nest.buffers[static_cast<size_t>(s.id)].name + "[" +
             print(s.offset) + "] ";
      out += s.reduce == Reduce::kNone ? "= " : std::string(name_of(s.reduce)) + "= ";
      out += print(s.value) + "\n";
      return;
    case Stmt::kPrefetch:
      out += pad + "prefetch " + nest.buffers[static_cast<size_t>(s.id)].name + "[" +
             print(s.offset) + "]\n";
      return;
    case Stmt::kTeam:
      out += pad + "team:\n";
      for (const StmtRef& b : s.body) print_stmt(nest, *b, depth + 1, out);
      return;
    case Stmt::kBarrier:
      out += pad + "barrier\n";
      return;
    case Stmt::kCopyCommit:
      out += pad + "commit\n";
      return;
    case Stmt::kCopyWait:
      out += pad + "wait " + std::to_string(s.pending) + "\n";
      return;
    case Stmt::kWgmmaFence:
      out += pad + "open" + (s.id < 0 ? "" : " " + nest.buffers[static_cast<size_t>(s.id)].name) +
             "\n";
      return;
    case Stmt::kWgmmaCommit:
      out += pad + "close\n";
      return;
    case Stmt::kWgmmaWait:
      out += pad + "join " + std::to_string(s.pending) + "\n";
      return;
    case Stmt::kTmaCopy:
      out += pad + "copy box of " + nest.buffers[static_cast<size_t>(buffer_of(nest, s))].name +
             "[" + list_text(s.at) + "] to " + nest.buffers[static_cast<size_t>(s.id)].name + "[" +
             print(s.offset) + "]" +
             (s.cluster > 1 ? " of all " + std::to_string(s.cluster) + " blocks" : "") + ":\n";
      for (const StmtRef& b : s.body) print_stmt(nest, *b, depth + 1, out);
      return;
    case Stmt::kFill:
      out += pad + "fill pipe " + std::to_string(s.id) + " at " + print(s.position) + ":\n";
      for (const StmtRef& b : s.body) print_stmt(nest, *b, depth + 1, out);
      return;
    case Stmt::kReady:
      out += pad + "ready pipe " + std::to_string(s.id) + " at " + print(s.position) + "\n";
      return;
    case Stmt::kRelease:
      out += pad + "release pipe " + std::to_string(s.id) + " at " + print(s.position) + "\n";
      return;
    case Stmt::kCheck:
      out += pad + "check " + print(s.condition) + " at " + print(s.value) + "\n";
      return;
  }
}

}  // namespace

int64_t TensorMap::box_elements() const {
  int64_t n = 1;
  for (int64_t b : box) n *= b;
  return n;
}

int64_t swizzled(int64_t offset, int64_t row) {
  constexpr int64_t kChunk = 16, kBanks = 128;
  const int64_t turn = offset / std::max(row, kBanks) % std::min(row / kChunk, kBanks / kChunk);
  return offset ^ turn * kChunk;
}

ArgsLayout args_layout(const Nest& nest) {
  ArgsLayout layout;
  int next = ArgsLayout::kFirstTensor;
  for (const NestBuffer& b : nest.buffers) {
    if (b.home == Home::kArgument) layout.tensor_slots.push_back(next++);
  }
  for (const NestBuffer& b : nest.buffers) {
    if (b.home == Home::kBound) layout.bound_slots.push_back(next++);
  }
  for (size_t i = 0; i < nest.dims.size(); ++i) layout.dim_slots.push_back(next++);
  for (size_t i = 0; i < nest.scalars.size(); ++i) layout.scalar_slots.push_back(next++);
  return layout;
}

std::string print(const Nest& nest) {
  std::string out;
  for (const NestBuffer& b : nest.buffers) {
    out += std::string(kHomeNames[static_cast<int>(b.home)]) + " " + b.name + ": " +
           std::string(name_of(b.type)) + "[" + print(b.elements) + "]";
    if (b.home == Home::kWorker || b.home == Home::kWorkspace)
      out += " at " + std::to_string(b.offset);
    if (b.slots > 1) out += " slots " + std::to_string(b.slots);
    if (b.lanes != 32) out += " lanes " + std::to_string(b.lanes);
    if (b.swizzle) out += " swizzle " + std::to_string(b.swizzle);
    out += b.stream ? " stream\n" : "\n";
  }
  for (const TensorMap& m : nest.maps) out += "map of " + map_text(nest, m) + "\n";
  for (size_t p = 0; p < nest.pipes.size(); ++p) {
    out += "pipe " + std::to_string(p) + ": " + std::to_string(nest.pipes[p].stages) + " of " +
           std::to_string(nest.pipes[p].bytes) + " bytes" +
           (nest.pipes[p].specialized ? ", specialized" : "") +
           (nest.pipes[p].cluster > 1 ? ", by clusters\n" : "\n");
  }
  for (const Launch& l : nest.launches) {
    out += "launch " + l.name + " " + nest.loops[static_cast<size_t>(l.range)] + " in 0.." +
           print(l.extent) + (l.parallel ? " parallel" : "") +
           (l.mark == Mark::kSerial ? "" : " " + std::string(name_of(l.mark))) +
           (l.cluster > 1 ? " by " + std::to_string(l.cluster) : "") +
           (l.at_bind ? " at bind" : "") + ":\n";
    print_stmt(nest, *l.body, 1, out);
  }
  return out;
}

}  // namespace hone::ir
