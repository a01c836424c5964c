// SPDX-License-Identifier: Apache-2.0
#include "ops/hoist.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/group.h"
#include "jit/ir/operations.h"
#include "jit/ir/scatter.h"
#include "ops/bounds.h"
#include "ops/inside.h"

namespace hone::ops {
namespace {

using ir::Expr;
using ir::IndexVar;
using ir::Stage;

/// Instructions on a vector that loading its elements one by one takes.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kGather = 8;
/// What a part of a value has to take, and how often it would be repeated, to be kept in memory.
/// Tuned on: Zen 5 (AVX-512); normalisation over a middle axis.
constexpr double kHeavy = 5, kRepeats = 4;
/// The same of one value for all, which loops compute once in a register.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kHeavyForAll = 8;
/// The same in a reduction, whose tiles repeat less than its indices say.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kHeavyTerm = 16, kRepeatedTerm = 16;
/// The longest row of inner indices for which loops do not keep what depends on outer ones alone.
/// Computed row by row, and not as a vector for many rows, it would take its part of the time.
/// Chosen: four vectors of 512 bits (not measured).
constexpr double kShortRow = 64;

/// The value of an extent, at the largest where the call decides; 0 where data do.
double size_of_extent(const ir::Program& program, const Expr& e) {
  int64_t value = 0;
  if (ir::is_const(e, &value)) return static_cast<double>(value);
  for (const ir::Dim& d : program.dims) {
    if (e->op == ir::Op::kDim && d.name == e->name) return static_cast<double>(d.hi);
  }
  return 0;
}

/// A variable from 0 to an extent that no other variable decides.
bool is_plain(const ir::Program& program, const IndexVar& v) {
  int64_t from = 0;
  const bool from_zero = !v.lo || (ir::is_const(v.lo, &from) && from == 0);
  return from_zero && size_of_extent(program, v.hi) > 0;
}

/// A variable whose only value is 0 is no index of a part's.
bool is_zero(const IndexVar& v) {
  int64_t from = 0, to = 0;
  return (!v.lo || ir::is_const(v.lo, &from)) && from == 0 && ir::is_const(v.hi, &to) && to == 1;
}

/// Vectors that elements of a type fill for one that they are computed in: of 32 bits at least.
double share_of_vector(DType type) { return std::min(1.0, static_cast<double>(size_of(type)) / 4); }

Expr at_zero(const Expr& e, const std::string& var) {
  return ir::rewrite(e, [&](const Expr& x) {
    return x->op == ir::Op::kVar && x->name == var ? ir::make_int(0) : Expr();
  });
}

/// True where steps of `var` load neighbours, or the same element.
bool loads_in_rows(const ir::Program& program, const Expr& load, const std::string& var) {
  const ir::Buffer* b = program.buffer(load->name);
  if (!b || b->shape.empty()) return true;
  const size_t last =
      b->axes.empty() ? b->shape.size() - 1 : static_cast<size_t>(b->axes.back().dim);
  const bool dense = b->strides.empty() || ir::equal(b->strides.back(), ir::make_int(1));
  for (size_t d = 0; d < b->shape.size(); ++d) {
    const Expr& index = load->args[d];
    if (!ir::mentions_var(index, var)) continue;
    if (d != last || !dense || index->op != ir::Op::kVar) return false;
  }
  return true;
}

/// The variables as loops over them stand, outermost first: those of results as these lie in
/// memory, then those that it reduces.
std::vector<const IndexVar*> in_loop_order(const ir::Program& program, const Stage& stage) {
  std::vector<const IndexVar*> vars;
  for (const IndexVar& v : stage.vars) vars.push_back(&v);
  const ir::Buffer* b = program.buffer(stage.output);
  const auto place = [&](const IndexVar* v) {
    for (size_t a = 0; b && a < b->axes.size(); ++a) {
      const size_t d = static_cast<size_t>(b->axes[a].dim);
      if (d < stage.out_index.size() && ir::mentions_var(stage.out_index[d], v->name)) return a;
    }
    return size_t{0};
  };
  std::stable_sort(vars.begin(), vars.end(), [&](const IndexVar* a, const IndexVar* other) {
    return place(a) < place(other);
  });
  for (const IndexVar& v : stage.rvars) vars.push_back(&v);
  return vars;
}

class Hoisting {
 public:
  explicit Hoisting(ir::Program& program) : program_(program) {
    const ir::Groups groups(program);
    for (const ir::Group& group : groups.all()) {
      for (const size_t s : group.stages) grouped_.insert(program.stages[s].output);
    }
  }

  void run() {
    const ir::CowVector<Stage> before = program_.stages;
    program_.stages = {};
    for (const Stage& stage : before) add(stage);
  }

 private:
  /// What has a temporary already.
  using Hoisted = std::vector<std::pair<Expr, Expr>>;

  void add(Stage stage);
  Expr hoisted(const Stage& stage, const Expr& e, Hoisted& known);
  bool repeats(const Stage& stage, const Expr& e) const;
  bool heads_short_row(const Expr& e, const std::vector<IndexVar>& own) const;
  bool chooses_state(const Stage& stage, const Expr& e) const;
  double weight(const Expr& e, const std::string& innermost) const;
  bool made_of_fewer(const Stage& stage, const Expr& e) const;
  Expr make_temporary(const Stage& stage, const Expr& e);
  std::string fresh_name(const std::string& stage) const;

  ir::Program& program_;
  std::set<std::string> grouped_;  ///< tensors of recurrences of several stages
};

void Hoisting::add(Stage stage) {
  Hoisted known;
  stage.value = hoisted(stage, stage.value, known);
  program_.stages.push_back(std::move(stage));
}

Expr Hoisting::hoisted(const Stage& stage, const Expr& e, Hoisted& known) {
  if (e->args.empty()) return e;
  if (repeats(stage, e) || chooses_state(stage, e)) {
    for (const auto& [value, temporary] : known) {
      if (equal(value, e)) return temporary;
    }
    known.emplace_back(e, make_temporary(stage, e));
    return known.back().second;
  }
  // Indices stay as they were proved.
  if (e->op == ir::Op::kLoad) return e;
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr& a : e->args) {
    args.push_back(hoisted(stage, a, known));
    changed |= args.back().get() != a.get();
  }
  return changed ? ir::with_args(e, std::move(args)) : e;
}

/// True where loops outside of those that `e` depends on would compute it again, at a price.
bool Hoisting::repeats(const Stage& stage, const Expr& e) const {
  // What a stage reads of itself, or of those that read it, is there when it runs, not before.
  const auto in_circle = [&](const Expr& x) {
    return x->op == ir::Op::kLoad && (x->name == stage.output || grouped_.count(x->name) != 0);
  };
  if (any_node(e, in_circle)) return false;
  const std::vector<const IndexVar*> vars = in_loop_order(program_, stage);
  double times = 1, skipped = 1;
  std::string innermost;
  std::vector<IndexVar> own;
  const std::vector<ir::ScatteredVar> told = ir::scattered_vars(stage);
  // Where a stage is not computed, its parts may read outside their tensors.
  bool perhaps_outside = static_cast<bool>(stage.where);
  const Prover prover(program_.dims);
  for (const IndexVar* v : vars) {
    const bool is_told = std::any_of(told.begin(), told.end(), [&](const ir::ScatteredVar& other) {
      return other.var == v->name;
    });
    if (is_zero(*v) || (is_told && !ir::mentions_var(e, v->name))) continue;
    if (ir::mentions_var(e, v->name)) {
      if (!is_plain(program_, *v)) return false;
      own.push_back(*v);
      innermost = v->name;
      times = skipped;
    } else {
      const Expr extent = v->lo ? v->hi - v->lo : v->hi;
      perhaps_outside |= prover.non_negative(extent - ir::make_int(1)) != Proof::kYes;
      skipped *= size_of_extent(program_, extent);
    }
  }
  // Without a value of each variable the accesses of `e` were not proved.
  if (perhaps_outside && !reads_inside(program_, e, own)) return false;
  // One value is for all. A term that finds its element is under a condition, where no loop keeps
  // what is the same for all terms.
  if (innermost.empty() || !told.empty()) times = skipped;
  if (times < kRepeats) {
    return stage.reduce == ir::Reduce::kNone && skipped >= kRepeats * times &&
           skipped <= kShortRow * times && heads_short_row(e, own);
  }
  if (stage.reduce == ir::Reduce::kNone) {
    const double heavy = innermost.empty() ? kHeavyForAll : kHeavy;
    return weight(e, innermost) >= heavy * share_of_vector(e->type);
  }
  return times >= kRepeatedTerm && ir::operations_of(e) >= kHeavyTerm && made_of_fewer(stage, e);
}

/// True of what loops would compute in front of each short row, and vectors can for many rows. What
/// is made of results that are one for each such row stays with these.
bool Hoisting::heads_short_row(const Expr& e, const std::vector<IndexVar>& own) const {
  double rows = 1;
  for (const IndexVar& v : own) rows *= size_of_extent(program_, v.hi);
  const auto is_of_row = [&](const Expr& x) {
    const ir::Buffer* b = x->op == ir::Op::kLoad ? program_.buffer(x->name) : nullptr;
    return b && b->role == ir::Role::kTemp &&
           std::all_of(own.begin(), own.end(),
                       [&](const IndexVar& v) { return ir::mentions_var(x, v.name); });
  };
  return rows >= kShortRow && ir::operations_of(e) >= kHeavyForAll && !any_node(e, is_of_row);
}

/// True of a read that a reduction makes of a state, or else of what stands before the first one.
/// So the choice is made once in each step, and the reduction has products of plain elements.
bool Hoisting::chooses_state(const Stage& stage, const Expr& e) const {
  const bool state = e->op == ir::Op::kLoad && e->guarded && grouped_.count(e->name) != 0;
  if (!state || stage.where || stage.reduce == ir::Reduce::kNone ||
      grouped_.count(stage.output) == 0)
    return false;
  bool again = false;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *vars) {
      const bool own = ir::mentions_var(e, v.name);
      if (own && !is_plain(program_, v)) return false;
      again |= !own && !is_zero(v);
    }
  }
  return again;
}

double Hoisting::weight(const Expr& e, const std::string& innermost) const {
  double gathers = 0;
  const auto look = [&](const auto& self, const Expr& x) -> void {
    if (x->op == ir::Op::kLoad) {
      if (!loads_in_rows(program_, x, innermost)) gathers += kGather;
      return;
    }
    for (const Expr& a : x->args) self(self, a);
  };
  look(look, e);
  return ir::operations_of(e) + gathers;
}

/// True where `e` has no more values than the tensors that it reads have elements: windows, say,
/// have many more.
bool Hoisting::made_of_fewer(const Stage& stage, const Expr& e) const {
  double values = 1, elements = 1;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *vars) {
      if (ir::mentions_var(e, v.name)) values *= size_of_extent(program_, v.hi);
    }
  }
  ir::visit(e, [&](const Expr& x) {
    const ir::Buffer* b = x->op == ir::Op::kLoad ? program_.buffer(x->name) : nullptr;
    if (!b) return;
    double count = 1;
    for (const Expr& extent : b->shape) count *= size_of_extent(program_, extent);
    elements += count;
  });
  return values <= elements;
}

/// The read of a new temporary that holds `e`; its own parts may repeat as well.
Expr Hoisting::make_temporary(const Stage& stage, const Expr& e) {
  Stage made;
  made.name = made.output = fresh_name(stage.name);
  made.value = e;
  const auto is_grouped = [&](const Expr& x) {
    return x->op == ir::Op::kLoad && grouped_.count(x->name) != 0;
  };
  const bool grouped = any_node(e, is_grouped);
  ir::Buffer buffer;
  buffer.name = made.output;
  buffer.type = e->type;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& v : *vars) {
      if (!ir::mentions_var(e, v.name)) continue;
      // Stages of a group have the indices along which it goes on, however short.
      if (is_zero(v) && !grouped) {
        made.value = at_zero(made.value, v.name);
        continue;
      }
      made.vars.push_back({v.name, v.lo, v.hi});
      made.loops.push_back({v.name});
      made.out_index.push_back(ir::make_var(v.name));
      buffer.shape.push_back(v.hi);
    }
  }
  if (grouped) {
    made.at = stage.at;
    grouped_.insert(made.output);
  }
  const Expr read = ir::make_load(buffer.name, buffer.type, made.out_index);
  program_.buffers.push_back(std::move(buffer));
  add(std::move(made));
  return read;
}

std::string Hoisting::fresh_name(const std::string& stage) const {
  for (int number = 1;; ++number) {
    std::string name = stage + "." + std::to_string(number);
    if (!program_.buffer(name)) return name;
  }
}

}  // namespace

void hoist_invariants(ir::Program& program) { Hoisting(program).run(); }

}  // namespace hone::ops
