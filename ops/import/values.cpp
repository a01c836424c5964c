// SPDX-License-Identifier: Apache-2.0
// Operators of one element each whose expression depends on types, attributes or on how many inputs
// there are.
#include <fmt/format.h>

#include "ops/import/elementwise.h"
#include "ops/import/known.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Bits of exponents that count: by larger ones any integer but 0, 1 and -1 leaves 64 bits.
/// Fixed by: the widest type of integers.
constexpr int kPowerBits = 6;

std::vector<const ImportValue*> all_inputs(const ImportNode& node) {
  std::vector<const ImportValue*> values{&node.input(0)};
  for (size_t i = 1; i < node.inputs(); ++i) values.push_back(&node.input(i));
  return values;
}

/// `f(f(a, b), c)` and so on.
void fold(const ImportNode& node, std::string_view open, std::string_view between,
          std::string_view close, const std::string& after) {
  const auto values = all_inputs(node);
  if (compute_known(node)) return;
  if (values.size() > 8) throw Unsupported{"it takes more than 8 inputs"};
  std::string text = "a";
  for (size_t i = 1; i < values.size(); ++i) {
    text = fmt::format("{}{}{}{}{}", open, text, between, static_cast<char>('a' + i), close);
  }
  make_elementwise(node, text + after, values[0]->type, values);
}

void import_max(const ImportNode& node) { fold(node, "max(", ", ", ")", ""); }
void import_min(const ImportNode& node) { fold(node, "min(", ", ", ")", ""); }
void import_sum(const ImportNode& node) { fold(node, "(", " + ", ")", ""); }
void import_mean(const ImportNode& node) {
  fold(node, "(", " + ", ")", fmt::format("/{}.0", node.inputs()));
}

/// Powers of integers by squares of squares. They wrap as products do, up to exponents of 63.
void power_of_integers(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  const ImportShape shape = broadcast_shape({&a, &b});
  const Broadcast of_a = broadcast(a.shape, shape), of_b = broadcast(b.shape, shape),
                  all = declared(shape);
  const std::string n = fmt::format("n[{}]", all.indices),
                    base = fmt::format("p0[{}]", all.indices);
  std::string text =
      fmt::format("p0: i64[{0}] = cast<i64>(A[{1}]); n: i64[{0}] = cast<i64>(B[{2}]); ",
                  all.indices, of_a.indices, of_b.indices);
  std::string product;
  for (int bit = 0; bit < kPowerBits; ++bit) {
    const std::string power = fmt::format("p{}[{}]", bit, all.indices);
    if (bit > 0) {
      text += fmt::format("{0} = p{1}[{2}]*p{1}[{2}]; ", power, bit - 1, all.indices);
    }
    product +=
        fmt::format("{}select((({} >> {}) & 1) != 0, {}, 1)", bit > 0 ? "*" : "", n, bit, power);
  }
  // Of a negative exponent, and of one that leaves any type, only 1 and -1 have powers.
  const std::string far =
      fmt::format("select({0} == 1 || {0} == -1, select(({1} & 1) != 0, {0}, 1), 0)", base, n);
  node.importer().make(
      node, 0, a.type, shape, {{&a, "A", of_a.dims}, {&b, "B", of_b.dims}}, all.dims,
      fmt::format("{0}Y[{1}] = cast<{2}>(select({3} < 0 || {3} >= {4}, {5}, {6}))", text,
                  all.indices, name_of(a.type), n, int64_t{1} << kPowerBits, far, product));
}

/// The result has the type of the first input. What both types hold is computed in f64.
void import_pow(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (b.number && *b.number == 2 && is_float(a.type)) {
    return make_elementwise(node, "a*a", a.type, {&a});
  }
  const bool whole = !is_float(a.type), by_whole = !is_float(b.type);
  if (whole && by_whole) return power_of_integers(node);
  const std::string power = "pow(cast<f64>(a), cast<f64>(b))";
  if (whole) {
    // A power that is whole but for rounding is that integer.
    const std::string near = fmt::format("abs({0} - round({0})) <= 1e-12*abs({0})", power);
    return make_elementwise(
        node, fmt::format("cast<{0}>(select({1}, round({2}), {2}))", name_of(a.type), near, power),
        a.type, {&a, &b});
  }
  if (a.type == b.type && a.type != DType::kF64)
    return make_elementwise(node, "pow(a, b)", a.type, {&a, &b});
  make_elementwise(node, a.type == DType::kF64 ? power : fmt::format("cast<f32>({})", power),
                   a.type, {&a, &b});
}

/// Before version 7 slopes are one, or those of channels.
void import_prelu(const ImportNode& node) {
  const ImportValue &x = node.input(0), &slope = node.input(1);
  const std::string text = "select(a < 0, b*a, a)";
  const bool channels =
      node.version() < 7 && x.shape.size() > 1 && slope.shape.size() == 1 && !slope.shape[0].is(1);
  if (!channels) return make_elementwise(node, text, x.type, {&x, &slope});
  const Broadcast all = declared(x.shape), by = broadcast_from(slope.shape, 1, x.shape);
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "A", all.dims}, {&slope, "B", by.dims}}, all.dims,
      fmt::format("Y[{0}] = select(A[{0}] < 0, B[{1}]*A[{0}], A[{0}])", all.indices, by.indices));
}

void import_where(const ImportNode& node) {
  make_elementwise(node, "select(a, b, c)", node.input(1).type, all_inputs(node));
}

void import_sign(const ImportNode& node) {
  const ImportValue& a = node.input(0);
  const std::string type(name_of(a.type));
  make_elementwise(node, "select(a > 0, 1, select(a < 0, -1, a))", a.type, {&a});
}

/// Until version 10 ends are attributes; then they are inputs that may be left out.
void import_clip(const ImportNode& node) {
  const ImportValue& a = node.input(0);
  std::vector<const ImportValue*> values{&a};
  std::string text = "a";
  if (node.version() < 11) {
    if (node.has_attribute("min"))
      text = fmt::format("max(a, {})", import_number(node.number("min", 0)));
    if (node.has_attribute("max")) {
      text = fmt::format("min({}, {})", text, import_number(node.number("max", 0)));
    }
  } else {
    for (const size_t end : {size_t{1}, size_t{2}}) {
      if (!node.has(end)) continue;
      const char letter = static_cast<char>('a' + values.size());
      values.push_back(&node.input(end));
      text = fmt::format("{}({}, {})", end == 1 ? "max" : "min", text, letter);
    }
  }
  make_elementwise(node, text, a.type, values);
}

void import_gelu(const ImportNode& node) {
  const bool tanh = node.text("approximate", "none") == "tanh";
  make_elementwise(node, tanh ? "gelu_tanh(a)" : "gelu(a)", node.input(0).type, {&node.input(0)});
}

void import_is_inf(const ImportNode& node) {
  const bool below = node.integer("detect_negative", 1) != 0,
             above = node.integer("detect_positive", 1) != 0;
  const char* text = below && above ? "abs(a) == inf" : below ? "a == -inf" : "a == inf";
  if (!below && !above) text = "a != a && a == a";
  make_elementwise(node, text, DType::kBool, {&node.input(0)});
}

void import_identity(const ImportNode& node) { node.importer().alias(node, 0, node.input(0)); }

/// Of inference, or of a ratio of 0: what is dropped is nothing.
void import_dropout(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  bool trains = node.integer("is_test", 1) == 0;
  if (node.version() >= 12) trains = node.has(2) && node.known(2, "modes").at(0) != 0;
  const bool none = trains && node.has(1) && node.numbers(1, "ratios").at(0) == 0;
  if (trains && !none) throw Unsupported{"of training"};
  node.importer().alias(node, 0, x);
  if (!node.wants(1)) return;
  if (node.version() < 10) throw Unsupported{"its mask, before version 10"};
  std::vector<int64_t> dims;
  for (const ImportExtent& e : x.shape) dims.push_back(import_fixed(e));
  Importer& importer = node.importer();
  importer.constant(node, 1, importer.fill(importer.tensor_of(DType::kBool, {}, {1}), dims));
}

/// Counts of the width or more shift all out.
void import_bit_shift(const ImportNode& node) {
  const std::string direction = node.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") throw Unsupported{"a shift to no side"};
  make_elementwise(node, direction == "LEFT" ? "a << b" : "a >> b", node.input(0).type,
                   {&node.input(0), &node.input(1)});
}

}  // namespace

std::vector<ImportEntry> rows_of_values() {
  return {
      {"BitShift", import_bit_shift},
      {"IsInf", import_is_inf},
      {"Clip", import_clip},
      {"Dropout", import_dropout},
      {"Gelu", import_gelu},
      {"Identity", import_identity},
      {"Max", import_max},
      {"Mean", import_mean},
      {"Min", import_min},
      {"Pow", import_pow},
      {"PRelu", import_prelu},
      {"Sign", import_sign},
      {"Sum", import_sum},
      {"Where", import_where},
  };
}

}  // namespace hone::ops
