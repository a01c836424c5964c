// SPDX-License-Identifier: Apache-2.0
#include "ops/cumulative.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/group.h"
#include "jit/ir/poly.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "ops/bounds.h"

namespace hone::ops {
namespace {

using ir::Expr;
using ir::IndexVar;
using ir::Poly;
using ir::Reduce;
using ir::Stage;

/// Elements of a row from which it goes on from element to element.
/// Chosen: below that all terms are a few vectors (not measured).
constexpr int64_t kFewest = 8;

/// A reduction of the terms from an index on, or up to one.
struct Row {
  std::string index;      ///< of the result
  std::string term;       ///< the reduced one
  bool backward = false;  ///< from the index on
  int64_t first = 0;      ///< the least term of any element
  int64_t apart = 0;      ///< from an element's index to its place among the results of all terms
  Poly places;            ///< terms in all
  Expr told;              ///< the place where data tell it, not the index
  std::vector<std::string> besides = {};  ///< what else tells it
};

Expr extent_of(const IndexVar& v) { return v.lo ? v.hi - v.lo : v.hi; }

std::optional<int64_t> constant(const Expr& e) {
  int64_t value = 0;
  if (!e) return 0;
  return ir::is_const(e, &value) ? std::optional(value) : std::nullopt;
}

/// How far `end` is from the index; nothing where it depends on more.
std::optional<int64_t> distance(const Expr& end, const std::string& index) {
  const Poly apart = Poly::of(end) - Poly::of(ir::make_var(index));
  return apart.is_constant() ? std::optional(apart.constant()) : std::nullopt;
}

bool has_vars(const Stage& stage, const Expr& e) {
  const auto in = [&](const IndexVar& v) { return ir::mentions_var(e, v.name); };
  return std::any_of(stage.vars.begin(), stage.vars.end(), in) ||
         std::any_of(stage.rvars.begin(), stage.rvars.end(), in);
}

/// The row that `r` goes through beside index `v`, by their ranges alone.
std::optional<Row> row_of(const Stage& stage, const IndexVar& v, const IndexVar& r) {
  const auto least = constant(v.lo);
  if (!least || has_vars(stage, v.hi)) return std::nullopt;
  Row row{v.name, r.name, false, 0, 0, {}, {}};
  if (const auto first = constant(r.lo)) {
    const auto end = distance(r.hi, v.name);
    if (!end) return std::nullopt;
    row.first = *first;
    row.apart = *end - 1 - *first;
    row.places = Poly::of(v.hi) + Poly(row.apart);
    return row;
  }
  const auto begin = distance(r.lo, v.name);
  if (!begin || has_vars(stage, r.hi)) return std::nullopt;
  row.backward = true;
  row.first = *least + *begin;
  row.apart = -*least;
  row.places = Poly::of(r.hi) - Poly(row.first);
  return row;
}

/// The same where data tell the end: no further than what they are checked for.
std::optional<Row> row_told(const ir::Program& program, const Stage& stage, const IndexVar& r) {
  const bool backward = !constant(r.lo);
  const Expr& end = backward ? r.lo : r.hi;
  const auto check = std::find_if(program.checks.begin(), program.checks.end(),
                                  [&](const ir::Check& c) { return equal(c.value, end); });
  if (check == program.checks.end() || (backward && has_vars(stage, r.hi))) return std::nullopt;
  const auto least = constant(check->lo);
  if (!least || has_vars(stage, check->hi)) return std::nullopt;
  Row row;
  row.term = r.name;
  row.backward = backward;
  row.first = backward ? *least : *constant(r.lo);
  row.places = (backward ? Poly::of(r.hi) : Poly::of(check->hi)) - Poly(row.first);
  row.told = (Poly::of(end) - Poly(row.first + (backward ? 0 : 1))).expr();
  int64_t results = 1;
  for (const IndexVar& v : stage.vars) {
    if (!ir::mentions_var(end, v.name)) continue;
    (row.index.empty() ? row.index : row.besides.emplace_back()) = v.name;
    results *= constant(extent_of(v)).value_or(kFewest);
  }
  return row.index.empty() || results < kFewest ? std::nullopt : std::optional(row);
}

/// Whether anything that decides the terms, their ends aside, mentions the index.
bool terms_depend(const Stage& stage, const Row& row) {
  std::vector<std::string> names = row.besides;
  names.push_back(row.index);
  const auto depends = [&](const Expr& e) {
    const auto on = [&](const std::string& name) { return ir::mentions_var(e, name); };
    return e && std::any_of(names.begin(), names.end(), on);
  };
  if (depends(stage.value)) return true;
  names.push_back(row.term);
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *vars) {
      if (v.name != row.term && (depends(v.lo) || depends(v.hi))) return true;
    }
  }
  return false;
}

Expr with_var(const Expr& e, const std::string& name, const Expr& value) {
  return ir::rewrite(
      e, [&](const Expr& x) { return x->op == ir::Op::kVar && x->name == name ? value : Expr(); });
}

class Rows {
 public:
  explicit Rows(ir::Program& program) : program_(program) {}

  void run() {
    ir::CowVector<Stage> stages;
    const ir::Groups groups(program_);
    for (size_t i = 0; i < program_.stages.size(); ++i) {
      Stage stage = program_.stages[i];
      if (const auto row = groups.of(i) ? std::nullopt : row_in(stage)) {
        if (in_place(stage, *row)) {
          go_on(stages, stage, *row);
        } else {
          Stage all = all_places(stage, *row);
          read(stage, all, *row);
          Row own = *row;
          own.apart = 0;
          own.told = {};
          go_on(stages, all, own);
          stages.push_back(std::move(all));
        }
      }
      stages.push_back(std::move(stage));
    }
    program_.stages = std::move(stages);
  }

 private:
  std::optional<Row> row_in(const Stage& stage) const {
    const bool whole = stage.reduce != Reduce::kNone && stage.reduce != Reduce::kLast &&
                       !stage.where && !stage.from_old && ir::scattered_vars(stage).empty() &&
                       !ir::is_recurrence(stage);
    if (!whole) return std::nullopt;
    const auto pays = [&](const std::optional<Row>& row) {
      return row && !terms_depend(stage, *row) && is_long(*row);
    };
    for (const IndexVar& r : stage.rvars) {
      for (const IndexVar& v : stage.vars) {
        if (const auto row = row_of(stage, v, r); pays(row)) return row;
      }
      if (const auto row = row_told(program_, stage, r); pays(row)) return row;
    }
    return std::nullopt;
  }

  bool is_long(const Row& row) const {
    const Prover prover(program_.dims);
    const auto known = row.places.value();
    return known ? *known >= kFewest : prover.non_negative(row.places.expr()) == Proof::kYes;
  }

  /// Whether the stage has a result for each term, and besides at most such as have none.
  bool in_place(const Stage& stage, const Row& row) const {
    const IndexVar& v = *stage.var(row.index);
    const Poly besides = Poly::of(v.hi) - row.places;
    const bool all = !row.told && constant(v.lo) == 0 && besides.is_constant() &&
                     besides.constant() >= 0 &&
                     row.apart == (row.backward ? 0 : -besides.constant());
    return all && program_.buffer(stage.output)->type == stage.accumulate &&
           stage.value->type == stage.accumulate;
  }

  std::string fresh(const std::string& name) const {
    std::string out;
    for (int number = 1; out.empty() || program_.buffer(out) || program_.stage(out); ++number) {
      out = name + "." + std::to_string(number);
    }
    return out;
  }

  /// The temporary of a new stage, whose name and variables are known.
  void add_buffer(Stage& stage) {
    stage.output = stage.name;
    ir::Buffer b;
    b.name = stage.output;
    b.type = stage.accumulate;
    stage.out_index.clear();
    for (const IndexVar& v : stage.vars) {
      b.shape.push_back(v.hi);
      stage.out_index.push_back(ir::make_var(v.name));
    }
    program_.buffers.push_back(std::move(b));
  }

  static bool is_beside(const Row& row, const std::string& name) {
    return std::count(row.besides.begin(), row.besides.end(), name) != 0;
  }

  /// A stage like `stage` whose index goes through all terms.
  Stage all_places(const Stage& stage, const Row& row) {
    Stage out = stage;
    out.name = fresh(stage.name);
    std::erase_if(out.vars, [&](const IndexVar& v) { return is_beside(row, v.name); });
    for (IndexVar& v : out.vars) {
      if (v.name == row.index) v = {row.index, {}, row.places.expr()};
    }
    for (const std::string& name : row.besides) remove_loop(out, name);
    add_buffer(out);
    return out;
  }

  /// Has `stage` read its results among those of all terms; before the first there are none.
  void read(Stage& stage, const Stage& all, const Row& row) const {
    Prover prover(program_.dims);
    const Expr at =
        row.told ? row.told : (Poly::of(ir::make_var(row.index)) + Poly(row.apart)).expr();
    std::vector<Expr> indices;
    for (const IndexVar& v : stage.vars) {
      prover.add_variable({v.name, v.lo ? v.lo : ir::make_int(0), v.hi});
      if (is_beside(row, v.name)) continue;
      indices.push_back(v.name == row.index ? at : ir::make_var(v.name));
    }
    const Expr after = (row.places - Poly(1) - Poly::of(at)).expr();
    const bool inside = !row.told && prover.non_negative(at) == Proof::kYes &&
                        prover.non_negative(after) == Proof::kYes;
    const Expr none = inside ? Expr() : ir::identity(stage.reduce, stage.accumulate);
    stage.value = ir::make_load(all.output, stage.accumulate, std::move(indices), none);
    for (const IndexVar& r : stage.rvars) remove_loop(stage, r.name);
    stage.rvars.clear();
    stage.reduce = Reduce::kNone;
  }

  /// The term that comes to an element of a stage; the identity where it has none.
  static Expr term_at(const Stage& stage, const Row& row) {
    const Poly place = Poly::of(ir::make_var(row.index)) + Poly(row.apart);
    const Expr value = with_var(stage.value, row.term, (place + Poly(row.first)).expr());
    Expr there;
    if (row.apart < 0) {
      there = ir::make_binary(ir::Op::kLe, ir::make_int(0), place.expr());
    } else if (const Poly end = Poly::of(stage.var(row.index)->hi); !(end == row.places)) {
      there = ir::make_binary(ir::Op::kLt, place.expr(), row.places.expr());
    }
    if (!there) return value;
    const Expr within = ir::rewrite(value, [](const Expr& x) {
      return x->op == ir::Op::kLoad && !x->guarded
                 ? ir::make_load(x->name, x->type, x->args, ir::identity(Reduce::kSum, x->type))
                 : Expr();
    });
    return ir::make_select(there, within, ir::identity(stage.reduce, stage.accumulate));
  }

  static void remove_loop(Stage& stage, const std::string& name) {
    std::erase_if(stage.loops, [&](const ir::Loop& loop) { return loop.name == name; });
  }

  /// Turns a stage whose index goes through all terms into a recurrence. What else it reduces, a
  /// stage before it does.
  void go_on(ir::CowVector<Stage>& stages, Stage& stage, const Row& row) {
    const Expr place = ir::make_var(row.index);
    std::erase_if(stage.rvars, [&](const IndexVar& r) { return r.name == row.term; });
    remove_loop(stage, row.term);
    stage.value = term_at(stage, row);
    std::vector<Expr> own;
    for (const IndexVar& v : stage.vars) own.push_back(ir::make_var(v.name));
    Expr term = ir::make_cast(stage.accumulate, stage.value);
    if (!stage.rvars.empty()) {
      Stage terms = stage;
      terms.name = fresh(stage.name);
      add_buffer(terms);
      term = ir::make_load(terms.output, stage.accumulate, own);
      stages.push_back(std::move(terms));
    }
    for (size_t d = 0; d < own.size(); ++d) {
      if (stage.vars[d].name == row.index) {
        own[d] = (Poly::of(place) + Poly(row.backward ? 1 : -1)).expr();
      }
    }
    const Expr before = ir::make_load(stage.output, stage.accumulate, std::move(own),
                                      ir::identity(stage.reduce, stage.accumulate));
    stage.value = ir::combination(stage.reduce, before, term);
    for (const IndexVar& r : stage.rvars) remove_loop(stage, r.name);
    stage.rvars.clear();
    stage.reduce = Reduce::kNone;
    ir::put_in_order(stage);
  }

  ir::Program& program_;
};

}  // namespace

void accumulate_rows(ir::Program& program) { Rows(program).run(); }

}  // namespace hone::ops
