// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/buffer_allocation.h"

#include <algorithm>

#include "jit/ir/integers.h"
#include "jit/ir/recurrence.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/binding_time.h"
#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/warp_tiles.h"
#include "jit/passes/lower/windows.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Fixed by: a cache line.
constexpr int64_t kLine = 64;

/// A GPU's tensors are taken to be aligned to its longest access, unless they say otherwise.
/// Fixed by: CUDA.
constexpr int64_t kGpuAlign = 16;

}  // namespace

/// Row-major strides over the buffer's axes, or those it states.
Storage BufferAllocation::dense(const Buffer& b, std::vector<Poly> shape) {
  Storage s;
  s.axes = b.axes;
  if (s.axes.empty()) {
    for (size_t d = 0; d < shape.size(); ++d) s.axes.push_back({static_cast<int>(d)});
  }
  s.base.resize(shape.size());
  s.strides.resize(s.axes.size());
  Poly stride(1);
  for (size_t a = s.axes.size(); a-- > 0;) {
    Instance none;
    s.strides[a] = b.strides.empty() ? stride : accesses_.index(none, b.strides[a]);
    const Axis& axis = s.axes[a];
    const Poly extent = ceil_div(shape[static_cast<size_t>(axis.dim)], axis.div, &facts_);
    stride = stride * (axis.mod ? Poly(axis.mod) : extent);
    if (a + 1 == s.axes.size()) stride += Poly(b.pad);
  }
  s.shape = std::move(shape);
  return s;
}

/// The dim of a register tile along which its stage writes vectors: the last, unless the vector
/// loop derives from another one's variable.
size_t BufferAllocation::vector_dim(const Stage& s, size_t dims) {
  std::string v;
  for (const Loop& l : s.loops) {
    if (l.mark == Mark::kVector) v = l.name;
  }
  for (size_t f = 0; f < s.factored.size(); ++f) {
    if (s.factored[f] == v) return s.out_index.size() + f;
  }
  for (size_t r = s.relations.size(); r-- > 0;) {
    if (s.relations[r].outer == v || s.relations[r].inner == v) v = s.relations[r].parent;
  }
  for (size_t d = 0; d < s.out_index.size(); ++d) {
    if (s.out_index[d]->op == Op::kVar && s.out_index[d]->name == v) return d;
  }
  return dims - 1;
}

/// Elements of a window, all of whose extents are constant, with what lies between its rows.
int64_t BufferAllocation::elements_of(const Storage& s) {
  if (s.axes.empty()) return 1;
  const Axis& outer = s.axes[0];
  const Poly extent = ceil_div(s.shape[static_cast<size_t>(outer.dim)], outer.div, nullptr);
  return (outer.mod ? outer.mod : extent.constant()) * s.strides[0].constant();
}

/// Bytes of a row whose chunks are swizzled.
int64_t BufferAllocation::swizzled_row(const Buffer& b, const Storage& s) {
  const size_t rows = s.axes.size() < 2 ? 0 : s.axes.size() - 2;
  const int64_t row = s.axes.size() < 2 ? 0 : s.strides[rows].constant() * size_of(b.type);
  if (row >= 32 && (row & (row - 1)) == 0) return row;
  reject("swizzle=on of " + b.name + ": rows have " + std::to_string(row) +
         " bytes; rows of 32, 64, 128 and further powers of two can be swizzled, use pad= or a "
         "layout");
}

void BufferAllocation::add_parameters() {
  for (const Buffer& b : program_.buffers) {
    if (b.role == Role::kTemp) continue;
    std::vector<Poly> shape;
    Instance none;
    for (const Expr& e : b.shape) shape.push_back(accesses_.index(none, e));
    Storage s = dense(b, shape);
    NestBuffer n;
    n.name = b.name;
    n.type = b.type;
    n.home = Home::kArgument;
    n.align = b.align;
    if (target_.is_cuda() && b.align == 0) n.align = kGpuAlign;
    n.stream = b.stream;
    n.written = b.role != Role::kInput;
    Poly last;  // element offset of the last element
    for (size_t a = 0; a < s.axes.size(); ++a) {
      last += (shape[static_cast<size_t>(s.axes[a].dim)] - Poly(1)) * s.strides[a];
    }
    n.elements = (last + Poly(1)).expr();
    s.buffer = static_cast<int>(nest_.buffers.size());
    nest_.buffers.push_back(std::move(n));
    context_.storage.emplace_back(b.name, std::move(s));
  }
}

/// The longest that a window can be. One that data choose is checked to lie inside its tensor, of
/// `shape` elements there, whatever the types of the data allow.
std::optional<int64_t> BufferAllocation::most_of(const Span& window, const Expr& shape) {
  const auto most = facts_.upper(window.extent);
  if (!mentions_load(window.extent.expr())) return most;
  Instance none;
  const auto all = facts_.upper(accesses_.index(none, shape));
  if (!all) return most;
  return most ? std::min(*most, *all) : *all;
}

void BufferAllocation::allocate(int stage, const std::vector<Span>& window) {
  const Stage& st = program_.stages[static_cast<size_t>(stage)];
  windows_.check_covered(st, window);
  const Buffer& b = *program_.buffer(st.output);
  const auto carried = carried_state(program_, st);
  std::vector<Poly> shape;
  for (size_t d = 0; d < window.size(); ++d) {
    if (carried && carried->dim == d) {
      shape.push_back(carried->kept);
      continue;
    }
    auto most = most_of(window[d], b.shape[d]);
    if (!most) {
      reject("the window of " + b.name + " in dim " + std::to_string(d) +
             " has no constant upper bound: " + print(window[d].extent.expr()));
    }
    shape.push_back(std::max<int64_t>(*most, 1));
  }
  Buffer laid = b;
  if (b.space == Space::kRegisters && b.axes.empty() && !shape.empty()) {
    const size_t v = vector_dim(st, shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != v) laid.axes.push_back({static_cast<int>(d)});
    }
    laid.axes.push_back({static_cast<int>(v)});
    // Rows of a register tile start on a vector of their own.
    const int64_t lanes = std::max(1, target_.vector_bytes() / size_of(b.type));
    if (shape[v].constant() > 1) shape[v] = round_up(shape[v].constant(), lanes);
  }
  WarpLayout held;
  if (b.space == Space::kWarp) {
    held = tiles_.layout_of(b);
    laid.axes = held.axes;
  }
  Storage s = dense(laid, std::move(shape));
  for (size_t d = 0; d < window.size(); ++d) s.base[d] = window[d].lo;
  if (carried) {
    s.carried = static_cast<int>(carried->dim);
    s.base[carried->dim] = 0;
  }
  const int64_t total = elements_of(s);
  NestBuffer n;
  n.name = b.name;
  n.type = b.type;
  n.elements = make_int(total);
  n.max_bytes = total * size_of(b.type);
  n.align = kLine;
  n.written = true;
  if (b.space == Space::kRegisters) {
    n.home = Home::kRegisters;
  } else if (b.space == Space::kSharedMemory) {
    n.home = Home::kSharedMemory;
    if (b.swizzle) n.swizzle = swizzled_row(b, s);
  } else if (b.space == Space::kWarp) {
    n.home = Home::kWarp;
    n.lanes = held.lanes;
  } else {
    n.home = Home::kWorker;
    n.offset = worker_top_;
    worker_top_ = round_up(worker_top_ + n.max_bytes, kLine);
    nest_.worker_bytes = std::max(nest_.worker_bytes, worker_top_);
  }
  s.buffer = static_cast<int>(nest_.buffers.size());
  nest_.buffers.push_back(std::move(n));
  context_.storage.emplace_back(b.name, std::move(s));
}

void BufferAllocation::release(const Live& since) {
  context_.storage.resize(since.buffers);
  worker_top_ = since.worker_bytes;
}

void BufferAllocation::allocate_root(int stage) {
  const Stage& st = program_.stages[static_cast<size_t>(stage)];
  const Buffer& b = *program_.buffer(st.output);
  if (b.role != Role::kTemp) return;
  if (b.space != Space::kRoot && b.space != Space::kScratch) {
    reject("stage " + st.name + " is at the root, which has no " + std::string(name_of(b.space)) +
           "; use compute " + st.name + " at a loop, or in=scratch");
  }
  Instance none;
  std::vector<Poly> shape;
  // An empty range may be given backwards: no elements all the same.
  for (const Expr& e : b.shape) shape.push_back(max(0, accesses_.index(none, e), &facts_));
  Storage s = dense(b, std::move(shape));
  Poly total(1);
  for (const Axis& a : s.axes) {
    const Poly extent = ceil_div(s.shape[static_cast<size_t>(a.dim)], a.div, &facts_);
    total = total * (a.mod ? Poly(a.mod) : extent);
  }
  auto most = facts_.upper(total);
  if (!most) reject("the size of " + b.name + " has no constant upper bound");
  NestBuffer n;
  n.name = b.name;
  n.type = b.type;
  n.elements = total.expr();
  n.max_bytes = std::max<int64_t>(*most, 1) * size_of(b.type);
  n.align = kLine;
  n.stream = b.stream;
  n.written = true;
  n.home = binding_.is_bound(st) ? Home::kBound : Home::kWorkspace;
  if (n.home == Home::kWorkspace) {
    n.offset = nest_.workspace_bytes;
    nest_.workspace_bytes = round_up(nest_.workspace_bytes + n.max_bytes, kLine);
  }
  s.buffer = static_cast<int>(nest_.buffers.size());
  nest_.buffers.push_back(std::move(n));
  context_.storage.emplace_back(b.name, std::move(s));
}

}  // namespace hone::jit
