// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/poly.h"
#include "jit/ir/recurrence.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/online_values.h"
#include "schedules/steps/rescaled.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

using ir::Expr;
using ir::Op;
using Indices = std::map<std::string, Expr>;

/// Cuts a max reduction and the sums that depend on it into parts that go on from one another.
class OnlineRewriting {
 public:
  OnlineRewriting(ir::Program p, size_t max_stage, const Step& step)
      : p_(std::move(p)),
        max_(p_.stages[max_stage]),
        late_(that_depend_on(p_, p_.stages[max_stage].output)),
        part_(step.name("part")),
        factor_(step.number("factor")),
        lanes_(std::max<int64_t>(step.number("lanes"), 1)),
        word_(lanes_ > 1 ? 2 : 1),
        rows_(step.number("rows")) {}

  /// Why it cannot be done; empty, and done, where it can.
  std::string run(const std::string& var) {
    std::string wrong = objection(var);
    if (!wrong.empty()) return wrong;
    var_ = var;
    all_ = dependents_of(p_, p_.stages.index_of(*p_.stage(max_.name)), var);
    if (all_.sums.empty()) {
      return all_.why.empty() ? "no sum depends on " + max_.output : all_.why;
    }
    for (const auto* list : {&all_.sums, &all_.factors}) {
      for (const Dependent& d : *list) {
        wrong = objection_dependent(p_.stages[d.stage], d);
        if (!wrong.empty()) return wrong;
      }
    }
    parts_ = make_binary(Op::kDiv, extent() + ir::make_int(factor_ - 1), ir::make_int(factor_));
    rewrite();
    return {};
  }

  ir::Program done() { return std::move(p_); }

 private:
  // --- what may be cut ---

  std::string objection(const std::string& var) const {
    if (max_.reduce != ir::Reduce::kMax || !is_float(max_.accumulate)) {
      return "stage " + max_.name + " is no max reduction of floating numbers";
    }
    if (p_.buffer(max_.output)->type != max_.accumulate) {
      return "stage " + max_.name + " keeps its result in another type than it reduces";
    }
    if (factor_ < 1 || factor_ % (lanes_ * word_) != 0) {
      return "a part has a multiple of " + std::to_string(lanes_ * word_) + " terms";
    }
    if (max_.rvars.size() != 1) return "stage " + max_.name + " reduces several indices";
    return objection_stage(max_, var);
  }

  std::string objection_stage(const ir::Stage& s, const std::string& var) const {
    const ir::IndexVar* v = s.var(var);
    if (!v || v->lo || !is_size(v->hi)) {
      return "the range of " + var + " does not start at 0, or depends on data or an index";
    }
    if (!s.relations.empty() || !s.at.root() || !s.factored.empty()) {
      return "stage " + s.name + " is scheduled already; do this before";
    }
    std::string wrong = windowless(s);
    if (wrong.empty() && s.where && !bounds_above(s.where, var)) {
      wrong = "stage " + s.name + " reduces where " + print(s.where) + "; a bound like " + var +
              " <= i can be cut into parts that go on from one another";
    }
    if (wrong.empty() && !has_terms(p_, *v)) wrong = "there may be no " + var + " at all";
    for (const char* end : {"", ".lane", ".scale", ".all", ".sum", ".wide"}) {
      if (wrong.empty()) wrong = taken_stage(p_, named(s) + end);
    }
    for (const char* end : {".p", ".l", ".c", ".w", ".t"}) {
      if (wrong.empty()) wrong = taken_loop(s, var_name(end));
    }
    return wrong;
  }

  std::string objection_dependent(const ir::Stage& s, const Dependent& d) const {
    if (s.reduce != ir::Reduce::kNone && s.rvars.size() != 1) {
      return "stage " + s.name + " reduces several indices";
    }
    const bool same = equal(s.var(d.term.var)->hi, max_.rvars[0].hi);
    if (!same) return "stage " + s.name + " runs over another range than " + max_.name;
    for (const Expr& i : d.term.index) {
      if (i->op != Op::kVar) return "stage " + s.name + " reads " + max_.output + " at a sum";
    }
    return objection_stage(s, d.term.var);
  }

  // --- names and indices ---

  std::string named(const ir::Stage& s) const { return s.name + "." + part_; }
  std::string var_name(const char* end) const { return part_ + end; }
  Expr part() const { return ir::make_var(var_name(".p")); }
  Expr lane() const { return ir::make_var(var_name(".l")); }
  const Expr& extent() const { return max_.rvars[0].hi; }

  /// The term of a part that a lane's cells, or the loop over its terms, stand at.
  Expr in_cells() const {
    return ir::make_var(var_name(".c")) * ir::make_int(lanes_ * word_) +
           lane() * ir::make_int(word_) + ir::make_var(var_name(".w"));
  }
  Expr in_part() const { return ir::make_var(var_name(".t")); }
  Expr whole(const Expr& term) const { return part() * ir::make_int(factor_) + term; }

  bool even() const {
    int64_t n = 0;
    return ir::is_const(extent(), &n) && n % factor_ == 0;
  }

  /// `e` of a stage at term `term` of a part: `var` is the stage's for what is reduced. Reads
  /// beyond the end give 0.
  Expr at_term(const Expr& e, const std::string& var, const Expr& term) const {
    const Indices by_name{{var, whole(term)}};
    const Expr moved = even() ? e : ir::rewrite(e, [&](const Expr& n) -> Expr {
      if (n->op != Op::kLoad || n->guarded || !ir::mentions_var(n, var)) return {};
      const Expr zero = is_float(n->type) ? ir::make_float(0, n->type) : ir::make_int(0, n->type);
      return ir::make_load(n->name, n->type, n->args, zero);
    });
    return substitute(moved, by_name);
  }

  /// Where the term counts: in the domain of `s`, and before the end.
  Expr counts(const ir::Stage& s, const std::string& var, const Expr& term) const {
    Expr out = s.where ? substitute(s.where, {{var, whole(term)}}) : Expr();
    if (!even()) out = both(out, make_binary(Op::kLt, whole(term), extent()));
    return out;
  }

  static Expr load(const ir::Buffer& b, std::vector<Expr> index, const Expr& part, const Expr& lane,
                   const Expr& otherwise = {}) {
    index.push_back(part);
    if (lane) index.push_back(lane);
    return ir::make_load(b.name, b.type, std::move(index), otherwise);
  }

  static Expr before(const Expr& part) { return make_binary(Op::kSub, part, ir::make_int(1)); }

  // --- stages ---

  ir::Stage stage(const std::string& name, std::vector<ir::IndexVar> vars,
                  std::vector<Expr> indices, const Expr& value) const {
    ir::Stage s;
    s.name = s.output = name;
    s.vars = std::move(vars);
    s.out_index = std::move(indices);
    s.value = value;
    s.accumulate = value->type;
    return s;
  }

  /// The same variables as `s` indexes its output by, with the part and perhaps the lane.
  ir::Stage over_parts(const ir::Stage& s, const std::string& name, const Expr& value,
                       bool by_lane) const {
    std::vector<ir::IndexVar> vars = s.vars;
    std::vector<Expr> indices = s.out_index;
    vars.push_back({part()->name, {}, parts_});
    indices.push_back(part());
    if (by_lane) {
      vars.push_back({lane()->name, {}, ir::make_int(lanes_)});
      indices.push_back(lane());
    }
    return stage(name, std::move(vars), std::move(indices), value);
  }

  void add(ir::Stage s) {
    for (const auto* list : {&s.vars, &s.rvars}) {
      for (const ir::IndexVar& v : *list) s.loops.push_back({v.name});
    }
    ir::put_in_order(s);
    ir::Buffer b;
    b.name = s.output;
    b.type = s.reduce == ir::Reduce::kNone ? s.value->type : s.accumulate;
    for (const Expr& e : s.out_index) b.shape.push_back(s.var(e->name)->hi);
    p_.buffers.push_back(std::move(b));
    made_.push_back(std::move(s));
  }

  void add_by_lanes(ir::Stage s, ir::Reduce reduce) {
    s.reduce = reduce;
    s.rvars = {{var_name(".c"), {}, ir::make_int(factor_ / (lanes_ * word_))},
               {var_name(".w"), {}, ir::make_int(word_)}};
    add(std::move(s));
  }

  const ir::Buffer& made_last() const { return p_.buffers.back(); }

  void rewrite() {
    const Expr least = ir::identity(ir::Reduce::kMax, max_.accumulate);
    ir::Stage lanes = over_parts(
        max_, named(max_) + ".lane",
        only_where(counts(max_, var_, in_cells()), at_term(max_.value, var_, in_cells()), least->f),
        true);
    add_by_lanes(std::move(lanes), ir::Reduce::kMax);
    const ir::Buffer of_lanes = made_last();
    ir::Buffer running;
    running.name = named(max_);
    running.type = max_.accumulate;
    Expr greatest = load(running, max_.out_index, before(part()), lane(), least);
    for (int64_t q = 0; q < lanes_; ++q) {
      greatest =
          make_binary(Op::kMax, greatest, load(of_lanes, max_.out_index, part(), ir::make_int(q)));
    }
    add(over_parts(max_, running.name, greatest, true));
    greatest_ = made_last();
    scale_stage(least);
    for (const Dependent& f : all_.factors) factor_stage(f);
    for (const Dependent& d : all_.sums) {
      if (is_row(d)) row_sum(d);
    }
    for (const Dependent& d : all_.sums) {
      if (!is_row(d)) sum(d);
    }
    reorder();
  }

  /// What sums of the parts before are multiplied by: 1 where the greatest stays.
  void scale_stage(const Expr& least) {
    const Exponential& term = all_.sums[0].term;
    const Expr old = load(greatest_, max_.out_index, before(part()), lane(), least);
    const Expr now = load(greatest_, max_.out_index, part(), lane());
    Expr less = old - now;
    if (term.scale) less = less * term.scale;
    const Expr value =
        make_select(make_binary(Op::kEq, old, now), ir::make_float(1, max_.accumulate),
                    by_powers_of_two(ir::make_call(term.fn, {less})));
    add(over_parts(max_, named(max_) + ".scale", value, true));
    scale_ = made_last();
  }

  /// The value of a dependent at a term, by the greatest so far.
  Expr of_part(const Dependent& d, const Expr& term, const Expr& by_lane) const {
    const ir::Stage& s = p_.stages[d.stage];
    const Expr now = load(greatest_, d.term.index, part(), by_lane);
    // A part that has nothing but -inf has terms of 0, as it has beside any finite number.
    const Expr nothing = make_binary(Op::kEq, now, ir::identity(ir::Reduce::kMax, greatest_.type));
    const Expr reference = make_select(nothing, ir::make_float(0, greatest_.type), now);
    const Expr moved = at_term(s.value, d.term.var, term);
    return by_powers_of_two(ir::rewrite(moved, [&](const Expr& n) -> Expr {
      if (n->op != Op::kLoad) return {};
      if (n->name == max_.output) return reference;
      const auto factor = factors_.find(n->name);
      return factor == factors_.end() ? Expr() : factor->second.read(n, part(), term);
    }));
  }

  /// A stage that sums read by terms: which index of it tells the term.
  struct OfTerms {
    ir::Buffer buffer;
    size_t dim = 0;
    Dependent made_by = {};
    ir::Buffer wide = {};  ///< the same before it is rounded; without a name where it is not
    Expr read(const Expr& n, const Expr& part, const Expr& term) const {
      std::vector<Expr> index(n->args.begin(), n->args.end() - (n->guarded ? 1 : 0));
      index.erase(index.begin() + static_cast<std::ptrdiff_t>(dim));
      index.push_back(part);
      index.push_back(term);
      return ir::make_load(buffer.name, buffer.type, std::move(index));
    }
  };

  void factor_stage(const Dependent& f) {
    const ir::Stage& s = p_.stages[f.stage];
    Expr value = only_where(counts(s, f.term.var, in_part()),
                            of_part(f, in_part(), index_of(in_part(), word_, lanes_)), 0);
    const DType type = p_.buffer(s.output)->type;
    if (value->type != type) value = make_cast(type, value);
    ir::Stage made = stage(named(s), {}, {}, value);
    OfTerms terms;
    terms.made_by = f;
    for (size_t d = 0; d < s.out_index.size(); ++d) {
      if (s.out_index[d]->name == f.term.var) {
        terms.dim = d;
        continue;
      }
      made.vars.push_back(*s.var(s.out_index[d]->name));
      made.out_index.push_back(s.out_index[d]);
    }
    made.vars.push_back({part()->name, {}, parts_});
    made.vars.push_back({in_part()->name, {}, ir::make_int(factor_)});
    made.out_index.insert(made.out_index.end(), {part(), in_part()});
    const bool rounds = value->op == Op::kCast && size_of(type) < size_of(value->args[0]->type);
    if (rounds) {  // sums of rows add what is not rounded yet
      ir::Stage wide = made;
      wide.name = wide.output = named(s) + ".wide";
      wide.value = value->args[0];
      wide.accumulate = wide.value->type;
      add(std::move(wide));
      terms.wide = made_last();
      made.value = make_cast(type, ir::make_load(terms.wide.name, terms.wide.type, made.out_index));
    }
    add(std::move(made));
    terms.buffer = made_last();
    factors_[s.output] = std::move(terms);
  }

  /// Whether what `load` reads is 0 where a term of `s` does not count.
  bool same_domain(const ir::Stage& s, const Expr& load) const {
    const ir::Stage& from = *p_.producer(load->name);
    if (!s.where || !from.where) return !s.where;
    Indices by_name;
    for (size_t d = 0; d < from.out_index.size(); ++d) {
      by_name[from.out_index[d]->name] = load->args[d];
    }
    return equal(substitute(from.where, by_name), s.where);
  }

  /// A sum with an index for each greatest number, and no other.
  bool is_row(const Dependent& d) const {
    return p_.stages[d.stage].vars.size() == max_.vars.size();
  }

  /// Adds the parts' sums to those before.
  void go_on(const ir::Stage& s, const Dependent& d, const Expr& by_lane, bool row) {
    const ir::Buffer of_part = made_last();
    ir::Buffer total = of_part;
    total.name = named(s);
    const Expr lane_index = row ? lane() : Expr();
    const Expr old =
        load(total, s.out_index, before(part()), lane_index, ir::make_float(0, total.type));
    Expr scale = load(scale_, d.term.index, part(), by_lane);
    if (scale->type != total.type) scale = make_cast(total.type, scale);
    const Expr value = old * scale + load(of_part, s.out_index, part(), lane_index);
    add(over_parts(s, total.name, value, row));
  }

  /// The terms of a sum of rows, where they are what a factor rounds; null where they are not.
  Expr before_rounding(const Dependent& d) const {
    const ir::Stage& s = p_.stages[d.stage];
    for (const auto& [output, terms] : factors_) {
      if (terms.wide.name.empty()) continue;
      const ir::Stage& from = p_.stages[terms.made_by.stage];
      const Exponential& term = terms.made_by.term;
      Indices by_name{{term.var, ir::make_var(d.term.var)}};
      for (size_t i = 0; i < term.index.size(); ++i) {
        by_name[term.index[i]->name] = d.term.index[i];
      }
      if (by_name.size() != from.vars.size() || from.value->op != Op::kCast) continue;
      if (!equal(substitute(from.value->args[0], by_name), s.value)) continue;
      if (!from.where != !s.where) continue;
      if (s.where && !equal(substitute(from.where, by_name), s.where)) continue;
      std::vector<Expr> index;
      for (const Expr& e : from.out_index) {
        if (e->name != term.var) index.push_back(by_name.at(e->name));
      }
      index.insert(index.end(), {part(), in_cells()});
      return ir::make_load(terms.wide.name, terms.wide.type, std::move(index));
    }
    return {};
  }

  void row_sum(const Dependent& d) {
    const ir::Stage s = p_.stages[d.stage];
    Expr value = before_rounding(d);
    if (!value) {
      value = only_where(counts(s, d.term.var, in_cells()), of_part(d, in_cells(), lane()), 0);
    }
    ir::Stage lanes = over_parts(s, named(s) + ".lane", value, true);
    lanes.accumulate = s.accumulate;
    add_by_lanes(std::move(lanes), ir::Reduce::kSum);
    go_on(s, d, lane(), true);
    const ir::Buffer total = made_last();
    Expr value_all;
    for (int64_t q = 0; q < lanes_; ++q) {
      const Expr one = load(total, s.out_index, last_part(s.out_index), ir::make_int(q));
      value_all = value_all ? value_all + one : one;
    }
    value_all = value_all * of_nothing(d, lane(), value_all->type);
    std::vector<ir::IndexVar> vars = s.vars;
    vars.push_back({lane()->name, {}, ir::make_int(lanes_)});
    std::vector<Expr> indices = s.out_index;
    indices.push_back(lane());
    finals_.push_back(stage(named(s) + ".all", std::move(vars), std::move(indices), value_all));
    by_lane_[s.output] = named(s) + ".all";
  }

  void sum(const Dependent& d) {
    const ir::Stage s = p_.stages[d.stage];
    std::string column;
    for (const ir::IndexVar& v : s.vars) {
      const bool row = std::any_of(d.term.index.begin(), d.term.index.end(),
                                   [&](const Expr& i) { return i->name == v.name; });
      if (!row) column = v.name;
    }
    const Expr by_lane = index_of(ir::make_var(column), word_, lanes_);
    Expr value = of_part(d, in_part(), index_of(in_part(), word_, lanes_));
    bool by_factor = false;
    ir::visit(s.value, [&](const Expr& n) {
      by_factor |= n->op == Op::kLoad && factors_.contains(n->name) && same_domain(s, n);
    });
    if (!by_factor) value = only_where(counts(s, d.term.var, in_part()), value, 0);
    ir::Stage terms = over_parts(s, named(s) + ".sum", value, false);
    terms.reduce = ir::Reduce::kSum;
    terms.accumulate = s.accumulate;
    terms.rvars = {{in_part()->name, {}, ir::make_int(factor_)}};
    add(std::move(terms));
    go_on(s, d, by_lane, false);
    const Expr total = load(made_last(), s.out_index, last_part(s.out_index), {});
    passed_on(s, total * of_nothing(d, by_lane, total->type));
  }

  /// NaN for a row that has terms, all -inf, and 1 for others: its terms have been 0 so far.
  Expr of_nothing(const Dependent& d, const Expr& by_lane, DType type) const {
    const ir::Stage& s = p_.stages[d.stage];
    const Expr top = load(greatest_, d.term.index, last_part(d.term.index), by_lane);
    const Expr least = ir::identity(ir::Reduce::kMax, greatest_.type);
    Expr nothing = make_binary(Op::kEq, top, least);
    // Domains are upper bounds: where there is a term, the first one counts.
    if (s.where) nothing = both(nothing, substitute(s.where, {{d.term.var, ir::make_int(0)}}));
    const Expr factor = make_select(nothing, top - top, ir::make_float(1, greatest_.type));
    return factor->type == type ? factor : make_cast(type, factor);
  }

  /// The last part that has terms of a row: of the last of `rows_` rows that begin at a multiple.
  Expr last_part(const std::vector<Expr>& index) const {
    const Expr last = parts_ - ir::make_int(1);
    if (rows_ == 0 || !max_.where || max_.where->op == Op::kAnd || max_.vars.empty()) return last;
    if (max_.where->op != Op::kLe && max_.where->op != Op::kLt) return last;
    const std::string& row = max_.vars.back().name;
    const ir::Poly room = ir::Poly::of(max_.where->args[1]) - ir::Poly::of(max_.where->args[0]) -
                          ir::Poly(max_.where->op == Op::kLt ? 1 : 0);
    const ir::Poly over = room + ir::Poly::of(ir::make_var(var_)) - ir::Poly::of(ir::make_var(row));
    if (!over.is_constant() || over.constant() + rows_ < 1) return last;
    const Expr at = index[max_.vars.size() - 1];
    const Expr block = make_binary(Op::kDiv, at, ir::make_int(rows_)) * ir::make_int(rows_);
    const Expr end = block + ir::make_int(rows_ - 1 + over.constant());
    return make_binary(Op::kMin, last, make_binary(Op::kDiv, end, ir::make_int(factor_)));
  }

  /// From here on the stage passes on what another one has.
  void passed_on(const ir::Stage& s, Expr value) {
    ir::Stage& now = p_.stages.edit(p_.stages.index_of(*p_.stage(s.name)));
    const DType type = p_.buffer(s.output)->type;
    now.value = value->type == type ? value : make_cast(type, value);
    now.reduce = ir::Reduce::kNone;
    now.where = without(now.where, now.rvars);
    now.rvars.clear();
    now.loops.clear();
    for (const ir::IndexVar& v : now.vars) now.loops.push_back({v.name});
  }

  /// Readers of sums by rows read what their own lane has.
  void read_by_lane() {
    for (const auto& [sum, all] : by_lane_) {
      const ir::Buffer& b = *p_.buffer(all);
      for (size_t i = 0; i < p_.stages.size(); ++i) {
        const ir::Stage s = p_.stages[i];
        if (s.output == sum) {
          std::vector<Expr> index = s.out_index;
          index.push_back(ir::make_int(0));
          passed_on(s, ir::make_load(b.name, b.type, std::move(index)));
          continue;
        }
        if (!reads(s, sum) || s.reduce != ir::Reduce::kNone) continue;
        p_.stages.edit(i).value = ir::rewrite(s.value, [&, &sum = sum](const Expr& n) -> Expr {
          if (n->op != Op::kLoad || n->name != sum || n->guarded) return {};
          Expr by_lane = ir::make_int(0);
          for (const ir::IndexVar& v : s.vars) {
            if (!ir::mentions_var(n, v.name))
              by_lane = index_of(ir::make_var(v.name), word_, lanes_);
          }
          std::vector<Expr> index = n->args;
          index.push_back(by_lane);
          return ir::make_load(b.name, b.type, std::move(index));
        });
      }
    }
  }

  /// First what does not depend on the greatest of all, then the parts, then what the last part
  /// has, then the rest.
  void reorder() {
    std::vector<Expr> index = max_.out_index;
    passed_on(max_, load(greatest_, index, last_part(index), ir::make_int(0)));
    for (ir::Stage& s : finals_) add(std::move(s));
    const ir::Program before_it = p_;
    p_.stages.truncate(0);
    for (size_t i = 0; i < before_it.stages.size(); ++i) {
      const ir::Stage& s = before_it.stages[i];
      if (s.name != max_.name && !late_[i]) p_.stages.push_back(s);
    }
    for (ir::Stage& s : made_) p_.stages.push_back(std::move(s));
    for (size_t i = 0; i < before_it.stages.size(); ++i) {
      const ir::Stage& s = before_it.stages[i];
      if (s.name == max_.name || late_[i]) p_.stages.push_back(s);
    }
    read_by_lane();
    drop();
  }

  /// Takes out what nothing reads any more.
  void drop() {
    std::set<std::string> unread{max_.output};
    for (const auto& [output, terms] : factors_) unread.insert(output);
    for (const auto& [output, all] : by_lane_) unread.insert(output);
    bool again = true;
    while (again) {
      again = false;
      for (const std::string& output : unread) {
        const ir::Stage* made = p_.producer(output);
        if (!made || p_.buffer(output)->role != ir::Role::kTemp) continue;
        const bool read = std::any_of(p_.stages.begin(), p_.stages.end(), [&](const ir::Stage& s) {
          return s.output != output && reads(s, output);
        });
        if (read) continue;
        p_.stages.erase(p_.stages.index_of(*made));
        p_.buffers.erase(*find_buffer(p_, output));
        again = true;
        break;
      }
    }
  }

  ir::Program p_;
  ir::Stage max_;
  std::vector<bool> late_;  ///< per stage of the program before: it needs the greatest of all
  std::string part_;
  int64_t factor_, lanes_, word_, rows_;
  std::string var_;
  Dependents all_;
  Expr parts_;
  ir::Buffer greatest_, scale_;
  std::map<std::string, OfTerms> factors_;      ///< by what they are called in the program before
  std::map<std::string, std::string> by_lane_;  ///< sums by rows, and what each lane has of them
  std::vector<ir::Stage> made_, finals_;        ///< in the order in which they read one another
};

Applied apply_online(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  const std::string var = p.stages[at->stage].loops[at->loop].name;
  OnlineRewriting rewriting(std::move(p), at->stage, step);
  std::string wrong = rewriting.run(var);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  return rewriting.done();
}

}  // namespace

const StepRow kOnline = {
    "online",
    {{Arg::kLoop, "loop"},
     {Arg::kNumber, "factor"},
     {Arg::kWord, "->"},
     {Arg::kNew, "part"},
     {Arg::kCount, "lanes"},
     {Arg::kCount, "rows"}},
    "Cuts a max reduction into parts of FACTOR terms that go on from one another, and with it the "
    "sums of exp(a - m)*g that depend on it. Each part has the greatest number so far, and the "
    "sums "
    "so far are rescaled where that grows. So nothing is kept of parts before the last. Lanes that "
    "hold a tile's columns in words of two reduce what each holds; `rows` leaves out parts in "
    "which "
    "none of so many rows has terms.\n"
    "m = max[j](a[j]); l = sum[j](exp(a[j] - m))  =>  online m/j 64 -> r  =>  m.r[p] = "
    "max(m.r[p-1], "
    "max[t](a[64*p + t])); l.r[p] = l.r[p-1]*exp(m.r[p-1] - m.r[p]) + sum[t](exp(a[64*p + t] - "
    "m.r[p])); l = l.r[last]",
    apply_online,
};

}  // namespace hone::schedules
