// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/surveys.h"

#include <algorithm>

#include "jit/ir/instructions.h"
#include "jit/ir/integers.h"
#include "jit/ir/visit.h"
#include "jit/x86/select/expressions.h"
#include "jit/x86/select/tables.h"

namespace hone::jit {

using ir::Op;

namespace {

bool is_comparison_shape(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe;
}

/// Narrow floats are computed in f32, and conversions between floats and small integers go through
/// 32 bits.
int bytes_between(const ir::Expr& e) {
  if (e->op == Op::kCast) {
    const DType from = e->args[0]->type;
    return from != e->type && (is_float(from) || is_float(e->type)) ? 4 : 0;
  }
  if (e->op == Op::kInt || e->op == Op::kFloat || e->op == Op::kSelect) return 0;
  for (const ir::Expr& a : e->args) {
    if (is_narrow_float(a->type)) return 4;
  }
  return 0;
}

}  // namespace

const Survey& Surveys::of(const ir::ForStmt& loop) {
  const auto [known, fresh] = surveys_.try_emplace(&loop);
  Survey& out = known->second;
  if (!fresh) return out;
  for (const ir::StmtRef& child : loop.body) collect(*child, loop.loop, out);
  // Neither is done under the mask of the lanes that take a branch.
  if ((out.unmaskable || out.indexed) && out.lane_branches) out.unfit = true;
  for (const int buffer : tiles_along(loop)) {
    out.bytes = std::max(out.bytes, tile_bytes_[static_cast<size_t>(buffer)]);
  }
  out.lanes = out.unfit ? 1 : target_.vector_bytes() / std::max(out.bytes, 1);
  return out;
}

void Surveys::collect(const ir::Stmt& s, int variable, Survey& out) const {
  const auto scattered = [&](const ir::Expr& offset) {
    const auto c = ir::slope_in(offset, variable);
    return !c || (*c != 0 && *c != 1);
  };
  const auto look = [&](const ir::Expr& e) {
    ir::visit(e, [&](const ir::Expr& x) {
      if (x->op != Op::kLoad) return;
      out.indexed |= ir::mentions_load(x->args[0]);
      const ir::NestBuffer& b = nest_.buffers[x->id];
      if (b.home == ir::Home::kRegisters || !scattered(x->args[0])) return;
      const auto stride = ir::slope_in(x->args[0], variable);
      out.scattered = true;
      out.unmaskable |=
          x->guarded || !stride || !gathers_.gathers_under_mask(size_of(b.type), *stride);
    });
  };
  const auto store = [&](const ir::StoreStmt& x) {
    const DType type = nest_.buffers[x.buffer].type;
    const bool tile = nest_.buffers[x.buffer].home == ir::Home::kRegisters;
    out.bytes = std::max({out.bytes, lane_bytes(x.value, variable), size_of(type)});
    const bool across = !ir::mentions_loop(x.offset, variable);
    out.sums |= across && x.reduce != ir::Reduce::kNone;
    if (across && x.reduce != ir::Reduce::kNone && out.inner_loops) out.unfit = true;
    if (!tile && !across) {
      out.scattered |= scattered(x.offset);
      out.unmaskable |= scattered(x.offset);
    }
    out.indexed |= ir::mentions_load(x.offset);
    if (across && x.reduce == ir::Reduce::kNone) out.scattered = out.unmaskable = true;
    look(x.value);
  };
  const auto loop = [&](const ir::ForStmt& x) {
    if (ir::mentions_loop(x.begin, variable) || ir::mentions_loop(x.end, variable))
      out.unfit = true;
    if (x.mark == ir::Mark::kVector) out.unfit = true;
    out.indexed |= ir::mentions_load(x.begin) || ir::mentions_load(x.end);
    out.inner_loops |= x.mark != ir::Mark::kUnroll && x.mark != ir::Mark::kTensor;
  };
  const auto choice = [&](const ir::IfStmt& x) {
    if (ir::mentions_loop(x.condition, variable)) {
      if (!wide()) out.unfit = true;
      out.bytes = std::max(out.bytes, lane_bytes(x.condition, variable));
      out.lane_branches = true;
    }
    out.indexed |= ir::mentions_load(x.condition);
    look(x.condition);
  };
  const auto* dot = ir::as<ir::ForStmt>(s);
  if (dot != nullptr && dot->mark == ir::Mark::kTensor && wide()) {
    // Groups lie together, and a group is one element of the accumulator's.
    out.bytes = std::max(out.bytes, size_of(dot->instruction->accumulate));
    for (const ir::StmtRef& child : s.body) {
      const auto* sum = ir::as<ir::StoreStmt>(*child);
      out.sums |= sum != nullptr && !ir::mentions_loop(sum->offset, variable);
    }
    return;
  }
  const auto check = [&](const ir::CheckStmt& x) {
    out.bytes = std::max(out.bytes, lane_bytes(x.condition, variable));
    out.indexed |= ir::mentions_load(x.position);
    look(x.condition);
  };
  ir::visit(s, ir::Overloaded{store, loop, choice, check, [](const ir::SequenceStmt&) {},
                              [](const ir::PrefetchStmt&) {},
                              [&](const ir::GpuStmt&) { out.unfit = true; }});
  for (const ir::StmtRef& child : s.body) collect(*child, variable, out);
}

std::vector<int> Surveys::tiles_along(const ir::ForStmt& loop) const {
  std::vector<int> tiles;
  const auto see = [&](int buffer, const ir::Expr& offset) {
    if (nest_.buffers[buffer].home != ir::Home::kRegisters || !ir::mentions_loop(offset, loop.loop))
      return;
    if (std::find(tiles.begin(), tiles.end(), buffer) == tiles.end()) tiles.push_back(buffer);
  };
  ir::for_each(loop, [&](const ir::Stmt& s) {
    const auto* store = ir::as<ir::StoreStmt>(s);
    if (store == nullptr) return;
    see(store->buffer, store->offset);
    ir::visit(store->value, [&](const ir::Expr& x) {
      if (x->op == Op::kLoad) see(x->id, x->args[0]);
    });
  });
  return tiles;
}

void Surveys::agree_on_lanes(const ir::Stmt& s) {
  const auto* loop = ir::as<ir::ForStmt>(s);
  if (loop == nullptr || loop->mark != ir::Mark::kVector) {
    for (const ir::StmtRef& child : s.body) agree_on_lanes(*child);
    return;
  }
  Survey needs;
  for (const ir::StmtRef& child : s.body) collect(*child, loop->loop, needs);
  if (needs.unfit) return;
  ir::for_each(s, [&](const ir::Stmt& inner) {
    const auto* store = ir::as<ir::StoreStmt>(inner);
    if (store == nullptr || !ir::mentions_loop(store->offset, loop->loop) ||
        nest_.buffers[store->buffer].home != ir::Home::kRegisters) {
      return;
    }
    int& bytes = tile_bytes_[static_cast<size_t>(store->buffer)];
    bytes = std::max(bytes, needs.bytes);
  });
}

int Surveys::position_bytes(const ir::Expr& index) const {
  if (!ir::mentions_load(index)) return 0;
  if (index->op == Op::kAdd || index->op == Op::kSub) {
    return std::max(position_bytes(index->args[0]), position_bytes(index->args[1]));
  }
  const auto position = ir::narrowest(index);
  return position ? size_of(position->e->type) : 0;
}

int Surveys::lane_bytes(const ir::Expr& e, int variable) const {
  if (!e) return 0;
  if (e->type == DType::kI64 && !ir::mentions_loop(e, variable) && indices_.steers(e)) return 0;
  if (is_comparison_shape(e->op) && e->args[0]->type == DType::kI64 && !ir::mentions_load(e) &&
      indices_.steers(e)) {
    const auto a = ir::slope_in(e->args[0], variable), b = ir::slope_in(e->args[1], variable);
    if (a && b && *a - *b >= -1 && *a - *b <= 1) return 0;
  }
  int bytes = e->type == DType::kBool && e->op != Op::kLoad ? 0 : size_of(e->type);
  // Of a sum, lanes of any size are the first one's and a constant for each.
  if (e->op == Op::kCast && is_int(e->type) && e->args[0]->type == DType::kI64 &&
      ir::slope_in(e->args[0], variable) && indices_.steers(e->args[0])) {
    return bytes;
  }
  if (e->op == Op::kLoad) {
    for (size_t i = 1; i < e->args.size(); ++i) {
      bytes = std::max(bytes, lane_bytes(e->args[i], variable));
    }
    const bool looks_up = Tables::may_hold(nest_.buffers[e->id], target_);
    return looks_up ? std::max(bytes, position_bytes(e->args[0])) : bytes;
  }
  bytes = std::max(bytes, bytes_between(e));
  for (const ir::Expr& a : e->args) bytes = std::max(bytes, lane_bytes(a, variable));
  return bytes;
}

}  // namespace hone::jit
