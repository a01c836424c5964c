// SPDX-License-Identifier: Apache-2.0
// As much of Halide's interface as jit/halide uses, where an expression is the C++ text that makes
// it. With this header in place of Halide's, the same sources print a pipeline instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace Halide {

/// An element's type.
class Type {
 public:
  enum Code : uint8_t { kInt, kUInt, kFloat, kBFloat };
  Type() = default;
  Type(Code code, int bits) : code_(code), bits_(bits) {}
  int bits() const { return bits_; }
  bool is_uint() const { return code_ == kUInt; }
  bool is_int() const { return code_ == kInt; }
  bool is_float() const { return code_ == kFloat || code_ == kBFloat; }
  bool is_bfloat() const { return code_ == kBFloat; }
  bool operator==(const Type&) const = default;
  std::string text() const;

 private:
  Code code_ = kInt;
  int bits_ = 32;
};
inline Type Int(int bits) { return {Type::kInt, bits}; }
inline Type UInt(int bits) { return {Type::kUInt, bits}; }
inline Type Float(int bits) { return {Type::kFloat, bits}; }
inline Type BFloat(int bits) { return {Type::kBFloat, bits}; }
inline Type Bool() { return UInt(1); }

struct Domain;
struct Node;

/// A text with a type; constants of 32 bits are known, and folded.
class Expr {
 public:
  Expr() = default;
  Expr(int32_t value);
  explicit Expr(double value);
  explicit Expr(Node node);
  bool defined() const { return node_ != nullptr; }
  Type type() const;
  const std::shared_ptr<const Node>& node() const { return node_; }

 private:
  std::shared_ptr<const Node> node_;
};

/// Texts with operands between them: one text more than operands.
struct Node {
  Type type;
  std::vector<std::string> texts;
  std::vector<Expr> args;
  std::optional<int32_t> constant;
  bool literal = false;              ///< of C++, which is no Expr by itself
  std::shared_ptr<Domain> domain{};  ///< of a variable to reduce over
};

/// A leaf.
Expr named_expr(Type type, std::string text, std::shared_ptr<Domain> domain = nullptr);
/// `function(args...)`.
Expr call_expr(Type type, const std::string& function, const std::vector<Expr>& args);

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator%(const Expr& a, const Expr& b);
Expr operator&(const Expr& a, const Expr& b);
Expr operator|(const Expr& a, const Expr& b);
Expr operator<<(const Expr& a, const Expr& b);
Expr operator>>(const Expr& a, const Expr& b);
Expr operator^(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);
Expr operator!=(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);
Expr operator||(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator!(const Expr& a);

Expr cast(Type type, const Expr& value);
template <class T>
Expr cast(const Expr& value) {
  /// Fixed by: the bits of a byte.
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  return cast(T(0.5) != T(0) ? Float(kBits) : T(-1) < T(0) ? Int(kBits) : UInt(kBits), value);
}
Expr reinterpret(Type type, const Expr& value);
Expr undef(Type type);
Expr select(const Expr& condition, const Expr& a, const Expr& b);
template <class... Rest>
Expr select(const Expr& condition, const Expr& a, const Expr& next, const Rest&... rest) {
  return select(condition, a, select(next, rest...));
}
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr clamp(const Expr& value, const Expr& lo, const Expr& hi);
Expr abs(const Expr& x);
Expr ceil(const Expr& x);
Expr cos(const Expr& x);
Expr erf(const Expr& x);
Expr exp(const Expr& x);
Expr floor(const Expr& x);
Expr log(const Expr& x);
Expr round(const Expr& x);
Expr sin(const Expr& x);
Expr sqrt(const Expr& x);
Expr tanh(const Expr& x);
Expr trunc(const Expr& x);

/// Lines that say more of a thing that has been declared.
using Lines = std::shared_ptr<std::vector<std::string>>;
/// The expression on one line.
std::string line_of(const Expr& e);

namespace Internal {
Expr make_const(Type type, int64_t value);
Expr make_const(Type type, uint64_t value);
Expr make_const(Type type, double value);
inline Expr make_const(Type type, int value) { return make_const(type, int64_t{value}); }
inline Expr make_zero(Type type) { return make_const(type, 0); }
Expr make_bool(bool value);
inline Expr simplify(const Expr& e) { return e; }
bool can_prove(const Expr& e);

struct Call {
  enum CallType : uint8_t { PureExtern };
  static Expr make(Type type, const std::string& name, const std::vector<Expr>& args, CallType);
};

class Dimension {
 public:
  Dimension(std::string text, Lines lines) : text_(std::move(text)), lines_(std::move(lines)) {}
  void set_bounds(const Expr& min, const Expr& extent);
  void set_stride(const Expr& stride);
  void set_estimate(const Expr& min, const Expr& extent);

 private:
  std::string text_;
  Lines lines_;
};
}  // namespace Internal

class Var {
 public:
  Var() = default;
  explicit Var(const std::string& name) : text_("v_" + name) {}
  const std::string& text() const { return text_; }
  operator Expr() const { return named_expr(Int(32), text_); }

 private:
  std::string text_;
};

class RVar {
 public:
  explicit RVar(const std::string& name) : text_("w_" + name) {}
  RVar(std::string text, std::shared_ptr<Domain> domain)
      : text_(std::move(text)), domain_(std::move(domain)) {}
  const std::string& text() const { return text_; }
  operator Expr() const { return named_expr(Int(32), text_, domain_); }

 private:
  std::string text_;
  std::shared_ptr<Domain> domain_;
};

struct VarOrRVar {
  VarOrRVar(const Var& v) : text(v.text()), is_rvar(false) {}
  VarOrRVar(const RVar& v) : text(v.text()), is_rvar(true) {}
  std::string text;
  bool is_rvar;
};

/// Least value and extent.
struct Range {
  Expr min, extent;
};
using Region = std::vector<Range>;

/// What RDoms share.
struct Domain {
  std::string name;
  Region region;
  std::vector<Expr> conditions;
};

class RDom {
 public:
  RDom() = default;
  RDom(Region region, const std::string& name)
      : domain_(std::make_shared<Domain>(Domain{name, std::move(region), {}})) {}
  bool defined() const { return domain_ != nullptr; }
  RVar operator[](int i) const;
  void where(const Expr& condition) { domain_->conditions.push_back(condition); }

 private:
  std::shared_ptr<Domain> domain_;
};

}  // namespace Halide

#include "jit/halide/text/func.h"
