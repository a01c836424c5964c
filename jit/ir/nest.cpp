// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/nest.h"

#include <algorithm>

#include "jit/ir/instructions.h"
#include "jit/ir/visit.h"

namespace hone::ir {
namespace {

constexpr std::string_view kHomeNames[] = {"argument",  "bound",  "workspace", "worker",
                                           "registers", "shared", "warp"};

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

/// Prints statements, indented.
class StmtPrinter {
 public:
  StmtPrinter(const Nest& nest, std::string& out) : nest_(nest), out_(out) {}

  void print_at(const Stmt& s, int depth) {
    depth_ = depth;
    visit(s, *this);
  }

  void operator()(const SequenceStmt& s) {
    for (const StmtRef& b : s.body) visit(*b, *this);
  }
  void operator()(const ForStmt& s) {
    line(keyword_of(s) + " " + nest_.loops[static_cast<size_t>(s.loop)] + " in " + print(s.begin) +
         ".." + print(s.end) + (s.gpu.cluster > 1 ? " by " + std::to_string(s.gpu.cluster) : "") +
         ":");
    body(s);
  }
  void operator()(const IfStmt& s) {
    line("if " + print(s.condition) + ":");
    inside(s.then());
    if (s.otherwise() == nullptr) return;
    line("else:");
    inside(*s.otherwise());
  }
  void operator()(const StoreStmt& s) {
    const std::string how = s.reduce == Reduce::kNone ? "" : std::string(name_of(s.reduce));
    line((s.async ? "async " : "") + place(s.buffer, s.offset) + " " + how + "= " + print(s.value));
  }
  void operator()(const PrefetchStmt& s) { line("prefetch " + place(s.buffer, s.offset)); }
  void operator()(const CheckStmt& s) {
    line("check " + print(s.condition) + " at " + print(s.position));
  }
  void operator()(const TeamStmt& s) {
    line("team:");
    body(s);
  }
  void operator()(const BarrierStmt&) { line("barrier"); }
  void operator()(const CopyCommitStmt&) { line("copy commit"); }
  void operator()(const CopyWaitStmt& s) { line("copy wait " + std::to_string(s.pending)); }
  void operator()(const WgmmaFenceStmt& s) {
    line("wgmma fence" + (s.buffer < 0 ? "" : " " + name(s.buffer)));
  }
  void operator()(const WgmmaCommitStmt&) { line("wgmma commit"); }
  void operator()(const WgmmaWaitStmt& s) { line("wgmma wait " + std::to_string(s.pending)); }
  void operator()(const TmaCopyStmt& s) {
    std::string at;
    for (const Expr& e : s.at) at += (at.empty() ? "" : ", ") + print(e);
    const std::string from = name(nest_.maps[static_cast<size_t>(s.map)].buffer);
    line("tma copy of " + from + "[" + at + "] to " + place(s.buffer, s.offset) +
         (s.cluster > 1 ? " of all " + std::to_string(s.cluster) + " blocks" : "") + ":");
    body(s);
  }
  void operator()(const FillStmt& s) {
    line("fill pipe " + pipe(s) + ":");
    body(s);
  }
  void operator()(const ReadyStmt& s) { line("ready pipe " + pipe(s)); }
  void operator()(const ReleaseStmt& s) { line("release pipe " + pipe(s)); }

 private:
  /// How a loop runs.
  static std::string keyword_of(const ForStmt& loop) {
    if (loop.mark == Mark::kTensor) return std::string(loop.instruction->name);
    if (loop.scan) return "scan";
    return loop.mark == Mark::kSerial ? "for" : std::string(name_of(loop.mark));
  }

  const std::string& name(int buffer) const {
    return nest_.buffers[static_cast<size_t>(buffer)].name;
  }
  std::string place(int buffer, const Expr& offset) const {
    return name(buffer) + "[" + print(offset) + "]";
  }
  template <class T>
  static std::string pipe(const T& s) {
    return std::to_string(s.pipe) + " at " + print(s.position);
  }

  void line(const std::string& text) {
    out_.append(2 * static_cast<size_t>(depth_), ' ');
    out_ += text + "\n";
  }
  void inside(const Stmt& s) {
    ++depth_;
    visit(s, *this);
    --depth_;
  }
  void body(const Stmt& s) {
    for (const StmtRef& b : s.body) inside(*b);
  }

  const Nest& nest_;
  std::string& out_;
  int depth_ = 0;
};

}  // namespace

int64_t TensorMap::box_elements() const {
  int64_t n = 1;
  for (int64_t b : box) n *= b;
  return n;
}

int64_t swizzled(int64_t offset, int64_t row) {
  // Fixed by: TMA, whose swizzle it is.
  constexpr int64_t kChunk = 16, kBanks = 128;
  const int64_t mask = offset / std::max(row, kBanks) % std::min(row / kChunk, kBanks / kChunk);
  return offset ^ mask * kChunk;
}

Expr make_nest_load(const NestBuffer& buffer, int id, Expr offset) {
  Node n;
  n.op = Op::kLoad;
  n.type = buffer.type;
  n.id = id;
  n.name = buffer.name;
  n.args.push_back(std::move(offset));
  return make_node(std::move(n));
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
    if (b.depth > 1) out += " depth " + std::to_string(b.depth);
    if (b.lanes != 32) out += " lanes " + std::to_string(b.lanes);
    if (b.swizzle) out += " swizzle " + std::to_string(b.swizzle);
    out += b.stream ? " stream\n" : "\n";
  }
  for (const TensorMap& m : nest.maps) out += "map of " + map_text(nest, m) + "\n";
  for (size_t p = 0; p < nest.pipes.size(); ++p) {
    out += "pipe " + std::to_string(p) + ": " + std::to_string(nest.pipes[p].depth) + " of " +
           std::to_string(nest.pipes[p].bytes) + " bytes" +
           (nest.pipes[p].specialized ? ", specialized" : "") +
           (nest.pipes[p].cluster > 1 ? ", by clusters\n" : "\n");
  }
  for (const Launch& l : nest.launches) {
    if (l.before) {
      out += "before " + l.name + ":\n";
      StmtPrinter(nest, out).print_at(*l.before, 1);
    }
    out += "launch " + l.name + " " + nest.loops[static_cast<size_t>(l.range)] + " in 0.." +
           print(l.extent) + (l.parallel ? " parallel" : "") +
           (l.mark == Mark::kSerial ? "" : " " + std::string(name_of(l.mark))) +
           (l.cluster > 1 ? " by " + std::to_string(l.cluster) : "") +
           (l.at_bind ? " at bind" : "") + ":\n";
    StmtPrinter(nest, out).print_at(*l.body, 1);
  }
  return out;
}

}  // namespace hone::ir
