// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/execute_build.h"

#include "jit/interp/scalar.h"

namespace hone::jit {
namespace {

using ir::Expr;
using ir::Op;
using ir::Stmt;
using ir::StmtRef;

/// Lowers the leaves of a nest's expressions.
struct NestLeaves {
  EnvLayout layout;
  int lane;  ///< the loop whose iterations are lanes, -1: none

  int operator()(TapeBuilder& tape, const Expr& e) const {
    TapeInstr in;
    in.type = e->type;
    in.kind = TapeInstr::kEnv;
    switch (e->op) {
      case Op::kVar:
        if (e->id == lane) in.kind = TapeInstr::kLane;
        in.slot = e->id == lane ? 0 : e->id;
        break;
      case Op::kDim:
        in.slot = layout.dim(e->id);
        break;
      case Op::kScalar:
        in.slot = is_float(e->type) ? e->id : layout.scalar(e->id);
        break;
      default:
        in.kind = TapeInstr::kLoad;
        in.slot = e->id;
        in.a = tape.add(e->args[0]);
        if (e->guarded) {
          in.b = tape.add(e->args[1]);
          in.c = tape.add(e->args[2]);
        }
    }
    return tape.push(in);
  }
};

bool reads(const Expr& e, int buffer) {
  bool found = false;
  ir::visit(e, [&](const Expr& n) { found |= n->op == Op::kLoad && n->id == buffer; });
  return found;
}

const Stmt* only_statement(const StmtRef& s) {
  if (s->kind != Stmt::kSequence) return s.get();
  return s->body.size() == 1 ? only_statement(s->body[0]) : nullptr;
}

struct Builder {
  const ir::Nest& nest;
  NestProgram program;

  EnvLayout layout() const {
    return {static_cast<int>(nest.loops.size()), static_cast<int>(nest.dims.size())};
  }

  int add_tape(int lane, const std::vector<Expr>& exprs, const DType* store_type = nullptr) {
    TapeBuilder builder(NestLeaves{layout(), lane});
    StmtTape out;
    out.lanes = lane >= 0;
    for (const Expr& e : exprs) out.results.push_back(builder.add(e));
    if (store_type && is_float(*store_type) != is_float(exprs.back()->type)) {
      TapeInstr cast;
      cast.kind = TapeInstr::kExpr;
      cast.op = Op::kCast;
      cast.type = *store_type;
      cast.a = out.results.back();
      out.results.back() = builder.push(cast);
    }
    out.tape = builder.take(out.results);
    program.tapes.push_back(std::move(out));
    return static_cast<int>(program.tapes.size()) - 1;
  }

  /// Vector loops run their iterations as lanes. So does a serial loop around a single store that
  /// does not read its own results: values come out as they would in order.
  bool opens_lanes(const Stmt& loop, int lane) const {
    if (lane >= 0) return false;
    if (loop.mark == ir::Mark::kVector) return true;
    const Stmt* store = loop.body.size() == 1 ? only_statement(loop.body[0]) : nullptr;
    if (!store || store->kind != Stmt::kStore) return false;
    return !reads(store->value, store->id) && !reads(store->offset, store->id);
  }

  ExecNode build(const StmtRef& s, int lane) {
    ExecNode node;
    node.kind = s->kind;
    node.id = s->id;
    node.reduce = s->reduce;
    switch (s->kind) {
      case Stmt::kFor:
        node.tape = add_tape(lane, {s->begin, s->end});
        node.opens_lanes = opens_lanes(*s, lane);
        if (node.opens_lanes) lane = s->id;
        break;
      case Stmt::kIf:
        node.tape = add_tape(lane, {s->condition});
        break;
      case Stmt::kStore: {
        const DType type = nest.buffers[static_cast<size_t>(s->id)].type;
        node.tape = add_tape(lane, {s->offset, s->value}, &type);
        node.copies = s->value->op == Op::kLoad && !s->value->guarded && s->value->type == type &&
                      s->reduce == ir::Reduce::kNone;
        break;
      }
      case Stmt::kCheck:
        node.tape = add_tape(lane, {s->condition, s->value});
        break;
      default:
        break;
    }
    for (const StmtRef& b : s->body) {
      if (b->kind != Stmt::kPrefetch) node.body.push_back(build(b, lane));
    }
    return node;
  }
};

}  // namespace

NestProgram build_launch(const ir::Nest& nest, const ir::Launch& launch) {
  Builder builder{nest, {}};
  builder.program.root = builder.build(launch.body, -1);
  return std::move(builder.program);
}

StmtTape build_size(const ir::Nest& nest, const Expr& size) {
  Builder builder{nest, {}};
  builder.add_tape(-1, {size});
  return std::move(builder.program.tapes[0]);
}

}  // namespace hone::jit
