// SPDX-License-Identifier: Apache-2.0
// What data must hold before anything is written.
#include "jit/passes/lowering.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Threads of a block that walks a check.
constexpr int64_t kThreads = 256;

/// A loop over a variable of a check.
struct CheckLoop {
  int id;
  Mark mark;
  Poly begin, end;
};

StmtRef loop(const CheckLoop& l, StmtRef body) {
  Stmt s;
  s.kind = Stmt::kFor;
  s.id = l.id;
  s.mark = l.mark;
  s.begin = l.begin.expr();
  s.end = l.end.expr();
  s.body = {std::move(body)};
  return std::make_shared<const Stmt>(std::move(s));
}

}  // namespace

/// One launch that walks every check; it must see no bad position before anything is written. On a
/// GPU its range is blocks of threads along each check's outermost variable.
void Lowering::add_checks() {
  if (program_.checks.empty()) return;
  Launch launch;
  launch.name = "checks";
  launch.range = new_loop("checks", 0, 1);
  if (target_.is_cuda()) launch.mark = Mark::kBlockX;
  Stmt body;
  Poly extent(1);
  for (const Check& c : program_.checks) {
    Poly own(1);
    StmtRef walked = walk_check(c, launch, own);
    extent = max(extent, own, &facts_);
    Stmt part;
    part.kind = Stmt::kIf;
    part.condition = make_binary(Op::kLt, make_var("checks", launch.range), own.expr());
    part.body = {walked};
    body.body.push_back(target_.is_cuda() ? std::make_shared<const Stmt>(std::move(part)) : walked);
  }
  launch.extent = extent.expr();
  launch.body = std::make_shared<const Stmt>(std::move(body));
  nest_.launches.push_back(std::move(launch));
  for (const Check& c : program_.checks) {
    const Expr& value = c.value->op == Op::kCast ? c.value->args[0] : c.value;
    int64_t lo = 0;
    if (value->op != Op::kLoad || !is_const(c.lo, &lo)) continue;
    Instance none;
    facts_.define_elements(value->name, Poly(lo), index(none, c.hi));
  }
}

/// The loops over a check's variables. On a GPU the outermost is spread over `blocks` of the
/// launch, and their threads.
StmtRef Lowering::walk_check(const Check& c, const Launch& launch, Poly& blocks) {
  Stage s;  // a stage without output, so that variables translate as usual
  s.name = "check";
  s.vars = c.vars;
  StageLoops loops(s);
  Instance in;
  in.loops = &loops;
  in.value.resize(loops.nodes.size());
  in.base.resize(loops.nodes.size());
  std::vector<CheckLoop> nest;
  const auto open = [&](const std::string& name, Mark mark, Poly begin, Poly end) {
    const int id = new_loop(name, begin, end);
    nest.push_back({id, mark, std::move(begin), std::move(end)});
    return Poly::atom(make_var(name, id));
  };
  for (size_t v = 0; v < c.vars.size(); ++v) {
    const Poly lo = c.vars[v].lo ? index(in, c.vars[v].lo) : Poly();
    const Poly hi = index(in, c.vars[v].hi);
    const std::string name = "check/" + c.vars[v].name;
    in.window.push_back({0, hi});
    if (launch.mark == Mark::kSerial || v > 0) {
      in.value[v] = open(name, Mark::kSerial, lo, hi);
      continue;
    }
    const Poly count = max(0, hi - lo, &facts_);
    blocks = ceil_div(count, kThreads, &facts_);
    facts_.define_loop(launch.range, Poly(), blocks);
    const Poly base = Poly(kThreads) * Poly::atom(make_var("checks", launch.range));
    in.value[v] = lo + base + open(name, Mark::kThreadX, 0, min(kThreads, count - base, &facts_));
  }
  Stmt check;
  check.kind = Stmt::kCheck;
  const Expr value = translate(in, c.value);
  check.condition = make_binary(
      Op::kAnd, make_binary(Op::kLe, make_cast(value->type, translate(in, c.lo)), value),
      make_binary(Op::kLe, value, make_cast(value->type, translate(in, c.hi))));
  check.value = index(in, c.position).expr();
  StmtRef inner = std::make_shared<const Stmt>(std::move(check));
  for (size_t v = nest.size(); v-- > 0;) inner = loop(nest[v], std::move(inner));
  return inner;
}

}  // namespace hone::jit
