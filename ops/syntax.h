// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/dtype.h"
#include "jit/ir/program.h"
#include "ops/source.h"

namespace hone::ops {

/// Binary operators, weakest first.
enum class Infix : uint8_t {
  kOr,
  kAnd,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShl,
  kShr,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMod,
};

/// The operator's spelling, how tightly it binds (1: weakest), and its op in expressions.
struct InfixRow {
  std::string_view text;
  int strength;
  ir::Op op;  ///< of `>` and `>=`: the comparison with its operands exchanged
};
const InfixRow& row_of(Infix op);

struct Range;

/// A node of the syntax tree of an expression.
struct Term {
  enum Kind : uint8_t {
    kInt,
    kFloat,
    kBool,
    kName,    ///< index, dim, parameter or scalar argument `name`
    kAccess,  ///< tensor `name`, args = indices, then the `else` value if `guarded`
    kNeg,
    kNot,
    kBitNot,
    kInfix,
    kCall,    ///< function `name`
    kCast,    ///< to the type `name`
    kReduce,  ///< reduction `name` over `ranges` of args[0], in the type `type` if not empty
  };

  Kind kind = kInt;
  Infix infix = Infix::kAdd;
  bool guarded = false;
  int depth = 1;  ///< of the tree below and with this node
  Span span;
  int64_t i = 0;
  double f = 0;
  std::string name;
  std::string type;
  std::vector<Term> args;
  std::vector<Range> ranges;

  /// Indices of an access, without its `else`.
  size_t index_count() const { return args.size() - (guarded ? 1 : 0); }
};

/// An index with the half-open range stated for it, if one is. On the left of a scatter, a position
/// in the place of an index: the range is the dim's.
struct Range {
  std::string name;
  Span span;
  std::vector<Term> bounds;   ///< empty, or {begin, end}
  std::vector<Term> at = {};  ///< of a position: the one term, and no name
};

/// A parameter in `<...>`: a dtype or an integer, with its default.
struct Param {
  std::string name;
  Span span;
  bool is_type = false;
  DType type = DType::kF32;
  int64_t value = 0;
};

/// A tensor or scalar argument, or an output.
struct Argument {
  std::string name;
  Span span;
  std::string type;  ///< of a dtype or of a dtype parameter
  Span type_span;
  ir::Role role = ir::Role::kInput;
  bool scalar = false;
  bool broken = false;    ///< it did not parse
  bool constant = false;  ///< of a graph: given once, not to calls
  bool inferred = false;  ///< of a graph, an output: type and shape are what its node makes
  std::vector<Term> shape;
};

/// How a statement combines its value with what the element holds.
enum class Assign : uint8_t { kSet, kAdd, kMul, kMax, kMin };

/// Its spelling, the reduction of the same name, and its op in expressions.
struct AssignRow {
  std::string_view text;
  std::string_view reduction;
  ir::Op op;
};
const AssignRow& row_of(Assign assign);

/// A parameter that a use of an op states: `S=2`.
struct Given {
  std::string name;
  Span span;
  Term value;  ///< of a dtype: its name
};

/// A left side, `name: type[indices]`.
struct Left {
  std::string name;
  Span span;
  std::string type;  ///< empty: the value's type
  Span type_span;
  std::vector<Range> indices;
  bool omitted = false;  ///< `_`: a result of a use that nothing reads
};

/// `name: type[indices] = value where condition else otherwise`; of a scatter
/// `name[positions] else skip += value for ranges where condition`.
struct Statement : Left {
  std::vector<Left> also =
      {};               ///< other results of the op that is used, until uses are written out
  Span whole;           ///< of all of it
  bool broken = false;  ///< it did not parse: nothing but its name is sure
  bool skip = false;    ///< `else skip`: of positions outside the tensor
  Assign assign = Assign::kSet;
  Term value;                   ///< the call of an op until uses are written out
  std::vector<Given> given;     ///< to that op in `<...>`
  std::vector<Range> loops;     ///< `for`
  std::vector<Term> where;      ///< none or one
  std::vector<Term> otherwise;  ///< none or one

  /// Whether some element is told by a position.
  bool scatters() const;
};

/// The syntax tree of an op, checked; shared and immutable once an Op holds it.
struct Definition {
  std::shared_ptr<const Source> source;
  std::string name;
  Span span;                   ///< of the name
  std::vector<Param> params;   ///< in `<...>`
  std::vector<Argument> args;  ///< inputs, inouts and scalars, then outputs
  std::vector<Statement> statements;
  std::vector<std::string> dims;   ///< names that shapes introduce, in order of appearance
  std::string text;                ///< canonical
  std::vector<std::string> notes;  ///< what is right and may not be what was meant, underlined
  bool headless = false;           ///< what stands before the statements did not parse
  bool closed = false;             ///< its `}` was found
  bool graph = false;              ///< of a graph, whose statements use ops

  const Param* param(std::string_view name) const;
  const Argument* arg(std::string_view name) const;
};

/// Canonical one-line text of an op; of a statement; of a term.
std::string print(const Definition& definition);
std::string print(const Statement& statement);
std::string print(const Term& term);

}  // namespace hone::ops
