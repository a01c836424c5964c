// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scan.h"

#include <algorithm>
#include <map>

#include "jit/ir/recurrence.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/factor.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

using ir::Expr;
using ir::Op;

/// Cuts the chains of a recurrence into blocks. What a block adds up to is known before what
/// stands before it.
class BlockedScan {
 public:
  BlockedScan(ir::Program p, size_t at, const Step& step)
      : p_(std::move(p)),
        s_(p_.stages[at]),
        part_(step.name("part")),
        factor_(step.number("factor")) {}

  /// Why it cannot be done; empty, and done, where it can.
  std::string run(const std::string& var) {
    std::string wrong = objection(var);
    if (!wrong.empty()) return wrong;
    var_ = s_.var(var);
    scan_ = *ir::scan_of(s_.value, [&](const Expr& e) { return e->name == s_.output; });
    blocks_ = make_binary(Op::kDiv, var_->hi + ir::make_int(factor_ - 1), ir::make_int(factor_));
    rewrite();
    return {};
  }

  ir::Program done() { return std::move(p_); }

 private:
  std::string objection(const std::string& var) const {
    if (!s_.at.root() || !s_.relations.empty()) {
      return "stage " + s_.name + " is scheduled already; scan it first";
    }
    if (ir::scanned_var(s_) != var) {
      return "elements of " + s_.name + " do not each combine the one before along " + var +
             " with a term: a sum, a maximum, a minimum, of integers a product, or a linear "
             "function of it";
    }
    if (factor_ < 2) return "a block has two elements or more";
    const size_t at = p_.stages.index_of(*p_.stage(s_.name));
    std::string wrong = shared_chains(p_, at);
    if (wrong.empty()) wrong = windowless(s_);
    const ir::IndexVar& v = *s_.var(var);
    if (wrong.empty() && (v.lo || !is_size(v.hi) || !surely_has_values(p_, s_, v))) {
      wrong = "the range of " + var + " does not start at 0, may be empty, or depends on data";
    }
    if (wrong.empty() && !ir::carried_reads(s_)[0].load->guarded) {
      wrong = "nothing stands before the first element along " + var;
    }
    for (const char* end : {"", ".total", ".state", ".factor", ".zero"}) {
      if (wrong.empty()) wrong = taken_stage(p_, part_ + end);
    }
    for (const char* end : {".b", ".t"}) {
      if (wrong.empty()) wrong = taken_loop(s_, part_ + end);
    }
    return wrong;
  }

  // --- indices ---

  Expr block() const { return ir::make_var(part_ + ".b"); }
  Expr within() const { return ir::make_var(part_ + ".t"); }
  Expr whole() const { return block() * ir::make_int(factor_) + within(); }
  static Expr before(const Expr& e) { return e - ir::make_int(1); }

  /// How many of the elements in order stand before `position`, and the other way round.
  Expr in_order(const Expr& position) const {
    return var_->backward ? before(var_->hi) - position : position;
  }

  /// `e` of the stage at a place in the order.
  Expr at(const Expr& e, const Expr& place) const {
    return substitute(e, {{var_->name, in_order(place)}});
  }

  /// The indices of the output with others in place of the one along the chains.
  std::vector<Expr> indices(const std::vector<Expr>& along) const {
    std::vector<Expr> out;
    for (const Expr& e : s_.out_index) {
      if (e->name == var_->name) {
        out.insert(out.end(), along.begin(), along.end());
      } else {
        out.push_back(e);
      }
    }
    return out;
  }

  Expr load(const ir::Buffer& b, const std::vector<Expr>& along, const Expr& otherwise = {}) const {
    return ir::make_load(b.name, b.type, indices(along), otherwise);
  }

  // --- stages ---

  /// A stage over the chains, `blocks` of each, and elements of a block where `elements`.
  ir::Stage stage(const char* end, const Expr& blocks, bool elements, const Expr& value) const {
    ir::Stage out;
    out.name = out.output = part_ + end;
    out.value = value;
    out.accumulate = value->type;
    for (const ir::IndexVar& v : s_.vars) {
      if (v.name != var_->name) {
        out.vars.push_back(v);
        continue;
      }
      out.vars.push_back({block()->name, {}, blocks});
      if (elements) out.vars.push_back({within()->name, {}, ir::make_int(factor_)});
    }
    out.out_index = indices(elements ? std::vector{block(), within()} : std::vector{block()});
    return out;
  }

  /// The tensor of a stage that is yet to come.
  static ir::Buffer buffer(const ir::Stage& s) {
    ir::Buffer b;
    b.name = s.output;
    b.type = s.reduce == ir::Reduce::kNone ? s.value->type : s.accumulate;
    for (const Expr& e : s.out_index) b.shape.push_back(s.var(e->name)->hi);
    return b;
  }

  ir::Buffer add(ir::Stage s) {
    for (const auto* list : {&s.vars, &s.rvars}) {
      for (const ir::IndexVar& v : *list) s.loops.push_back({v.name});
    }
    ir::put_in_order(s);
    ir::Buffer b = buffer(s);
    p_.buffers.push_back(b);
    p_.stages.insert(p_.stages.index_of(*p_.stage(s_.name)), std::move(s));
    return b;
  }

  /// What reduces the elements of each block but the last, in the order in which they lie.
  ir::Buffer reduced(const char* end, ir::Reduce reduce, const Expr& term) {
    const Expr last = block() * ir::make_int(factor_) + ir::make_int(factor_ - 1);
    ir::Stage s =
        stage(end, before(blocks_), false, at(term, var_->backward ? last - within() : whole()));
    s.reduce = reduce;
    s.rvars = {{within()->name, {}, ir::make_int(factor_)}};
    return add(std::move(s));
  }

  /// The recurrence inside blocks, from `first` on.
  ir::Buffer inside(const char* end, const Expr& blocks, const Expr& first, const Expr& where) {
    ir::Stage s = stage(end, blocks, true, s_.value);
    ir::Buffer own = buffer(s);
    const Expr earlier = load(own, {block(), before(within())}, first);
    s.value = ir::rewrite(at(s_.value, whole()), [&](const Expr& e) -> Expr {
      return e->op == Op::kLoad && e->name == s_.output ? earlier : Expr();
    });
    s.where = where;
    return add(std::move(s));
  }

  void rewrite() {
    const Expr first = at(scan_.earlier->args.back(), ir::make_int(0));
    ir::Stage state = stage(".state", before(blocks_), false, first);
    const Expr previous = load(buffer(state), {before(block())}, first);
    if (scan_.factor) {
      const ir::Buffer factors = reduced(".factor", ir::Reduce::kProd, scan_.factor);
      const ir::Buffer from_zero = inside(".zero", before(blocks_), number(0), {});
      state.value = load(factors, {block()}) * previous +
                    load(from_zero, {block(), ir::make_int(factor_ - 1)});
    } else {
      const ir::Buffer total = reduced(".total", scan_.combine, scan_.term);
      state.value = ir::combination(scan_.combine, previous, load(total, {block()}));
    }
    const ir::Buffer states = add(std::move(state));
    int64_t extent = 0;
    const bool even = ir::is_const(var_->hi, &extent) && extent % factor_ == 0;
    const ir::Buffer made = inside("", blocks_, load(states, {before(block())}, first),
                                   even ? Expr() : make_binary(Op::kLt, whole(), var_->hi));
    become_copy_of(made);
  }

  Expr number(int64_t n) const {
    const DType type = s_.value->type;
    return is_float(type) ? ir::make_float(static_cast<double>(n), type) : ir::make_int(n, type);
  }

  void become_copy_of(const ir::Buffer& made) {
    const Expr place = in_order(ir::make_var(var_->name)), by = ir::make_int(factor_);
    ir::Stage& s = p_.stages.edit(p_.stages.index_of(*p_.stage(s_.name)));
    s.value = load(made, {make_binary(Op::kDiv, place, by), make_binary(Op::kMod, place, by)});
    s.prefetches.clear();
  }

  ir::Program p_;
  const ir::Stage s_;  ///< the recurrence as it was
  const std::string part_;
  const int64_t factor_;
  const ir::IndexVar* var_ = nullptr;
  ir::Scan scan_;
  Expr blocks_;  ///< how many there are
};

Applied apply_scan(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  const std::string var = p.stages[at->stage].loops[at->loop].name;
  BlockedScan scan(std::move(p), at->stage, step);
  if (std::string wrong = scan.run(var); !wrong.empty()) return ir::Reject{std::move(wrong)};
  return scan.done();
}

}  // namespace

const StepRow kScan = {
    "scan",
    {{Arg::kLoop, "loop"}, {Arg::kNumber, "factor"}, {Arg::kWord, "->"}, {Arg::kNew, "part"}},
    "A recurrence that combines the element before with a term goes on in blocks of FACTOR "
    "elements, "
    "all at a time: PART.total reduces the terms of each, PART.state goes on from block to block, "
    "PART from element to element of one.\n"
    "Y[j] = X[j] + (Y[j-1] else 0)  =>  scan j 64 -> s  =>  s.total[b] = sum[t](X[64*b + t]); "
    "s.state[b] = (s.state[b-1] else 0) + s.total[b]; s[b,t] = X[64*b + t] + (s[b,t-1] else "
    "(s.state[b-1] else 0)); Y[j] = s[j/64, j%64]",
    apply_scan,
};

}  // namespace hone::schedules
