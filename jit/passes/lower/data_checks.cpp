// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/data_checks.h"

#include <algorithm>

#include "jit/ir/build.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/expressions.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Threads of a block that walks a check.
/// Chosen: warps enough for any multiprocessor (not measured).
constexpr int64_t kThreads = 256;

/// A loop over a variable of a check.
struct CheckLoop {
  int id;
  Mark mark;
  Poly begin, end;
};

/// Loops with bounds of their own in the order of positions: so data are read as they lie.
void put_in_memory_order(std::vector<CheckLoop>& nest, const Expr& position) {
  const auto depends = [&](const Poly& bound) {
    return std::any_of(nest.begin(), nest.end(),
                       [&](const CheckLoop& l) { return mentions_loop(bound.expr(), l.id); });
  };
  for (const CheckLoop& l : nest) {
    if (depends(l.begin) || depends(l.end) || !slope_in(position, l.id)) return;
  }
  std::stable_sort(nest.begin(), nest.end(), [&](const CheckLoop& a, const CheckLoop& b) {
    return *slope_in(position, a.id) > *slope_in(position, b.id);
  });
}

/// Whether a loop over a check's innermost variable goes up in memory and in positions.
bool runs_as_vectors(const Expr& condition, const Expr& position, int loop) {
  bool together = true, runs = false;
  visit(condition, [&](const Expr& e) {
    if (e->op != Op::kLoad) return;
    const auto step = slope_in(e->args[0], loop);
    together &= step && (*step == 0 || *step == 1);
    runs |= step == 1;
  });
  const auto up = slope_in(position, loop);
  return together && runs && up && *up >= 0;
}

StmtRef loop(const CheckLoop& l, StmtRef body) {
  return make_for(l.id, l.mark, l.begin.expr(), l.end.expr(), {std::move(body)});
}

}  // namespace

void DataChecks::add() {
  if (program_.checks.empty()) return;
  Launch launch;
  launch.name = "checks";
  launch.range = new_loop("checks", 0, 1);
  if (target_.is_cuda()) launch.mark = Mark::kBlockX;
  std::vector<StmtRef> body;
  Poly extent(1);
  for (const Check& c : program_.checks) {
    Poly own(1);
    StmtRef walked = walk_check(c, launch, own);
    extent = max(extent, own, &facts_);
    if (target_.is_cuda()) {
      walked = make_if(make_binary(Op::kLt, make_var("checks", launch.range), own.expr()), walked);
    }
    body.push_back(std::move(walked));
  }
  launch.extent = extent.expr();
  launch.body = make_sequence(std::move(body));
  nest_.launches.push_back(std::move(launch));
  for (const Check& c : program_.checks) define_checked(c);
}

/// What a check of `a*T[...] + c` says of the elements of T that it looks at. Those are all, or of
/// a tensor of one dim, a run of them; what else there is, is tested where it is read.
void DataChecks::define_checked(const Check& c) {
  const Poly value = Poly::of(c.value);
  if (value.terms().size() != 1 || value.wraps() || value.terms()[0].factors.size() != 1) return;
  const int64_t a = value.terms()[0].coef;
  const Expr& read = value.terms()[0].factors[0];
  const Expr& load = read->op == Op::kCast ? read->args[0] : read;
  const bool whole = size_of(read->type) >= size_of(load->type) && is_int(load->type);
  if (load->op != Op::kLoad || load->guarded || !whole) return;
  Facts::Elements known{load->name, {}, {}, {}};
  if (!looks_at_all(c, load) && !looks_at_run(c, load, known)) return;
  Instance none;
  const Expr lo = end_of(c, c.lo), hi = end_of(c, c.hi);
  const Poly offset(value.constant()), step(a > 0 ? a - 1 : -a - 1);
  // a*x + c in lo..hi: x in ceil((lo-c)/a)..floor((hi-c)/a), and the other way round below 0.
  const int64_t k = a > 0 ? a : -a;
  if (lo) {
    const Poly least = accesses_.index(none, lo) - offset;
    if (a > 0) known.lo = floor_div(least + step, k, &facts_);
    if (a < 0) known.hi = floor_div(Poly() - least, k, &facts_);
  }
  if (hi) {
    const Poly most = accesses_.index(none, hi) - offset;
    if (a > 0) known.hi = floor_div(most, k, &facts_);
    if (a < 0) known.lo = floor_div(step - most, k, &facts_);
  }
  if (known.lo || known.hi) facts_.define_elements(std::move(known));
}

/// An end of what a check allows, without its variables; null: none is known.
Expr DataChecks::end_of(const Check& c, const Expr& end) const {
  if (!has_var_or_load(end)) return end;
  // The end of a range is at least its start, which has a check of its own.
  for (const Check& other : program_.checks) {
    const bool starts = &other != &c && equal(end, c.lo) && equal(other.value, end);
    if (starts && !has_var_or_load(other.lo)) return other.lo;
  }
  for (const IndexVar& v : c.vars) {
    if (equal(end, c.lo) && end->op == Op::kVar && v.name == end->name && !v.lo) {
      return make_int(0);
    }
  }
  return {};
}

/// Every element, each by variables of its own?
bool DataChecks::looks_at_all(const Check& c, const Expr& load) const {
  const Buffer& b = *program_.buffer(load->name);
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const Expr& at = load->args[d];
    const auto var = std::find_if(c.vars.begin(), c.vars.end(),
                                  [&](const IndexVar& v) { return v.name == at->name; });
    if (at->op != Op::kVar || var == c.vars.end() || var->lo || !equal(var->hi, b.shape[d])) {
      return false;
    }
    for (size_t other = 0; other < d; ++other) {
      if (equal(load->args[other], at)) return false;
    }
  }
  return true;
}

/// A run of the elements of a tensor of one dim, by one variable in steps of one?
bool DataChecks::looks_at_run(const Check& c, const Expr& load, Facts::Elements& known) {
  if (load->args.size() != 1) return false;
  Instance none;
  const Storage& s = storage_of(load->name);
  for (const IndexVar& v : c.vars) {
    const auto rest = beside_var(load->args[0], v.name);
    if (!rest || !s.strides[0].is_constant() || has_var_or_load(rest->expr()) ||
        has_var_or_load(v.hi))
      continue;
    if (v.lo && has_var_or_load(v.lo)) continue;
    const Poly base = accesses_.index(none, rest->expr());
    const Poly lo = v.lo ? accesses_.index(none, v.lo) : Poly();
    known.at = std::pair((base + lo) * s.strides[0],
                         (base + accesses_.index(none, v.hi) - Poly(1)) * s.strides[0]);
    return true;
  }
  return false;
}

/// The loops over a check's variables. On a GPU the outermost is spread over `blocks` of the
/// launch, and their threads.
StmtRef DataChecks::walk_check(const Check& c, const Launch& launch, Poly& blocks) {
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
    const Poly lo = c.vars[v].lo ? accesses_.index(in, c.vars[v].lo) : Poly();
    const Poly hi = accesses_.index(in, c.vars[v].hi);
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
  std::vector<Expr> tests;
  accesses_.gather_tests(&tests);
  const Expr value = accesses_.translate(in, c.value);
  Expr condition = make_binary(
      Op::kAnd, make_binary(Op::kLe, make_cast(value->type, accesses_.translate(in, c.lo)), value),
      make_binary(Op::kLe, value, make_cast(value->type, accesses_.translate(in, c.hi))));
  accesses_.gather_tests(nullptr);
  // A value that bad data hide has been told of by the check of those.
  for (const Expr& t : tests) {
    condition = make_binary(Op::kOr, make_unary(Op::kNot, t), condition);
  }
  const Expr position = accesses_.index(in, c.position).expr();
  if (launch.mark == Mark::kSerial) put_in_memory_order(nest, position);
  if (!target_.is_cuda() && !nest.empty() && runs_as_vectors(condition, position, nest.back().id)) {
    nest.back().mark = Mark::kVector;
  }
  StmtRef inner = make_check(std::move(condition), position);
  for (size_t v = nest.size(); v-- > 0;) inner = loop(nest[v], std::move(inner));
  return inner;
}

}  // namespace hone::jit
