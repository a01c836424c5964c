// SPDX-License-Identifier: Apache-2.0
#include "ops/import/elementwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/import/known.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// An operator whose result at each place is `text` of its inputs there. `{alpha=0.01}` is an
/// attribute with its default. Inputs are `a`, `b`, `c`; where `type` is empty the result has the
/// type of `a`.
struct ElementwiseRow {
  std::string_view op;
  int inputs;
  std::string_view text;
  std::string_view type = {};
};

constexpr ElementwiseRow kRows[] = {
    {"Abs", 1, "abs(a)"},
    {"Acos", 1, "acos(a)"},
    {"Acosh", 1, "acosh(a)"},
    {"Add", 2, "a + b"},
    {"And", 2, "a && b", "bool"},
    {"Asin", 1, "asin(a)"},
    {"Asinh", 1, "asinh(a)"},
    {"Atan", 1, "atan(a)"},
    {"Atanh", 1, "atanh(a)"},
    {"BitwiseAnd", 2, "a & b"},
    {"BitwiseNot", 1, "~a"},
    {"BitwiseOr", 2, "a | b"},
    {"BitwiseXor", 2, "a ^ b"},
    {"Ceil", 1, "ceil(a)"},
    {"Celu", 1, "max(a, 0) + min(0, {alpha=1}*expm1(a/{alpha=1}))"},
    {"Cos", 1, "cos(a)"},
    {"Cosh", 1, "cosh(a)"},
    {"Div", 2, "a / b"},
    {"Elu", 1, "select(a < 0, {alpha=1}*expm1(a), a)"},
    {"Equal", 2, "a == b", "bool"},
    {"Erf", 1, "erf(a)"},
    {"Exp", 1, "exp(a)"},
    {"Floor", 1, "floor(a)"},
    {"Greater", 2, "a > b", "bool"},
    {"GreaterOrEqual", 2, "a >= b", "bool"},
    {"HardSigmoid", 1, "max(0, min(1, {alpha=0.2}*a + {beta=0.5}))"},
    {"HardSwish", 1, "a*max(0, min(1, a/6 + 0.5))"},
    {"IsNaN", 1, "a != a", "bool"},
    {"LeakyRelu", 1, "select(a < 0, {alpha=0.01}*a, a)"},
    {"Less", 2, "a < b", "bool"},
    {"LessOrEqual", 2, "a <= b", "bool"},
    {"Log", 1, "log(a)"},
    {"Mish", 1, "a*tanh(softplus(a))"},
    {"Mul", 2, "a * b"},
    {"Neg", 1, "-a"},
    {"Not", 1, "!a", "bool"},
    {"Or", 2, "a || b", "bool"},
    {"Reciprocal", 1, "1/a"},
    {"Relu", 1, "relu(a)"},
    {"Round", 1, "round(a)"},
    {"Selu", 1,
     "{gamma=1.05070102214813232421875}*select(a > 0, a, "
     "{alpha=1.67326319217681884765625}*expm1(a))"},
    {"Sigmoid", 1, "sigmoid(a)"},
    {"Sin", 1, "sin(a)"},
    {"Sinh", 1, "sinh(a)"},
    {"Softplus", 1, "softplus(a)"},
    {"Shrink", 1,
     "select(a < -{lambd=0.5}, a + {bias=0}, select(a > {lambd=0.5}, a - {bias=0}, 0))"},
    {"Softsign", 1, "a/(1 + abs(a))"},
    {"Sqrt", 1, "sqrt(a)"},
    {"Sub", 2, "a - b"},
    {"Tan", 1, "tan(a)"},
    {"Tanh", 1, "tanh(a)"},
    {"ThresholdedRelu", 1, "select(a > {alpha=1}, a, 0)"},
    {"Xor", 2, "a != b", "bool"},
};

/// A row's text with its attributes as numbers.
std::string with_attributes(const ImportNode& node, std::string_view text) {
  std::string out;
  for (size_t at = 0;;) {
    const size_t open = text.find('{', at);
    out += text.substr(at, open - at);
    if (open == text.npos) return out;
    const size_t sign = text.find('=', open), close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, sign - open - 1);
    const double otherwise = std::stod(std::string(text.substr(sign + 1, close - sign - 1)));
    out += import_number(node.number(name, otherwise));
    at = close + 1;
  }
}

const ElementwiseRow* find(std::string_view op) {
  const auto* at = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const ElementwiseRow& r) { return r.op == op; });
  return at == std::end(kRows) ? nullptr : at;
}

/// Puts what stands for `a`, `b` and `c`.
std::string with_inputs(const std::string& text, const std::vector<std::string>& inputs) {
  std::map<char, std::string> letters;
  for (size_t i = 0; i < inputs.size(); ++i) letters[static_cast<char>('a' + i)] = inputs[i];
  return with_letters(text, letters);
}

/// Before version 7 the second input aligns with the first from a dim on, or at the end.
bool make_aligned(const ImportNode& node, const std::string& expression, DType type) {
  if (node.version() >= 7 || node.inputs() != 2 || node.integer("broadcast", 0) == 0) return false;
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (b.shape.size() > a.shape.size()) throw Unsupported{"its second input has more dims"};
  const auto behind = static_cast<int64_t>(a.shape.size() - b.shape.size());
  const int64_t axis = node.integer("axis", behind);
  if (axis < 0 || axis > behind) throw Unsupported{"its inputs do not align at that axis"};
  const Broadcast from = broadcast_from(b.shape, static_cast<size_t>(axis), a.shape);
  const Broadcast whole = declared(a.shape);
  node.importer().make(node, 0, type, a.shape, {{&a, "A", whole.dims}, {&b, "B", from.dims}},
                       whole.dims,
                       fmt::format("Y[{0}] = {1}", whole.indices,
                                   with_inputs(expression, {fmt::format("A[{}]", whole.indices),
                                                            fmt::format("B[{}]", from.indices)})));
  return true;
}

}  // namespace

Broadcast broadcast_from(const ImportShape& value, size_t first, const ImportShape& result) {
  if (value.size() > result.size() || first > result.size() - value.size()) {
    throw Unsupported{fmt::format("an input of {} dims does not broadcast to a result of {}",
                                  value.size(), result.size())};
  }
  std::vector<std::string> dims, indices;
  for (size_t i = 0; i < value.size(); ++i) {
    // An index of one value is an index of the result's as well: loops over both are one.
    const bool one = value[i].is(1), repeated = one && !result[first + i].is(1);
    dims.push_back(one ? "1" : import_dim(first + i));
    indices.push_back(repeated ? "0" : import_index(first + i));
  }
  return {joined(dims), joined(indices)};
}

Broadcast broadcast(const ImportShape& value, const ImportShape& result) {
  return broadcast_from(value, result.size() - value.size(), result);
}

Broadcast declared(const ImportShape& result) { return broadcast(result, result); }

ImportShape broadcast_shape(const std::vector<const ImportValue*>& values) {
  size_t rank = 0;
  for (const ImportValue* v : values) rank = std::max(rank, v->shape.size());
  ImportShape out(rank, ImportExtent{1, ""});
  for (const ImportValue* v : values) {
    for (size_t i = 0; i < v->shape.size(); ++i) {
      ImportExtent& e = out[rank - v->shape.size() + i];
      const ImportExtent& own = v->shape[i];
      if (own.is(1) || own == e) continue;
      if (!e.is(1)) {
        throw Unsupported{fmt::format("extents {} and {} do not broadcast", e.text(), own.text())};
      }
      e = own;
    }
  }
  return out;
}

void make_elementwise(const ImportNode& node, const std::string& expression, DType type,
                      const std::vector<const ImportValue*>& values) {
  const ImportShape shape = broadcast_shape(values);
  std::vector<ImportArgument> arguments;
  std::vector<std::string> inputs;
  const bool all_numbers = std::all_of(values.begin(), values.end(),
                                       [](const ImportValue* v) { return v->number.has_value(); });
  for (size_t i = 0; i < values.size(); ++i) {
    const ImportValue& v = *values[i];
    const std::string name(1, static_cast<char>('A' + i));
    const Broadcast b = broadcast(v.shape, shape);
    // One float of a constant is a number, if another input says what is computed with it.
    if (v.number && (!all_numbers || i > 0)) {
      inputs.push_back(import_number(*v.number));
      continue;
    }
    inputs.push_back(fmt::format("{}[{}]", name, b.indices));
    arguments.push_back({&v, name, b.dims});
  }
  const Broadcast result = declared(shape);
  node.importer().make(node, 0, type, shape, arguments, result.dims,
                       fmt::format("Y[{}] = {}", result.indices, with_inputs(expression, inputs)));
}

void import_elementwise(const ImportNode& node) {
  const ElementwiseRow& row = *find(node.op());
  if (compute_known(node)) return;
  std::vector<const ImportValue*> values;
  for (int i = 0; i < row.inputs; ++i) values.push_back(&node.input(static_cast<size_t>(i)));
  const DType type = row.type == "bool" ? DType::kBool : values[0]->type;
  std::string text = with_attributes(node, row.text);
  // ONNX's quotients of integers are cut, where the language's are rounded down.
  if (row.op == "Div" && is_int(values[0]->type) && !is_unsigned(values[0]->type)) {
    text = "select((a % b != 0) && ((a < 0) != (b < 0)), a / b + 1, a / b)";
  }
  if (!make_aligned(node, text, type)) make_elementwise(node, text, type, values);
}

bool is_elementwise(std::string_view op) { return find(op) != nullptr; }

std::vector<std::string_view> elementwise_operators() {
  std::vector<std::string_view> out;
  for (const ElementwiseRow& r : kRows) out.push_back(r.op);
  return out;
}

}  // namespace hone::ops
