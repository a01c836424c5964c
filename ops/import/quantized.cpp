// SPDX-License-Identifier: Apache-2.0
// What quantizes elements, and products and convolutions of quantized ones.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/import/casts.h"
#include "ops/import/convolution.h"
#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

bool is_byte(DType type) { return type == DType::kU8 || type == DType::kI8; }

/// A scale or zero point of a whole tensor, or of its parts along one index.
struct Parameter {
  std::string dims, indices;
};

Parameter parameter_of(const ImportValue& v, const std::string& dim, const std::string& index) {
  if (v.shape.empty()) return {"", ""};
  if (v.shape.size() == 1 && v.shape[0].is(1)) return {"1", "0"};
  if (v.shape.size() == 1 && !index.empty()) return {dim, index};
  throw Unsupported{"scales or zero points of parts of a tensor"};
}

/// An op's arguments and the text under way.
struct Quantized {
  std::vector<ImportArgument> arguments;

  /// Input `i` of the node as `name`, read as one of a whole tensor or along `index`.
  std::string read(const ImportNode& node, size_t i, const std::string& name,
                   const std::string& dim = "", const std::string& index = "") {
    const Parameter p = parameter_of(node.input(i), dim, index);
    arguments.push_back({&node.input(i), name, p.dims});
    return fmt::format("{}[{}]", name, p.indices);
  }
};

/// `value`, a float, as an element of 8 bits about `zero`.
std::string saturated(const std::string& value, const std::string& zero, DType type) {
  const bool sign = type == DType::kI8;
  return fmt::format("cast<{}>(max({}, min({}, round({}) + cast<f32>({}))))", name_of(type),
                     sign ? "-128.0" : "0.0", sign ? "127.0" : "255.0", value, zero);
}

/// A matrix product of `a` and `b` about their zero points, as a sum of i32.
std::string product_of(const ImportNode& node, size_t a, size_t b, size_t zero_a, size_t zero_b,
                       Product& product, Quantized& q) {
  product = product_of(node.input(a), node.input(b));
  q.arguments.push_back({&node.input(a), "A", product.of_a});
  q.arguments.push_back({&node.input(b), "B", product.of_b});
  if (!is_byte(node.input(a).type) || !is_byte(node.input(b).type)) {
    throw Unsupported{"quantized elements of other than 8 bits"};
  }
  std::string left = fmt::format("A[{}]", product.at_a), right = fmt::format("B[{}]", product.at_b);
  if (node.has(zero_a))
    left = fmt::format("({} - {})", left, q.read(node, zero_a, "ZA", "M", product.row));
  if (node.has(zero_b))
    right = fmt::format("({} - {})", right, q.read(node, zero_b, "ZB", "N", product.column));
  return fmt::format("sum[k](cast<i32>({})*cast<i32>({}))", left, right);
}

void import_matmul_integer(const ImportNode& node) {
  Product product;
  Quantized q;
  const std::string sum = product_of(node, 0, 1, 2, 3, product, q);
  node.importer().make(node, 0, DType::kI32, product.shape, q.arguments, product.of_y,
                       fmt::format("Y[{}] = {}", product.at_y, sum));
}

/// The result's elements are whole multiples of its scale, about its zero point.
void import_linear_matmul(const ImportNode& node) {
  Product product;
  Quantized q;
  const std::string sum = product_of(node, 0, 3, 2, 5, product, q),
                    by_a = q.read(node, 1, "SA", "M", product.row),
                    by_b = q.read(node, 4, "SB", "N", product.column), by_y = q.read(node, 6, "SY"),
                    zero = q.read(node, 7, "ZY");
  const DType type = node.input(7).type;
  if (!is_byte(type)) throw Unsupported{"quantized results of other than 8 bits"};
  const std::string value =
      fmt::format("cast<f32>(s[{}])*({}*{}/{})", product.at_y, by_a, by_b, by_y);
  node.importer().make(node, 0, type, product.shape, q.arguments, product.of_y,
                       fmt::format("s: i32[{0}] = {1}; Y[{0}] = {2}", product.at_y, sum,
                                   saturated(value, zero, type)));
}

/// A convolution about zero points as a sum of i32. What lies outside of the input is its zero.
std::string convolution_about(const ImportNode& node, const Convolution& c, size_t zero_x,
                              size_t zero_w, Quantized& q) {
  std::string x = fmt::format("X[{}]", c.at_x), w = fmt::format("W[{}]", c.at_w);
  if (node.has(zero_x)) {
    const std::string zero = q.read(node, zero_x, "ZX");
    x = c.padded ? fmt::format("(({} else {}) - {})", x, zero, zero)
                 : fmt::format("({} - {})", x, zero);
  } else if (c.padded) {
    x = fmt::format("({} else 0)", x);
  }
  if (node.has(zero_w))
    w = fmt::format("({} - {})", w, q.read(node, zero_w, "ZW", c.channels, "i1"));
  return fmt::format("sum[{}](cast<i32>({})*cast<i32>({}))", c.over, x, w);
}

void import_conv_integer(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1);
  if (!is_byte(x.type) || !is_byte(w.type)) throw Unsupported{"elements of other than 8 bits"};
  const Convolution c = convolution_of(node, x, w);
  Quantized q{{{&x, "X", c.of_x}, {&w, "W", c.of_w}}};
  const std::string sum = convolution_about(node, c, 2, 3, q);
  node.importer().make(node, 0, DType::kI32, c.shape, q.arguments, c.of_y,
                       fmt::format("Y[{}] = {}", c.at_y, sum));
}

void import_linear_conv(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(3);
  const DType type = node.input(7).type;
  if (!is_byte(x.type) || !is_byte(w.type) || !is_byte(type)) {
    throw Unsupported{"elements of other than 8 bits"};
  }
  const Convolution c = convolution_of(node, x, w);
  Quantized q{{{&x, "X", c.of_x}, {&w, "W", c.of_w}}};
  std::string sum = convolution_about(node, c, 2, 5, q);
  const std::string by_x = q.read(node, 1, "SX"), by_w = q.read(node, 4, "SW", c.channels, "i1"),
                    by_y = q.read(node, 6, "SY"), zero = q.read(node, 7, "ZY");
  if (node.has(8)) {
    q.arguments.push_back({&node.input(8), "B", c.channels});
    sum += " + B[i1]";
  }
  const std::string value = fmt::format("cast<f32>(s[{}])*({}*{}/{})", c.at_y, by_x, by_w, by_y);
  node.importer().make(
      node, 0, type, c.shape, q.arguments, c.of_y,
      fmt::format("s: i32[{0}] = {1}; Y[{0}] = {2}", c.at_y, sum, saturated(value, zero, type)));
}

/// The declared dims of a shape, with `text` for one of them.
std::string declared_but(const ImportShape& shape, size_t axis, const std::string& text) {
  std::vector<std::string> dims;
  for (size_t i = 0; i < shape.size(); ++i) {
    dims.push_back(i == axis ? text : shape[i].is(1) ? "1" : import_dim(i));
  }
  return joined(dims);
}

/// A scale or zero point of all elements, of those along an axis, or of blocks along it.
Broadcast parameter_along(const ImportNode& node, const ImportValue& x, size_t input) {
  const ImportShape& shape = node.input(input).shape;
  if (shape.empty()) return {"", ""};
  if (shape.size() == 1 && shape[0].is(1)) return {"1", "0"};
  const size_t axis = import_axis(node.integer("axis", 1), x.shape.size());
  const int64_t block = node.integer("block_size", 0);
  if (block == 0 && shape.size() == 1) {
    if (shape[0].fixed() && x.shape[axis].fixed() && !(shape[0] == x.shape[axis])) {
      throw Unsupported{fmt::format("{} scales or zero points of {} elements along axis {}",
                                    shape[0].text(), x.shape[axis].text(), axis)};
    }
    return broadcast_from(shape, axis, x.shape);
  }
  if (block < 1 || shape.size() != x.shape.size()) {
    throw Unsupported{
        fmt::format("scales or zero points of {} dims and blocks of {}", shape.size(), block)};
  }
  ImportShape blocks = x.shape;
  blocks[axis] = {(import_fixed(x.shape[axis]) + block - 1) / block, ""};
  if (!(shape == blocks)) {
    throw Unsupported{fmt::format("{} elements in blocks of {}, and scales [{}] of [{}]",
                                  x.shape[axis].text(), block, text_of(shape), text_of(x.shape))};
  }
  std::vector<std::string> at = import_indices(x.shape);
  at[axis] = fmt::format("{}/{}", at[axis], block);
  return {declared_but(x.shape, axis, blocks[axis].text()), joined(at)};
}

/// The declaration of elements that have scales: a dim that blocks divide is a number.
std::string declared_along(const ImportNode& node, const ImportValue& x) {
  if (node.integer("block_size", 0) < 1) return declared(x.shape).dims;
  const size_t axis = import_axis(node.integer("axis", 1), x.shape.size());
  return declared_but(x.shape, axis, x.shape[axis].text());
}

void import_dequantize(const ImportNode& node) {
  const ImportValue &x = node.input(0), &scale = node.input(1);
  const std::string at = joined(import_indices(x.shape)), dims = declared_along(node, x);
  const Broadcast by = parameter_along(node, x, 1);
  const auto given = static_cast<onnx::DataType>(node.integer("output_dtype", 0));
  const DType to = given == onnx::DataType::kUndefined ? scale.type : import_type(given);
  if (!is_float(to)) throw Unsupported{"to integers"};
  std::vector<ImportArgument> arguments{{&x, "X", dims}, {&scale, "S", by.dims}};
  std::string value = fmt::format("cast<f32>(X[{}])", at);
  if (node.has(2)) {
    const Broadcast zero = parameter_along(node, x, 2);
    arguments.push_back({&node.input(2), "Z", zero.dims});
    value = fmt::format("({} - cast<f32>(Z[{}]))", value, zero.indices);
  }
  value = fmt::format("{}*S[{}]", value, by.indices);
  if (to != scale.type) value = fmt::format("cast<{}>({})", name_of(to), value);
  node.importer().make(node, 0, to, x.shape, arguments, dims, fmt::format("Y[{}] = {}", at, value));
}

/// The least and the greatest integer of a type of 16 bits and less.
std::pair<int64_t, int64_t> ends_of(DType type) {
  if (!is_int(type) || bit_width_of(type) > 16) {
    throw Unsupported{fmt::format(
        "to {}, which is neither an integer of at most 16 bits nor a float of 8", name_of(type))};
  }
  const int64_t count = int64_t{1} << bit_width_of(type);
  return is_unsigned(type) ? std::pair{int64_t{0}, count - 1}
                           : std::pair{-count / 2, count / 2 - 1};
}

/// To the type of the zero point, else to the one of an attribute, else to u8.
DType quantized_type(const ImportNode& node) {
  if (node.has(2)) return node.input(2).type;
  const auto given = static_cast<onnx::DataType>(node.integer("output_dtype", 0));
  return given == onnx::DataType::kUndefined ? DType::kU8 : import_type(given);
}

void import_quantize(const ImportNode& node) {
  const ImportValue &x = node.input(0), &scale = node.input(1);
  const DType to = quantized_type(node);
  const bool narrow = to == DType::kF8E4M3 || to == DType::kF8E5M2;
  const std::string at = joined(import_indices(x.shape)), dims = declared_along(node, x);
  const Broadcast by = parameter_along(node, x, 1);
  std::vector<ImportArgument> arguments{{&x, "X", dims}, {&scale, "S", by.dims}};
  std::string divisor = fmt::format("S[{}]", by.indices);
  if (!is_float(scale.type)) divisor = fmt::format("cast<f32>({})", divisor);
  std::string value = fmt::format("cast<f32>(X[{}])/{}", at, divisor);
  if (!narrow) value = fmt::format("round({})", value);
  if (node.has(2)) {
    const Broadcast zero = parameter_along(node, x, 2);
    arguments.push_back({&node.input(2), "Z", zero.dims});
    value = fmt::format("({} + cast<f32>(Z[{}]))", value, zero.indices);
  }
  if (narrow) {
    value = cast_of(value, DType::kF32, to, node.integer("saturate", 1) != 0);
  } else {
    const auto [least, most] = ends_of(to);
    value = fmt::format("cast<{}>(max({}.0, min({}.0, {})))", name_of(to), least, most, value);
  }
  node.importer().make(node, 0, to, x.shape, arguments, dims, fmt::format("Y[{}] = {}", at, value));
}

/// The scale and zero point are those by which all elements, and 0, have a place in 8 bits.
void import_dynamic_quantize(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.type != DType::kF32) throw Unsupported{"of another type than f32"};
  std::vector<std::string> over;
  for (size_t i = 0; i < x.shape.size(); ++i) over.push_back(fmt::format("r{}", i));
  const std::string dims = joined(import_dims(x.shape)), at = joined(import_indices(x.shape));
  const std::string all = joined(over);
  const auto end = [&](const char* which) {
    return over.empty() ? std::string("X[]") : fmt::format("{}[{}](X[{}])", which, all, all);
  };
  std::string text =
      fmt::format("low[] = min(0, {}); high[] = max(0, {}); s[] = (high[] - low[])/255", end("min"),
                  end("max"));
  if (node.wants(0) || node.wants(2)) text += "; z[] = round(max(0, min(255, -low[]/s[])))";
  std::vector<ImportResult> results;
  if (node.wants(0)) {
    results.push_back({0, DType::kU8, x.shape, "Y", dims});
    text += fmt::format("; Y[{0}] = cast<u8>(max(0, min(255, round(X[{0}]/s[]) + z[])))", at);
  }
  if (node.wants(1)) {
    results.push_back({1, DType::kF32, {}, "S", ""});
    text += "; S[] = s[]";
  }
  if (node.wants(2)) {
    results.push_back({2, DType::kU8, {}, "Z", ""});
    text += "; Z[] = cast<u8>(z[])";
  }
  node.importer().make(node, results, {{&x, "X", dims}}, text);
}

}  // namespace

std::vector<ImportEntry> rows_of_quantized() {
  return {
      {"ConvInteger", import_conv_integer},
      {"DequantizeLinear", import_dequantize},
      {"DynamicQuantizeLinear", import_dynamic_quantize},
      {"MatMulInteger", import_matmul_integer},
      {"QLinearConv", import_linear_conv},
      {"QLinearMatMul", import_linear_matmul},
      {"QuantizeLinear", import_quantize},
  };
}

}  // namespace hone::ops
