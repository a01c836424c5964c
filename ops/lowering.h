// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ops/bounds.h"
#include "ops/lower.h"

namespace hone::ops {

/// A typed expression. Types in arithmetic are f64, f32, i64, i32 and bool: narrower ones are for
/// storage, and reading widens them. Constants and dims adapt to what they meet.
struct Value {
  enum Flex : uint8_t { kTyped, kWhole, kReal };  ///< kWhole: i64 so far; kReal: f64 so far
  ir::Expr e;
  Flex flex = kTyped;
  /// The storage type that all operands were read from, where it is one and is narrow.
  std::optional<DType> stored;
  Span span;
};

/// An index in scope: lo <= name < hi. `end` bounds it by dims alone.
struct Index {
  std::string name;
  ir::Expr lo;
  ir::Expr hi;
  ir::Expr end;
  bool from_data = false;  ///< lo or hi is read from a tensor
};

/// A tensor that statements can read.
struct Tensor {
  size_t buffer = 0;
  int draft = -1;                ///< what defines it; -1: an input
  bool readable = false;         ///< defined by now
  bool poisoned = false;         ///< its statement is wrong: nothing is said of its readers
  bool shapeless = false;        ///< and no buffer stands for it
  std::vector<Index> indices;    ///< of its statement
  std::vector<size_t> inferred;  ///< dims whose extents readers decided
  std::vector<ir::Expr> domain;  ///< over `indices`: where it is defined; empty: everywhere
};

/// A read whose indices are still to be proved.
struct Access {
  ir::Expr load;
  Span span;
  std::vector<ir::Expr> when;  ///< conditions outside of which it is discarded

  /// Its indices are the first of the load's args: this many.
  size_t index_count() const { return load->args.size() - (load->guarded ? 1 : 0); }
};

/// A read inside another stage's domain: `condition` must hold, or be inherited.
struct Need {
  ir::Expr condition;
  int producer = -1;
  Span span;
  std::vector<ir::Expr> when;  ///< as in Access
};

/// An unguarded use of an index by itself: the extent of the dim that it indexes.
struct Found {
  ir::Expr extent;
  Span span;
  std::string tensor;
  size_t dim = 0;
  bool inferred = false;  ///< from readers, which it says nothing to
};

/// The extent of a dim of a tensor: null where it is not known.
struct Extent {
  ir::Expr e;
  bool inferred = false;  ///< readers decide it
};

/// A read in a statement, and the reductions around it.
struct Site {
  size_t statement = 0;
  const Term* access = nullptr;
  std::vector<const Term*> inside;
};

/// A stage under construction.
struct Draft {
  ir::Stage stage;
  ir::Role role = ir::Role::kTemp;
  Span span;
  std::vector<Index> vars;
  std::vector<Index> rvars;
  std::vector<ir::Expr> domain;  ///< conditions on vars alone
  std::vector<ir::Expr> limits;  ///< conditions on what is reduced
  std::vector<Access> accesses;
  std::vector<Need> needs;
  std::vector<int> limited;               ///< drafts with a domain that it reads
  std::vector<const ir::Node*> guards;    ///< loads to be guarded
  std::vector<const ir::Node*> unguards;  ///< guarded loads that never leave their tensor
  bool total = false;                     ///< some reader reads outside the domain and discards it
};

/// The state of lowering one op. One object serves one call.
class Lowering {
 public:
  Lowering(const Definition& d, const Binding& binding, Diagnostics& diagnostics)
      : d_(d), binding_(binding), diagnostics_(diagnostics) {}

  ir::Program run();

 private:
  template <class... Args>
  void error(Span span, fmt::format_string<Args...> format, Args&&... args) {
    if (!stuck_) diagnostics_.error(span, fmt::format(format, std::forward<Args>(args)...));
    stuck_ = true;
  }
  /// True when what is lowered now is wrong; what stands beside it may be right.
  bool failed() const { return stuck_; }
  /// Does `lower` whatever went wrong before.
  template <class F>
  auto apart(const F& lower) {
    const bool before = std::exchange(stuck_, false);
    auto value = lower();
    stuck_ |= before;
    return value;
  }
  std::string snippet(Span span) const { return diagnostics_.source().snippet(span); }

  // lower.cpp: names and shapes
  void declare_args();
  bool declare_arg(const Argument& a);
  ir::Expr lower_extent(const Term& t);
  DType type_named(std::string_view name) const;
  DType scalar_type(const Argument& a) const;
  ir::Expr number_named(std::string_view name) const;
  const Index* index_named(std::string_view name) const;
  bool names_something(std::string_view name) const;

  // statements.cpp: statements
  void lower_statement(const Statement& s);
  bool mentions_shapeless(const Term& t) const;
  void poison(const Statement& s, const Draft& draft);
  void declare_indices(const Statement& s, Draft& draft);
  ir::Expr left_extent(const Statement& s, size_t position, const ir::Buffer* output);
  ir::Expr inferred_extent(const Statement& s, size_t position, const std::vector<Found>& found);
  void compare_with_uses(const Range& r, const ir::Expr& extent, const std::vector<Found>& found);
  void lower_where(const Statement& s);
  void lower_body(const Statement& s, Draft& draft);
  bool lower_whole_reduction(const Statement& s, Draft& draft);
  void lower_plain(const Statement& s, Draft& draft);
  Value own_old_value(const Statement& s);
  std::optional<DType> target_type(const Statement& s) const;
  void publish(const Statement& s, Draft& draft);

  // reductions.cpp: reductions and ranges
  Value lower_reduction(const Term& t);
  Value lower_arg_reduction(const Term& t);
  void arg_reduce(const Term& t, Draft& draft);
  void open_ranges(const Term& t, Draft& draft);
  Index right_index(const Range& r, const Term& body);
  void bound_from_data(const Range& r, const std::vector<Found>& found, Index& index);
  DType reduce(const Term& t, Draft& draft, Value body);
  void close_scope(Draft& draft, size_t outer);
  Value close_nested(Draft draft, DType type, std::optional<DType> stored);
  std::string fresh_name();
  void find_extents(const Term& t, std::string_view name, std::vector<Found>& out) const;
  ir::Expr agreed_extent(const Range& r, std::vector<Found> found);
  bool check_fresh(const Range& r);
  bool check_fresh(const Range& r, const Term& reduction);

  // needs.cpp: extents that readers decide
  void find_sites();
  void find_sites(const Term& t, size_t statement, std::vector<const Term*>& inside);
  ir::Expr index_ahead(const Term& t) const;
  Extent extent_ahead(const std::string& tensor, size_t dim);
  ir::Expr used_extent(size_t statement, const Term* reduction, const std::string& index);
  ir::Expr limited_by(const Term& t, const std::string& index, ir::Expr extent) const;
  std::vector<Interval> ranges_ahead(const Site& site);
  ir::Expr needed_extent(size_t statement, size_t dim);

  // values.cpp: expressions and types
  Value lower_value(const Term& t);
  Value lower_part(const Term& t);
  Value lower_name(const Term& t);
  Value lower_scalar(const Argument& a, Span span);
  Value lower_infix(const Term& t);
  Value lower_prefix(const Term& t);
  Value lower_call(const Term& t);
  Value lower_function(const Term& t);
  Value lower_select(const Term& t);
  Value lower_side(const Term& t, const ir::Expr& condition);
  Value lower_cast(const Term& t);
  Value read(ir::Expr load, Span span);
  void widen_bool(Value& v);
  bool unify(Value& a, Value& b);
  ir::Expr adapt(const Value& v, DType type);
  ir::Expr store(const Value& v, DType type, Span span);
  ir::Expr convert(const Value& v, DType type);
  bool expect_count(const Term& t, size_t count);
  std::string cast_inside(const Value& v, DType type) const;

  // access.cpp: tensor elements
  Value lower_access(const Term& t);
  const Tensor* readable_tensor(const Term& t);
  void note_new_value(const Term& t);
  bool check_own_read(const Term& t, const std::vector<ir::Expr>& indices);
  ir::Expr lower_index(const Term& t);
  Value in_domain(const Term& t, const Tensor& tensor, const std::vector<ir::Expr>& indices,
                  const ir::Expr& load, const ir::Expr& otherwise);

  // proofs.cpp: domains and bounds
  void settle(Draft& draft);
  void settle_needs(Draft& draft);
  void assemble(Draft& draft) const;
  void prove_accesses(Draft& draft, bool with_domain);
  bool prove_indices(Draft& draft, const Access& access, const Prover& sure, const Prover& when,
                     bool with_domain);
  void prove_access(Draft& draft, const Access& access, size_t dim, const Prover& sure,
                    const Prover& when, bool with_domain);
  void drop_idle_guards(Draft& draft) const;
  void check_data_index(const Draft& draft, const Access& access, size_t dim);
  bool add_check(ir::Check check, const ir::Expr& source, Span span);
  std::vector<ir::IndexVar> check_vars(const ir::Expr& e, const std::vector<Index>& scope) const;
  Prover prover_for(const Draft& draft, bool with_domain,
                    const std::vector<ir::Expr>& when = {}) const;
  void finish_drafts();

  const Definition& d_;
  const Binding& binding_;
  Diagnostics& diagnostics_;
  ir::Program program_;
  std::unordered_map<std::string, Tensor> tensors_;
  std::deque<Draft> drafts_;
  const Statement* statement_ = nullptr;
  std::vector<ir::Expr> own_;     // conditions of the statement's `where`
  std::vector<ir::Expr> chosen_;  // conditions outside of which what is lowered is discarded
  std::vector<Index> scope_;
  std::vector<Draft*> frames_;
  std::unordered_set<std::string> noted_;  // statements and inouts that a note is about
  std::vector<Site> sites_;  // of all statements, once some extent is asked of readers
  std::map<std::pair<size_t, size_t>, Extent> ahead_;  // extents foreseen, per statement and dim
  int looks_ = 0;                                      // at sites, so far
  std::vector<size_t> inferred_;                       // dims of the statement
  int nested_ = 0;                                     // reductions named so far in this statement
  bool in_index_ = false;                              // integers read are i64
  bool stuck_ = false;                                 // by an error in what is lowered now
};

/// The range of an index as far as proofs may use it: ends read from data give way to dims.
Interval interval_of(const Index& index);
/// The same as an IR variable.
ir::IndexVar index_var(const Index& index);
/// Is it of indices, dims and integers only, so that it can be reasoned about?
bool is_index_condition(const ir::Expr& e);
/// The first element that `e` reads, or null.
ir::Expr first_load(const ir::Expr& e);

/// `f32` for f16 and bf16, `i32` for the narrow integers, else the type itself.
DType widened(DType type);

}  // namespace hone::ops
