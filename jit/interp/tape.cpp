// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/tape.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "jit/interp/scalar.h"

namespace hone::jit {

using ir::Op;

int TapeBuilder::constant(int64_t value) {
  TapeInstr in;
  in.i = value;
  return push(in);
}

int TapeBuilder::binary(Op op, DType type, int a, int b) {
  TapeInstr in;
  in.kind = TapeInstr::kExpr;
  in.op = op;
  in.type = type;
  in.a = a;
  in.b = b;
  return push(in);
}

void TapeBuilder::add_prefixes(const std::vector<Prefix>& prefixes) {
  std::vector<TapeInstr> parts(prefixes.size());
  for (size_t i = 0; i < prefixes.size(); ++i) {
    const ir::Scan& scan = prefixes[i].scan;
    parts[i].term = add(scan.term);
    if (!scan.factor) continue;
    parts[i].factor = add(scan.factor);
    parts[i].earlier = add(scan.earlier);
  }
  for (size_t i = 0; i < prefixes.size(); ++i) {
    TapeInstr& sum = tape_.code[static_cast<size_t>(add(prefixes[i].sum))];
    sum.term = parts[i].term;
    sum.factor = parts[i].factor;
    sum.earlier = parts[i].earlier;
  }
}

int TapeBuilder::push(TapeInstr instr) {
  instr.varying |= instr.kind == TapeInstr::kLane;
  for (int operand : {instr.a, instr.b, instr.c}) {
    if (operand < 0) continue;
    instr.varying |= varying(operand);
    instr.inexact |= tape_.code[static_cast<size_t>(operand)].inexact;
  }
  if (instr.a >= 0) instr.from = type(instr.a);
  if (instr.kind == TapeInstr::kExpr && is_float(instr.type)) instr.inexact = true;
  for (size_t i = tape_.code.size(); i-- > 0;) {
    const TapeInstr& known = tape_.code[i];
    const bool same_sign = std::signbit(known.f) == std::signbit(instr.f);  // of 0 and -0
    if (known == instr && same_sign) return static_cast<int>(i);
  }
  tape_.code.push_back(instr);
  return static_cast<int>(tape_.code.size()) - 1;
}

int TapeBuilder::add(const ir::Expr& e) {
  if (auto it = memo_.find(e.get()); it != memo_.end()) return it->second;
  const int reg = add_new(e);
  memo_.emplace(e.get(), reg);
  return reg;
}

int TapeBuilder::add_new(const ir::Expr& e) {
  TapeInstr in;
  in.type = e->type;
  switch (e->op) {
    case Op::kInt:
      in.i = e->i;
      return push(in);
    case Op::kFloat:
      in.f = round_to(e->type, e->f);
      return push(in);
    case Op::kVar:
    case Op::kDim:
    case Op::kScalar:
    case Op::kLoad:
      return leaf_(*this, e);
    default:
      break;
  }
  in.kind = TapeInstr::kExpr;
  in.op = e->op;
  in.fn = e->fn;
  in.a = add(e->args[0]);
  if (e->args.size() > 1) in.b = add(e->args[1]);
  if (e->args.size() > 2) in.c = add(e->args[2]);
  return push(in);
}

Tape TapeBuilder::take(const std::vector<int>& results) {
  for (const TapeInstr& in : tape_.code) {
    if (!in.varying) continue;
    for (int operand : {in.a, in.b, in.c, in.term, in.factor, in.earlier}) {
      if (operand >= 0) tape_.code[static_cast<size_t>(operand)].broadcast = true;
    }
  }
  for (int r : results) {
    if (r >= 0) tape_.code[static_cast<size_t>(r)].broadcast = true;
  }
  memo_.clear();
  return std::move(tape_);
}

Frame::Frame(const Tape& tape, bool with_bounds, int width) : width_(width) {
  const size_t n = tape.code.size() * static_cast<size_t>(width);
  values_.reset(new double[n]);
  if (with_bounds) bounds_ = std::make_unique<double[]>(n);
  for (size_t r = 0; r < tape.code.size(); ++r) {
    const TapeInstr& in = tape.code[r];
    if (in.kind != TapeInstr::kConst) continue;
    if (is_float(in.type)) {
      std::fill_n(f(static_cast<int>(r)), width, in.f);
    } else {
      std::fill_n(i(static_cast<int>(r)), width, in.i);
    }
  }
}

void Frame::poison_lane(const TapeInstr& instr, int l) {
  any_poison = true;
  if (instr.varying) {
    poison[l] = 1;
  } else {
    std::memset(poison, 1, sizeof poison);
  }
}

void Frame::clear_poison() {
  if (any_poison) std::memset(poison, 0, sizeof poison);
  any_poison = false;
}

}  // namespace hone::jit
