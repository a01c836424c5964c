// SPDX-License-Identifier: Apache-2.0
// Types and constants: which numbers of a file are known, and weights that a graph declares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/import/importer.h"

namespace hone::ops {
namespace {

/// A tensor with more elements is a weight, and its values are not looked at.
/// Chosen: more than shapes and axes have (not measured).
constexpr int64_t kMostKnown = 64;

/// Elements that a node may fill with one value.
/// Chosen: the weights of the largest layers (not measured).
constexpr int64_t kMostFilled = int64_t{1} << 28;

/// Types that ONNX and the language have.
struct TypePair {
  onnx::DataType onnx;
  DType own;
};

constexpr TypePair kTypes[] = {
    {onnx::DataType::kFloat, DType::kF32},
    {onnx::DataType::kDouble, DType::kF64},
    {onnx::DataType::kFloat16, DType::kF16},
    {onnx::DataType::kBfloat16, DType::kBF16},
    {onnx::DataType::kInt64, DType::kI64},
    {onnx::DataType::kInt32, DType::kI32},
    {onnx::DataType::kInt16, DType::kI16},
    {onnx::DataType::kInt8, DType::kI8},
    {onnx::DataType::kUint8, DType::kU8},
    {onnx::DataType::kBool, DType::kBool},
    {onnx::DataType::kFloat8E4M3FN, DType::kF8E4M3},
    {onnx::DataType::kFloat8E5M2, DType::kF8E5M2},
    {onnx::DataType::kInt4, DType::kI4},
    {onnx::DataType::kUint4, DType::kU4},
};

template <class T>
T element(const onnx::Tensor& t, int64_t i) {
  T value;
  std::memcpy(&value, t.data.data() + i * static_cast<int64_t>(sizeof(T)), sizeof value);
  return value;
}

/// Element `i` of those of less than a byte that lie side by side.
int64_t packed_element(std::string_view bytes, DType type, int64_t i) {
  const int64_t in_byte = elements_per_byte(type), bits = bit_width_of(type);
  const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(i / in_byte)]);
  const int64_t value = (byte >> (bits * (i % in_byte))) & ((1 << bits) - 1);
  const bool negative = !is_unsigned(type) && value >> (bits - 1) != 0;
  return negative ? value - (int64_t{1} << bits) : value;
}

/// Elements of less than a byte in rows of `row` ones, each from a whole byte on.
std::string packed_rows(const std::vector<int64_t>& values, DType type, int64_t row) {
  const auto width = static_cast<size_t>(bytes_of_row(type, row));
  const int64_t in_byte = elements_per_byte(type), bits = bit_width_of(type);
  std::string out(row > 0 ? values.size() / static_cast<size_t>(row) * width : 0, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t column = static_cast<int64_t>(i) % row;
    const size_t at = i / static_cast<size_t>(row) * width + static_cast<size_t>(column / in_byte);
    const auto part = (values[i] & ((1 << bits) - 1)) << (bits * (column % in_byte));
    out[at] = static_cast<char>(static_cast<uint8_t>(out[at]) | part);
  }
  return out;
}

int64_t row_of(const std::vector<int64_t>& dims) { return dims.empty() ? 1 : dims.back(); }

int64_t integer(const onnx::Tensor& t, DType type, int64_t i) {
  if (is_packed(type)) return packed_element(t.data, type, i);
  switch (type) {
    case DType::kI64:
      return element<int64_t>(t, i);
    case DType::kI32:
      return element<int32_t>(t, i);
    case DType::kI16:
      return element<int16_t>(t, i);
    case DType::kI8:
      return element<int8_t>(t, i);
    case DType::kBool:
      return element<uint8_t>(t, i) != 0;
    default:
      return element<uint8_t>(t, i);
  }
}

std::vector<int64_t> read_integers(const onnx::Tensor& t, DType type) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.elements; ++i) {
    out.push_back(std::clamp(integer(t, type, i), -kMostInteger, kMostInteger));
  }
  return out;
}

}  // namespace

std::vector<double> ImportNode::numbers(size_t i, const char* what) const {
  const ImportValue& value = input(i);
  if (value.known) return {value.known->begin(), value.known->end()};
  const onnx::Tensor* t = value.tensor;
  const bool wide = value.type == DType::kF64;
  if (!t || t->elements > kMostKnown || (!wide && value.type != DType::kF32)) {
    throw Unsupported{fmt::format("its {} are not known before a call", what)};
  }
  std::vector<double> out;
  for (int64_t n = 0; n < t->elements; ++n) {
    out.push_back(wide ? element<double>(*t, n) : static_cast<double>(element<float>(*t, n)));
  }
  return out;
}

void Importer::add_constant(std::string_view name, const onnx::Tensor& tensor) {
  ImportValue value;
  value.type = import_type(tensor.type);
  value.shape = fixed_shape(tensor.dims);
  value.tensor = &tensor;
  if (tensor.elements <= kMostKnown && !is_float(value.type)) {
    value.known = read_integers(tensor, value.type);
  }
  if (tensor.elements == 1 && value.type == DType::kF32) value.number = element<float>(tensor, 0);
  if (tensor.elements == 1 && value.type == DType::kF64) value.number = element<double>(tensor, 0);
  values_[std::string(name)] = std::move(value);
}

std::string Importer::named(const ImportValue& value) {
  if (!value.name.empty()) return value.name;
  if (value.sizes) throw Unsupported{"it takes sizes that calls tell for elements"};
  if (!value.tensor) return computed(value);
  auto [at, fresh] = weights_.emplace(value.tensor, "");
  if (!fresh) return at->second;
  const onnx::Tensor& t = *value.tensor;
  at->second = fresh_name(t.name.empty() ? "c" : t.name);
  arguments_ += fmt::format("{}const {}: {}[{}]", arguments_.empty() ? "" : ", ", at->second,
                            name_of(value.type), text_of(value.shape));
  graph_.weights.push_back({at->second, value.type, t.dims, t.data, t.owner});
  if (is_packed(value.type)) {
    const auto rows = std::make_shared<std::string>(rows_of_packed(t));
    graph_.weights.back().data = *rows;
    graph_.weights.back().owner = rows;
  }
  return at->second;
}

/// A weight of integers that were computed here.
std::string Importer::computed(const ImportValue& value) {
  const auto bytes = std::make_shared<std::string>();
  for (const int64_t v : *value.known) {
    // Such a number may be another one of the file, cut where it was read.
    if (std::abs(v) >= kMostInteger) throw Unsupported{"integers beyond 2^40 are computed with"};
    // Little-endian, as files have them.
    bytes->append(reinterpret_cast<const char*>(&v), static_cast<size_t>(size_of(value.type)));
  }
  std::vector<int64_t> shape;
  for (const ImportExtent& e : value.shape) shape.push_back(e.times);
  if (is_packed(value.type)) *bytes = packed_rows(*value.known, value.type, row_of(shape));
  const std::string name = fresh_name("known");
  arguments_ += fmt::format("{}const {}: {}[{}]", arguments_.empty() ? "" : ", ", name,
                            name_of(value.type), text_of(value.shape));
  graph_.weights.push_back({name, value.type, shape, *bytes, bytes});
  return name;
}

const onnx::Tensor& Importer::fill(const onnx::Tensor& element, const std::vector<int64_t>& dims) {
  onnx::Tensor& t = filled_.emplace_back();
  t.type = element.type;
  t.dims = dims;
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && t.elements > kMostFilled / d)) {
      throw Unsupported{"it fills more elements than a weight has"};
    }
    t.elements *= d;
  }
  const auto bytes = std::make_shared<std::string>();
  if (const int bits = onnx::bits_of(t.type); bits > 0 && bits < onnx::kBitsOfByte) {
    // In each place of a byte: files have them side by side.
    const int one = static_cast<uint8_t>(element.data.at(0)) & ((1 << bits) - 1);
    int all = 0;
    for (int at = 0; at < onnx::kBitsOfByte; at += bits) all |= one << at;
    bytes->assign(static_cast<size_t>(onnx::bytes_of(t.type, t.elements)), static_cast<char>(all));
  } else {
    for (int64_t i = 0; i < t.elements; ++i) bytes->append(element.data);
  }
  t.data = *bytes;
  t.owner = bytes;
  return t;
}

const onnx::Tensor& Importer::tensor_of(DType type, const std::vector<int64_t>& dims,
                                        const std::vector<double>& values) {
  if (is_narrow_float(type) || is_packed(type)) {
    throw Unsupported{fmt::format("constants of {} are not computed", name_of(type))};
  }
  onnx::Tensor& t = filled_.emplace_back();
  t.type = onnx_type(type);
  t.dims = dims;
  t.elements = static_cast<int64_t>(values.size());
  const auto bytes = std::make_shared<std::string>();
  for (const double v : values) {
    // Little-endian, as files have them.
    const auto single = static_cast<float>(v);
    const auto whole = is_float(type) ? 0 : static_cast<int64_t>(v);
    const void* from = type == DType::kF64   ? static_cast<const void*>(&v)
                       : type == DType::kF32 ? static_cast<const void*>(&single)
                                             : static_cast<const void*>(&whole);
    bytes->append(static_cast<const char*>(from), static_cast<size_t>(size_of(type)));
  }
  t.data = *bytes;
  t.owner = bytes;
  return t;
}

std::string rows_of_packed(const onnx::Tensor& t) {
  const DType type = import_type(t.type);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < t.elements; ++i) values.push_back(packed_element(t.data, type, i));
  return packed_rows(values, type, row_of(t.dims));
}

std::string side_by_side(std::string_view rows, DType type, const std::vector<int64_t>& dims,
                         int64_t elements) {
  const int64_t row = row_of(dims);
  const auto width = static_cast<size_t>(bytes_of_row(type, row));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < elements; ++i) {
    values.push_back(
        packed_element(rows.substr(static_cast<size_t>(i / row) * width), type, i % row));
  }
  return packed_rows(values, type, elements);
}

DType import_type(onnx::DataType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == type) return pair.own;
  }
  throw Unsupported{fmt::format("the language has no type for {}", onnx::name_of(type))};
}

onnx::DataType onnx_type(DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.own == type) return pair.onnx;
  }
  return onnx::DataType::kUndefined;
}

}  // namespace hone::ops
