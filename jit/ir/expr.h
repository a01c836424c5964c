// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/dtype.h"

namespace hone::ir {

struct Function;
struct Node;

/// Kinds of scalar expression nodes. Comparison results are kBool. Integer kDiv floors, x/0 is 0.
enum class Op : uint8_t {
  kInt,     ///< integer or bool constant: `i`
  kFloat,   ///< floating constant: `f`
  kVar,     ///< index or loop variable: `name` in a Program; loop number `id` in a Nest
  kDim,     ///< a dim known at the call: `name`; in a Nest also its number `id`
  kScalar,  ///< a scalar argument: `name`; in a Nest also its number `id`
  kLoad,    ///< tensor element. Program: buffer `name`, args = indices, then the `else` value if
            ///< `guarded`. Nest: buffer number `id`, args = {flat element offset}, or, if guarded,
            ///< {offset, condition, else value}: the element is touched only where condition holds
  kCast,    ///< conversion to `type`
  kSelect,  ///< args = {condition, then, else}; both sides are evaluated
  kNeg,
  kNot,
  kAdd,
  kSub,
  kMul,
  kDiv,     ///< float: IEEE; integer: floor division, x/0 is 0, MIN/-1 is MIN
  kMod,     ///< integer: x - y*floor(x/y); x%0 is 0
  kBitAnd,  ///< of integers, as are the four that follow
  kBitOr,
  kBitXor,
  kShl,  ///< bits by a count; 0 for one outside 0..width-1
  kShr,  ///< arithmetic; the sign, 0 or -1, for a count outside 0..width-1
  kMin,  ///< propagates NaN
  kMax,  ///< propagates NaN
  kEq,
  kNe,
  kLt,
  kLe,
  kAnd,
  kOr,
  kCall,  ///< scalar function `fn` of args; see functions/function.h
};

/// Immutable scalar expression; a cheap handle to a shared node. Null handles mean "none".
class Expr {
 public:
  Expr() = default;
  const Node* operator->() const { return node_.get(); }
  const Node& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }
  /// Identity of the node, for memo tables.
  const Node* get() const { return node_.get(); }

 private:
  friend Expr make_node(Node node);
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  std::shared_ptr<const Node> node_;
};

/// One node; see Op for which members a kind uses.
struct Node {
  Op op = Op::kInt;
  DType type = DType::kI64;
  bool guarded = false;
  bool reciprocal = false;  ///< of a float kDiv: may be made of the divisor's reciprocal
  int id = -1;
  int64_t i = 0;
  double f = 0;
  const Function* fn = nullptr;
  std::string name;
  std::vector<Expr> args;
  // What make_node finds, so that looks at a whole expression need not walk it.
  size_t hash = 0;     ///< equal for equal expressions
  uint64_t size = 0;   ///< nodes, written out: those that are shared count as often as they stand
  uint64_t ops = 0;    ///< a bit for each Op in it
  uint64_t loops = 0;  ///< a bit for the number of each variable in it, modulo 64
  uint64_t vars = 0;   ///< a bit for the hash of the name of each variable in it, modulo 64

  /// True where a node of it is of that kind.
  bool has(Op kind) const { return (ops >> static_cast<int>(kind) & 1) != 0; }
};

/// An expression of a node as it stands: nothing is folded.
Expr make_node(Node node);

// --- building; simple constant folding and x+0, x*1, x*0 (integers only) are done here ---

Expr make_int(int64_t value, DType type = DType::kI64);
Expr make_float(double value, DType type);
/// An index or loop variable, type i64.
Expr make_var(std::string name, int id = -1);
Expr make_dim(std::string name, int id = -1);
Expr make_scalar(std::string name, DType type, int id = -1);
/// Element of buffer `name` at `indices`; `otherwise` (may be null) where an index leaves it.
Expr make_load(std::string name, DType type, std::vector<Expr> indices, Expr otherwise = {});
Expr make_cast(DType type, Expr x);
Expr make_select(Expr condition, Expr then, Expr otherwise);
/// Unary and binary kinds; the type is the operands' (kBool for comparisons).
Expr make_unary(Op op, Expr x);
Expr make_binary(Op op, Expr a, Expr b);
Expr make_call(const Function* fn, std::vector<Expr> args);
/// A float kDiv, marked: back ends may multiply by the divisor's reciprocal. The result is the
/// nearest value but for about one in 2^24 that lie midway, and exact where the quotient is one.
Expr by_reciprocal(const Expr& quotient);

inline Expr operator+(Expr a, Expr b) { return make_binary(Op::kAdd, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return make_binary(Op::kSub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return make_binary(Op::kMul, std::move(a), std::move(b)); }

// --- looking and rewriting ---

/// True, and the value, when `e` is an integer constant.
bool is_const(const Expr& e, int64_t* value = nullptr);
/// Nodes of `e` written out: those that are shared count as often as they stand in it. 0 of none.
inline uint64_t tree_size(const Expr& e) { return e ? e->size : 0; }
/// Structural equality.
bool equal(const Expr& a, const Expr& b);
/// Calls `f(context, node)` on every node of `e`, parents before children: the one recursion of all
/// instances of `visit`.
void visit_nodes(const Expr& e, void (*f)(const void* context, const Expr& node),
                 const void* context);
/// Calls `f(node)` on every node of `e`, parents before children.
template <class F>
void visit(const Expr& e, const F& f) {
  visit_nodes(
      e, [](const void* context, const Expr& node) { (*static_cast<const F*>(context))(node); },
      &f);
}
/// True where `f(node)` holds for a node of `e`; looks no further than the first.
template <class F>
bool any_node(const Expr& e, const F& f) {
  if (!e) return false;
  if (f(e)) return true;
  for (const Expr& a : e->args) {
    if (any_node(a, f)) return true;
  }
  return false;
}
/// True where `e` reads an element of a tensor.
inline bool mentions_load(const Expr& e) { return e && e->has(Op::kLoad); }
/// True where `e` reads the variable of that name.
bool mentions_var(const Expr& e, std::string_view name);
/// True where `e` reads the loop of that number.
bool mentions_loop(const Expr& e, int loop);
/// The factor of the loop of that number in a sum, where it is plain to see.
std::optional<int64_t> slope_in(const Expr& e, int loop);
/// `e` with its children replaced (and folded again).
Expr with_args(const Expr& e, std::vector<Expr> args);
/// The one recursion of all instances of `rewrite`.
Expr rewrite_nodes(const Expr& e, Expr (*f)(const void* context, const Expr& node),
                   const void* context);
/// Bottom-up rewrite: `f(e)` returns a replacement, or null to keep. Shares unchanged subtrees.
template <class F>
Expr rewrite(const Expr& e, const F& f) {
  return rewrite_nodes(
      e,
      [](const void* context, const Expr& node) -> Expr {
        return (*static_cast<const F*>(context))(node);
      },
      &f);
}

/// Text with minimal parentheses, as the language spells it; `A[m,k] * B[k,n]`.
std::string print(const Expr& e);

}  // namespace hone::ir
