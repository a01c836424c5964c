// SPDX-License-Identifier: Apache-2.0
#include <Halide.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

namespace Halide {
namespace {

Expr literal(Type type, std::string text) {
  return Expr(Node{type, {std::move(text)}, {}, std::nullopt, true});
}

/// Two literals of C++ would be computed there, by its rules.
Expr no_literal(const Expr& e) {
  if (!e.node()->literal) return e;
  return Expr(Node{e.type(), {"Halide::Expr(", ")"}, {e}, e.node()->constant, false});
}

bool all_literal(const std::vector<Expr>& args) {
  for (const Expr& a : args) {
    if (!a.node()->literal) return false;
  }
  return true;
}

std::optional<int32_t> folded(char sign, int64_t a, int64_t b) {
  const int64_t quotient = b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
  const int64_t value = sign == '+'   ? a + b
                        : sign == '-' ? a - b
                        : sign == '*' ? a * b
                        : sign == '/' ? quotient
                                      : a - b * quotient;
  if ((sign == '/' || sign == '%') && b <= 0) return std::nullopt;
  if (value > INT32_MAX || value < INT32_MIN) return std::nullopt;
  return static_cast<int32_t>(value);
}

/// The type that both sides of an operator have: a constant has the other's.
Type common_type(const Expr& a, const Expr& b) {
  return a.node()->constant || a.node()->literal ? b.type() : a.type();
}

Expr operation(const char* sign, const Expr& a, const Expr& b, Type type) {
  const bool both = a.node()->literal && b.node()->literal;
  return Expr(Node{type,
                   {"(", std::string(" ") + sign + " ", ")"},
                   {both ? no_literal(a) : a, b},
                   std::nullopt,
                   false});
}

Expr arithmetic(const char* sign, const Expr& a, const Expr& b) {
  if (a.node()->constant && b.node()->constant) {
    if (const auto value = folded(*sign, *a.node()->constant, *b.node()->constant)) return *value;
  }
  return operation(sign, a, b, common_type(a, b));
}

Expr comparison(const char* sign, const Expr& a, const Expr& b) {
  return operation(sign, a, b, Bool());
}

Expr math(const char* name, const Expr& x) {
  return call_expr(x.type(), std::string("Halide::") + name, {x});
}

}  // namespace

std::string Type::text() const {
  const char* const names[] = {"Int", "UInt", "Float", "BFloat"};
  return std::string("Halide::") + names[code_] + "(" + std::to_string(bits_) + ")";
}

Expr::Expr(Node node) : node_(std::make_shared<const Node>(std::move(node))) {}
Expr::Expr(int32_t value)
    : Expr(Node{Int(32), {std::to_string(value)}, {}, value, value != INT32_MIN}) {
  if (value == INT32_MIN) *this = literal(Int(32), "Halide::Int(32).min()");
}
Expr::Expr(double value) : Expr(Internal::make_const(Float(64), value)) {}
Type Expr::type() const { return node_->type; }

Expr named_expr(Type type, std::string text, std::shared_ptr<Domain> domain) {
  return Expr(Node{type, {std::move(text)}, {}, std::nullopt, false, std::move(domain)});
}

Expr call_expr(Type type, const std::string& function, const std::vector<Expr>& args) {
  Node n{type, {function + "("}, args, std::nullopt, false};
  for (size_t i = 1; i < args.size(); ++i) n.texts.emplace_back(", ");
  if (args.empty()) {
    n.texts.back() += ")";
  } else {
    n.texts.emplace_back(")");
    if (all_literal(args)) n.args[0] = no_literal(args[0]);
  }
  return Expr(std::move(n));
}

Expr operator+(const Expr& a, const Expr& b) { return arithmetic("+", a, b); }
Expr operator-(const Expr& a, const Expr& b) { return arithmetic("-", a, b); }
Expr operator*(const Expr& a, const Expr& b) { return arithmetic("*", a, b); }
Expr operator/(const Expr& a, const Expr& b) { return arithmetic("/", a, b); }
Expr operator%(const Expr& a, const Expr& b) { return arithmetic("%", a, b); }
Expr operator&(const Expr& a, const Expr& b) { return operation("&", a, b, common_type(a, b)); }
Expr operator|(const Expr& a, const Expr& b) { return operation("|", a, b, common_type(a, b)); }
Expr operator<<(const Expr& a, const Expr& b) { return operation("<<", a, b, a.type()); }
Expr operator>>(const Expr& a, const Expr& b) { return operation(">>", a, b, a.type()); }
Expr operator^(const Expr& a, const Expr& b) { return operation("^", a, b, common_type(a, b)); }
Expr operator==(const Expr& a, const Expr& b) { return comparison("==", a, b); }
Expr operator!=(const Expr& a, const Expr& b) { return comparison("!=", a, b); }
Expr operator<(const Expr& a, const Expr& b) { return comparison("<", a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return comparison("<=", a, b); }
Expr operator>(const Expr& a, const Expr& b) { return comparison(">", a, b); }
Expr operator>=(const Expr& a, const Expr& b) { return comparison(">=", a, b); }
Expr operator&&(const Expr& a, const Expr& b) { return comparison("&&", a, b); }
Expr operator||(const Expr& a, const Expr& b) { return comparison("||", a, b); }
Expr operator-(const Expr& a) {
  return Expr(Node{a.type(), {"(-", ")"}, {no_literal(a)}, std::nullopt, false});
}
Expr operator!(const Expr& a) {
  return Expr(Node{Bool(), {"!", ""}, {no_literal(a)}, std::nullopt, false});
}

Expr cast(Type type, const Expr& value) {
  if (value.type() == type) return value;
  return Expr(
      Node{type, {"Halide::cast(" + type.text() + ", ", ")"}, {value}, std::nullopt, false});
}
Expr reinterpret(Type type, const Expr& value) {
  if (value.type() == type) return value;
  return Expr(Node{type,
                   {"Halide::reinterpret(" + type.text() + ", ", ")"},
                   {no_literal(value)},
                   std::nullopt,
                   false});
}
Expr undef(Type type) { return named_expr(type, "Halide::undef(" + type.text() + ")"); }
Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  return call_expr(common_type(a, b), "Halide::select", {condition, a, b});
}
Expr min(const Expr& a, const Expr& b) {
  if (a.node()->constant && b.node()->constant) {
    return std::min(*a.node()->constant, *b.node()->constant);
  }
  return call_expr(common_type(a, b), "Halide::min", {a, b});
}
Expr max(const Expr& a, const Expr& b) {
  if (a.node()->constant && b.node()->constant) {
    return std::max(*a.node()->constant, *b.node()->constant);
  }
  return call_expr(common_type(a, b), "Halide::max", {a, b});
}
Expr clamp(const Expr& value, const Expr& lo, const Expr& hi) {
  return call_expr(value.type(), "Halide::clamp", {no_literal(value), lo, hi});
}
Expr abs(const Expr& x) {
  const Type t = x.type();
  return call_expr(t.is_int() ? UInt(t.bits()) : t, "Halide::abs", {x});
}
Expr ceil(const Expr& x) { return math("ceil", x); }
Expr cos(const Expr& x) { return math("cos", x); }
Expr erf(const Expr& x) { return math("erf", x); }
Expr exp(const Expr& x) { return math("exp", x); }
Expr floor(const Expr& x) { return math("floor", x); }
Expr log(const Expr& x) { return math("log", x); }
Expr round(const Expr& x) { return math("round", x); }
Expr sin(const Expr& x) { return math("sin", x); }
Expr sqrt(const Expr& x) { return math("sqrt", x); }
Expr tanh(const Expr& x) { return math("tanh", x); }
Expr trunc(const Expr& x) { return math("trunc", x); }

std::string line_of(const Expr& e) {
  if (!e.defined()) return "Halide::Expr()";
  std::string out = e.node()->texts[0];
  for (size_t i = 0; i < e.node()->args.size(); ++i) {
    out += line_of(e.node()->args[i]) + e.node()->texts[i + 1];
  }
  return out;
}

namespace Internal {
namespace {
Expr constant(Type type, const std::string& value) {
  return named_expr(type, "Halide::Internal::make_const(" + type.text() + ", " + value + ")");
}
}  // namespace

Expr make_const(Type type, int64_t value) {
  if (type.is_float()) return make_const(type, static_cast<double>(value));
  if (type == Int(32)) return static_cast<int32_t>(value);
  if (value == INT64_MIN) return constant(type, "INT64_MIN");
  return constant(type, "INT64_C(" + std::to_string(value) + ")");
}
Expr make_const(Type type, uint64_t value) {
  return constant(type, "UINT64_C(" + std::to_string(value) + ")");
}
Expr make_const(Type type, double value) {
  if (!std::isfinite(value)) {
    return constant(type, std::isnan(value) ? "NAN" : value > 0 ? "INFINITY" : "-INFINITY");
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", type == Float(32) ? static_cast<float>(value) : value);
  std::string number = text;
  if (type == Float(32)) std::snprintf(text, sizeof text, "%.9g", value), number = text;
  if (number.find_first_of(".e") == std::string::npos) number += ".0";
  if (type == Float(32)) return literal(type, number + "f");
  if (type == Float(64)) return named_expr(type, "Halide::Expr(" + number + ")");
  return constant(type, number);
}
Expr make_bool(bool value) {
  return named_expr(Bool(),
                    std::string("Halide::Internal::make_bool(") + (value ? "true" : "false") + ")");
}
bool can_prove(const Expr& e) {
  const Node& n = *e.node();
  if (n.args.size() != 2 || n.texts[1] != " == ") return false;
  const auto bare = [](const Expr& x) { return x.node()->constant; };
  return bare(n.args[0]) && bare(n.args[0]) == bare(n.args[1]);
}

Expr Call::make(Type type, const std::string& name, const std::vector<Expr>& args, CallType) {
  Node n{type,
         {"Halide::Internal::Call::make(" + type.text() + ", \"" + name + "\", {"},
         args,
         std::nullopt,
         false};
  for (size_t i = 1; i < args.size(); ++i) n.texts.emplace_back(", ");
  n.texts.emplace_back("}, Halide::Internal::Call::PureExtern)");
  return Expr(std::move(n));
}

void Dimension::set_bounds(const Expr& min, const Expr& extent) {
  lines_->push_back(text_ + ".set_bounds(" + line_of(min) + ", " + line_of(extent) + ");");
}
void Dimension::set_stride(const Expr& stride) {
  lines_->push_back(text_ + ".set_stride(" + line_of(stride) + ");");
}
void Dimension::set_estimate(const Expr& min, const Expr& extent) {
  lines_->push_back(text_ + ".set_estimate(" + line_of(min) + ", " + line_of(extent) + ");");
}
}  // namespace Internal

RVar RDom::operator[](int i) const {
  return {domain_->name + "[" + std::to_string(i) + "]", domain_};
}

Internal::Dimension ImageParam::dim(int d) const {
  return {name_ + ".dim(" + std::to_string(d) + ")", lines_};
}
std::string ImageParam::declaration() const {
  return "Halide::ImageParam " + name_ + "(" + type_.text() + ", " + std::to_string(rank_) +
         ", \"" + name_ + "\");";
}

void FuncRef::operator=(const Expr& value) {
  state_->definitions.push_back({line_of(call_expr({}, state_->name, at_)), value});
}
FuncRef::operator Expr() const {
  return call_expr(state_->definitions.front().value.type(), state_->name, at_);
}

LoopLevel::LoopLevel(const Func& func, const VarOrRVar& loop)
    : text("Halide::LoopLevel(" + func.state()->name + ", " + loop.text + ")") {}

namespace {
std::string text_of(TailStrategy tail) {
  return tail == TailStrategy::ShiftInwards ? "Halide::TailStrategy::ShiftInwards"
                                            : "Halide::TailStrategy::GuardWithIf";
}
}  // namespace

Stage::Stage(const Func& func) : state_(func.state()), text_(func.state()->name) {}
void Stage::say(const std::string& directive) {
  state_->directives.push_back(text_ + "." + directive + ";");
}
void Stage::split(const VarOrRVar& loop, const VarOrRVar& outer, const VarOrRVar& inner,
                  const Expr& factor, TailStrategy tail) {
  say("split(" + loop.text + ", " + outer.text + ", " + inner.text + ", " + line_of(factor) + ", " +
      text_of(tail) + ")");
}
void Stage::fuse(const VarOrRVar& inner, const VarOrRVar& outer, const VarOrRVar& fused) {
  say("fuse(" + inner.text + ", " + outer.text + ", " + fused.text + ")");
}
void Stage::reorder(const std::vector<VarOrRVar>& inside_out) {
  std::string list;
  for (const VarOrRVar& v : inside_out) list += (list.empty() ? "" : ", ") + v.text;
  say("reorder({" + list + "})");
}
void Stage::unroll(const VarOrRVar& loop) { say("unroll(" + loop.text + ")"); }
void Stage::vectorize(const VarOrRVar& loop) { say("vectorize(" + loop.text + ")"); }
void Stage::vectorize(const VarOrRVar& loop, int width, TailStrategy tail) {
  say("vectorize(" + loop.text + ", " + std::to_string(width) + ", " + text_of(tail) + ")");
}
void Stage::parallel(const VarOrRVar& loop) { say("parallel(" + loop.text + ")"); }
void Stage::atomic(bool unchecked) { say(unchecked ? "atomic(true)" : "atomic()"); }
void Stage::prefetch(const ImageParam& image, const VarOrRVar& at, const VarOrRVar& from,
                     int distance) {
  say("prefetch(" + image.name() + ", " + at.text + ", " + from.text + ", " +
      std::to_string(distance) + ")");
}

}  // namespace Halide
