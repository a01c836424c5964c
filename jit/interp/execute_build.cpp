// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/execute_build.h"

#include "jit/interp/scalar.h"
#include "jit/ir/visit.h"

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

/// The store that a body has and nothing else; null where it is another.
const ir::StoreStmt* only_store(const Stmt& s) {
  if (s.body.size() != 1) return nullptr;
  const Stmt& inside = *s.body[0];
  return ir::is<ir::SequenceStmt>(inside) ? only_store(inside) : ir::as<ir::StoreStmt>(inside);
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

  /// Vector loops run their iterations as lanes, but where these go on from one another. So does a
  /// serial loop around a single store that does not read its own results: values come out as they
  /// would in order.
  bool opens_lanes(const ir::ForStmt& loop, int lane) const {
    if (lane >= 0 || loop.scan) return false;
    if (loop.mark == ir::Mark::kVector) return true;
    const ir::StoreStmt* store = only_store(loop);
    return store && !reads(store->value, store->buffer) && !reads(store->offset, store->buffer);
  }

  ExecNode build(const Stmt& s, int lane) {
    ExecNode node;
    ir::visit(s, ir::Overloaded{
                     [&](const ir::ForStmt& loop) {
                       node.kind = ExecKind::kFor;
                       node.id = loop.loop;
                       node.tape = add_tape(lane, {loop.begin, loop.end});
                       node.opens_lanes = opens_lanes(loop, lane);
                       if (node.opens_lanes) lane = loop.loop;
                     },
                     [&](const ir::IfStmt& choice) {
                       node.kind = ExecKind::kIf;
                       node.tape = add_tape(lane, {choice.condition});
                     },
                     [&](const ir::StoreStmt& store) { add_store(store, lane, node); },
                     [&](const ir::CheckStmt& check) {
                       node.kind = ExecKind::kCheck;
                       node.tape = add_tape(lane, {check.condition, check.position});
                     },
                     [](const ir::SequenceStmt&) {},
                     [](const ir::PrefetchStmt&) {},
                     [](const ir::GpuStmt&) {},
                 });
    for (const StmtRef& b : s.body) {
      if (!ir::is<ir::PrefetchStmt>(*b)) node.body.push_back(build(*b, lane));
    }
    return node;
  }

  void add_store(const ir::StoreStmt& s, int lane, ExecNode& node) {
    const DType type = nest.buffers[static_cast<size_t>(s.buffer)].type;
    node.kind = ExecKind::kStore;
    node.id = s.buffer;
    node.reduce = s.reduce;
    node.tape = add_tape(lane, {s.offset, s.value}, &type);
    node.copies = s.value->op == Op::kLoad && !s.value->guarded && s.value->type == type &&
                  s.reduce == ir::Reduce::kNone;
  }
};

}  // namespace

NestProgram build_launch(const ir::Nest& nest, const ir::Launch& launch) {
  Builder builder{nest, {}};
  builder.program.root = builder.build(*launch.body, -1);
  return std::move(builder.program);
}

StmtTape build_size(const ir::Nest& nest, const Expr& size) {
  Builder builder{nest, {}};
  builder.add_tape(-1, {size});
  return std::move(builder.program.tapes[0]);
}

}  // namespace hone::jit
