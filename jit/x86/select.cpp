// SPDX-License-Identifier: Apache-2.0
// The walk over a launch's statements.
#include "jit/x86/select.h"

#include <limits>

#include "jit/x86/encode/machine.h"
#include "jit/x86/select_context.h"
#include "jit/x86/select_fold.h"

namespace hone::jit {

using ir::Op;
using ir::Stmt;

namespace {

/// True when the places of two buffers in scratch or workspace overlap.
bool share_memory(const ir::NestBuffer& a, const ir::NestBuffer& b) {
  if (a.home != b.home) return false;
  if (a.home != ir::Home::kWorker && a.home != ir::Home::kShared) return false;
  return a.offset < b.offset + b.max_bytes && b.offset < a.offset + a.max_bytes;
}

std::vector<uint64_t> buffers_sharing(const ir::Nest& nest) {
  std::vector<uint64_t> bits(nest.buffers.size());
  for (size_t a = 0; a < bits.size(); ++a) {
    for (size_t b = 0; b < bits.size(); ++b) {
      const bool same = a == b || share_memory(nest.buffers[a], nest.buffers[b]);
      if (same) bits[a] |= CodeWriter::buffer_bit(static_cast<int>(b));
    }
  }
  return bits;
}

}  // namespace

Result<Lir, Refusal> select(const ir::Nest& nest, const ir::Launch& launch,
                            const ir::Target& target) {
  if (target.vector_bytes() == 0) {
    return Refusal{"the target has no AVX2; accepted: isa=avx2 or isa=avx512"};
  }
  Selector selector(nest, launch, target);
  if (!selector.run()) return Refusal{launch.name + ": " + selector.refusal};
  return std::move(selector.code.lir);
}

Selector::Selector(const ir::Nest& nest, const ir::Launch& launch, const ir::Target& target)
    : code(registers_of(target)),
      nest_(nest),
      launch_(launch),
      target_(target),
      layout_(ir::args_layout(nest)),
      bindings_(nest.loops.size()),
      tiles_(nest.buffers.size()),
      tile_bytes_(nest.buffers.size()) {
  code.sharing = buffers_sharing(nest);
  agree_on_lanes(*launch.body);
}

void Selector::refuse(std::string why) {
  if (refusal.empty()) refusal = std::move(why);
}

bool Selector::run() {
  open(Scope::kFunction, 0);
  prologue();
  const int exit = code.lir.label();
  const Reg status =
      code.define(RegClass::kGpr, 8, X86::mov, {mem(argument(ir::ArgsLayout::kStatus))});
  const Reg fine = constant_gpr(std::numeric_limits<int64_t>::max());
  Mem m;
  m.base = status;
  code.emit(X86::cmp, {mem(m), greg(fine)});
  code.emit(Pseudo::jump_ne, {imm(exit)});
  const auto version = [&](bool streaming) {
    streaming_ = streaming;
    // What is computed here is known here only.
    open(Scope::kPlain, 0, false);
    range_loop();
    const Scope body = close();
    code.splice(code.top().body, body.pre);
    code.splice(code.top().body, body.body);
  };
  const uint64_t streams = streamed_by(*launch_.body);
  if (streams != 0) {
    // Non-temporal stores need aligned tensors, which only the call knows.
    const int unaligned = code.lir.label();
    branch_unless_aligned(streams, unaligned);
    version(true);
    code.emit(X86::sfence, {});
    code.emit(Pseudo::jump, {imm(exit)});
    code.emit(Pseudo::label, {imm(unaligned)});
  }
  version(false);
  code.emit(Pseudo::label, {imm(exit)});
  code.emit(Pseudo::ret, {});
  const Scope function = close();
  if (failed()) return false;
  code.finish(function.body);
  fold_loads(code.lir, wide());
  return true;
}

void Selector::prologue() {
  for (Reg* reg : {&args_, &begin_, &end_, &scratch_}) *reg = code.make(RegClass::kGpr);
  code.lir.entry = {args_, begin_, end_, scratch_};
}

void Selector::walk(const Stmt& s) {
  if (failed()) return;
  switch (s.kind) {
    case Stmt::kBlock:
      for (const ir::StmtRef& child : s.body) walk(*child);
      return;
    case Stmt::kFor:
      return walk_for(s);
    case Stmt::kIf:
      return walk_if(s);
    case Stmt::kStore:
      return store(s);
    case Stmt::kPrefetch:
      return prefetch(s);
    case Stmt::kCheck:
      return check(s);
    case Stmt::kTeam:
    case Stmt::kBarrier:
    case Stmt::kCommit:
    case Stmt::kWait:
    case Stmt::kOpen:
    case Stmt::kClose:
    case Stmt::kJoin:
    case Stmt::kCopyBox:
    case Stmt::kFill:
    case Stmt::kReady:
    case Stmt::kRelease:
      return refuse("the threads of a block are a GPU's");
  }
}

void Selector::walk_if(const Stmt& s) {
  const ir::StmtRef otherwise = s.body.size() > 1 ? s.body[1] : nullptr;
  bool holds = false;
  if (decided(s.condition, holds)) {
    if (holds) walk(*s.body[0]);
    if (!holds && otherwise) walk(*otherwise);
    return;
  }
  if (depends_on_lane(s.condition)) return walk_lane_if(s);
  const int no = code.lir.label();
  const int done = code.lir.label();
  const uint64_t written = written_by(s);
  branch_unless(s.condition, no);
  const auto side = [&](const Stmt& body) {
    open(Scope::kBranch, written, false);
    ++conditions_;
    walk(body);
    --conditions_;
    const Scope branch = close();
    code.splice(code.top().body, branch.pre);
    code.splice(code.top().body, branch.body);
  };
  side(*s.body[0]);
  if (otherwise) code.emit(Pseudo::jump, {imm(done)});
  code.emit(Pseudo::label, {imm(no)});
  if (otherwise) {
    side(*otherwise);
    code.emit(Pseudo::label, {imm(done)});
  }
}

/// AVX-512: both sides one after the other, each for the lanes that take it.
void Selector::walk_lane_if(const Stmt& s) {
  if (!wide()) return refuse("a branch that differs between lanes needs AVX-512");
  const Value taken = value(s.condition);
  if (failed()) return;
  const Reg outer = lanes_.condition;
  const auto side = [&](const Value& mask, const Stmt& body) {
    lanes_.condition =
        outer.valid() ? mask_logic(Op::kAnd, {outer, DType::kBool, 0}, mask).reg : mask.reg;
    walk(body);
    lanes_.condition = outer;
  };
  side(taken, *s.body[0]);
  if (s.body.size() > 1 && s.body[1]) side(mask_not(taken), *s.body[1]);
}

/// True when the condition is the same whatever the loops do; `holds` tells which way.
bool Selector::decided(const ir::Expr& e, bool& holds) {
  if (is_const(e)) {
    holds = e->i != 0;
    return true;
  }
  for (const Assumption& known : assumed_) {
    if (!ir::equal(*known.condition, e)) continue;
    holds = known.holds;
    return true;
  }
  bool a = false, b = false;
  switch (e->op) {
    case Op::kAnd:
    case Op::kOr: {
      const bool decisive = e->op == Op::kOr;
      const bool left = decided(e->args[0], a), right = decided(e->args[1], b);
      if ((left && a == decisive) || (right && b == decisive)) {
        holds = decisive;
        return true;
      }
      holds = !decisive;
      return left && right;
    }
    case Op::kNot:
      if (!decided(e->args[0], a)) return false;
      holds = !a;
      return true;
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
      return decided_comparison(e, holds);
    default:
      return false;
  }
}

bool Selector::decided_comparison(const ir::Expr& e, bool& holds) {
  if (e->args[0]->type != DType::kI64 || has_load(e)) return false;
  Affine a, b;
  if (!lane_index(e->args[0], a) || !lane_index(e->args[1], b)) return false;
  const Affine d = a - b;
  int64_t least, most;
  if (failed() || !range_of(d, least, most)) return false;
  switch (e->op) {
    case Op::kLt:
      holds = most < 0;
      return most < 0 || least >= 0;
    case Op::kLe:
      holds = most <= 0;
      return most <= 0 || least > 0;
    default: {
      const bool never = most < 0 || least > 0, always = least == 0 && most == 0;
      holds = (e->op == Op::kEq) == always;
      return never || always;
    }
  }
}

bool Selector::has_load(const ir::Expr& e) {
  bool found = false;
  ir::visit(e, [&](const ir::Expr& x) { found |= x->op == Op::kLoad; });
  return found;
}

/// Lowers the status word to `value` unless the condition holds.
void Selector::check(const Stmt& s) {
  bool holds = false;
  if (decided(s.condition, holds) && holds) return;
  if (lanes_.loop >= 0) return refuse("a check inside a vector loop");
  const int bad = code.lir.label(), fine = code.lir.label();
  const auto failing = [&] {
    open(Scope::kBranch, 0, false);
    const Reg position = gpr(affine(s.value));
    const Reg status =
        code.define(RegClass::kGpr, 8, X86::mov, {mem(argument(ir::ArgsLayout::kStatus))});
    Mem m;
    m.base = status;
    code.emit(X86::cmp, {mem(m), greg(position)});
    code.emit(Pseudo::jump_le, {imm(fine)});
    code.emit(X86::mov, {mem(m), greg(position)});
    const Scope branch = close();
    code.splice(code.top().body, branch.pre);
    code.splice(code.top().body, branch.body);
  };
  branch_unless(s.condition, bad);
  code.emit(Pseudo::jump, {imm(fine)});
  code.emit(Pseudo::label, {imm(bad)});
  failing();
  code.emit(Pseudo::label, {imm(fine)});
}

}  // namespace hone::jit
