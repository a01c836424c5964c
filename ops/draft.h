// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "ops/bounds.h"
#include "ops/source.h"

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
  std::vector<ir::Expr> when;  ///< conditions; where one fails, its value is discarded
  bool written = false;        ///< it is the element that a scatter writes

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

/// A stage under construction.
struct Draft {
  ir::Stage stage;
  ir::Role role = ir::Role::kTemp;
  Span span;
  std::vector<Index> vars;
  std::vector<Index> rvars;
  std::vector<ir::Expr> domain;  ///< conditions on vars alone
  std::vector<ir::Expr> limits;  ///< conditions on what is reduced
  std::vector<ir::Expr>
      places;  ///< of a scatter: which element a term goes to; of no use to proofs
  std::vector<Access> accesses;
  std::vector<Need> needs;
  std::vector<int> limited;               ///< drafts with a domain that it reads
  std::vector<const ir::Node*> guards;    ///< loads to be guarded
  std::vector<const ir::Node*> unguards;  ///< guarded loads that never leave their tensor
  std::vector<const ir::Node*> absent;    ///< reads that are always outside: what stands there
  bool total = false;                     ///< some reader reads outside the domain and discards it
};

/// The range of an index as far as proofs may use it: ends read from data give way to dims.
Interval interval_of(const Index& index);
/// The same as an IR variable.
ir::IndexVar index_var(const Index& index);
/// Is it of indices, dims and integers only, so that it can be reasoned about?
bool is_index_condition(const ir::Expr& e);
/// The first element that `e` reads, or null.
ir::Expr first_load(const ir::Expr& e);
/// Does `e` mention no index?
bool is_variable_free(const ir::Expr& e);

/// `f32` for the narrow floats, `i32` for the narrow integers, else the type itself.
DType widened(DType type);

}  // namespace hone::ops
