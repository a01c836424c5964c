// SPDX-License-Identifier: Apache-2.0
// Operators of one element each whose expression depends on types, attributes or on how many inputs
// there are.
#include <fmt/format.h>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

std::vector<const ImportValue*> all_inputs(const ImportNode& node) {
  std::vector<const ImportValue*> values;
  for (size_t i = 0; i < node.inputs(); ++i) values.push_back(&node.input(i));
  return values;
}

/// `f(f(a, b), c)` and so on.
void fold(const ImportNode& node, std::string_view open, std::string_view between,
          std::string_view close, const std::string& after) {
  const auto values = all_inputs(node);
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

void import_pow(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (b.number && *b.number == 2) return make_elementwise(node, "a*a", a.type, {&a});
  if (a.type != b.type || !is_float(a.type)) {
    throw Unsupported{"powers of integers, and of two types"};
  }
  make_elementwise(node, "pow(a, b)", a.type, {&a, &b});
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

void import_cast(const ImportNode& node) {
  const auto type = static_cast<onnx::DataType>(node.integer("to", 0));
  const DType to = import_type(type);
  const ImportValue& a = node.input(0);
  if (a.known && !is_float(to)) {
    std::vector<int64_t> shape;
    for (const ImportExtent& e : a.shape) shape.push_back(e.times);
    return node.importer().know(node, 0, *a.known, shape, to);
  }
  if (a.type == to) return node.importer().alias(node, 0, a);
  make_elementwise(node, fmt::format("cast<{}>(a)", name_of(to)), to, {&a});
}

void import_cast_like(const ImportNode& node) {
  const ImportValue& a = node.input(0);
  const DType to = node.input(1).type;
  if (a.type == to) return node.importer().alias(node, 0, a);
  make_elementwise(node, fmt::format("cast<{}>(a)", name_of(to)), to, {&a});
}

void import_is_inf(const ImportNode& node) {
  const bool below = node.integer("detect_negative", 1) != 0,
             above = node.integer("detect_positive", 1) != 0;
  const char* text = below && above ? "abs(a) == inf" : below ? "a == -inf" : "a == inf";
  if (!below && !above) text = "a != a && a == a";
  make_elementwise(node, text, DType::kBool, {&node.input(0)});
}

void import_identity(const ImportNode& node) { node.importer().alias(node, 0, node.input(0)); }

/// Of inference: what is dropped is nothing.
void import_dropout(const ImportNode& node) {
  if (node.wants(1)) throw Unsupported{"its mask is asked for"};
  const bool trains = node.has(2) && (!node.input(2).known || node.input(2).known->at(0) != 0);
  if (trains || node.integer("is_test", 1) == 0) throw Unsupported{"of training"};
  node.importer().alias(node, 0, node.input(0));
}

void import_mod(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (is_float(a.type)) throw Unsupported{"remainders of floats"};
  const char* text = node.integer("fmod", 0) == 0
                         ? "a % b"
                         : "select((a % b != 0) && ((a < 0) != (b < 0)), a % b - b, a % b)";
  make_elementwise(node, text, a.type, {&a, &b});
}

}  // namespace

std::vector<ImportEntry> rows_of_values() {
  return {
      {"Cast", import_cast},         {"CastLike", import_cast_like},
      {"IsInf", import_is_inf},      {"Clip", import_clip},
      {"Dropout", import_dropout},   {"Gelu", import_gelu},
      {"Identity", import_identity}, {"Max", import_max},
      {"Mean", import_mean},         {"Min", import_min},
      {"Mod", import_mod},           {"Pow", import_pow},
      {"Sign", import_sign},         {"Sum", import_sum},
      {"Where", import_where},
  };
}

}  // namespace hone::ops
