// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/typed_field.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace hone::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are stored as they are");

/// What a tensor of decoded values owns. Its names still stand in the file.
struct Decoded {
  std::shared_ptr<const void> file;
  std::string bytes;
};

// Fixed by: C++.
constexpr int kBytesOfInt64 = sizeof(int64_t);

/// Stores integers as the low bytes of what stands in the file.
class IntegerStore {
 public:
  IntegerStore(std::string& out, TypedField field, DataType type, const Context& context)
      : out_(out), bytes_(field.bytes), type_(type), context_(context) {
    if (bytes_ == kBytesOfInt64) return;
    // Writers give 16 bits of a float with a sign or without, and so bytes of other types.
    const int64_t past = int64_t{1} << (bytes_ * kBitsOfByte);
    least_ = field.tag == TensorFields::kUint64s ? 0 : -past / 2;
    most_ = past - 1;
  }

  void add(int64_t value) {
    if (bytes_ != kBytesOfInt64 && (value < least_ || value > most_)) {
      context_.refuse(fmt::format("{} stands here, which does not fit {}; {} to {} do", value,
                                  name_of(type_), least_, most_));
    }
    out_.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(bytes_));
  }

 private:
  std::string& out_;
  int bytes_;
  DataType type_;
  const Context& context_;
  int64_t least_ = 0, most_ = 0;
};

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

TypedField typed_field_of(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return {TensorFields::kFloats, sizeof(float)};
    case DataType::kDouble:
    case DataType::kComplex128:
      return {TensorFields::kDoubles, sizeof(double)};
    case DataType::kInt64:
      return {TensorFields::kInt64s, sizeof(int64_t)};
    case DataType::kUint64:
      return {TensorFields::kUint64s, sizeof(uint64_t)};
    case DataType::kUint32:
      return {TensorFields::kUint64s, sizeof(uint32_t)};
    case DataType::kString:
      return {TensorFields::kStrings, 0};
    default:  // several elements of less than a byte share a value, as they would share a byte
      return {TensorFields::kInt32s, std::max(bits_of(type), kBitsOfByte) / kBitsOfByte};
  }
}

const char* name_of(TensorFields::Tag tag) {
  for (const Field& field : TensorFields::kAll) {
    if (field.tag == static_cast<uint32_t>(tag)) return field.name;
  }
  return "";
}

std::string described(const Tensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.type), fmt::join(tensor.dims, ","));
}

void decode_typed(std::string_view bytes, const Overview& overview, TypedField field,
                  Context& context, Tensor& tensor) {
  const int64_t size = bytes_of(tensor.type, tensor.elements);
  const int64_t wanted = size / field.bytes;
  if (std::cmp_not_equal(overview.count(field.tag), wanted)) {
    context.refuse(fmt::format("{} has {} values; {} has {}", name_of(field.tag),
                               overview.count(field.tag), described(tensor), wanted));
  }
  context.charge(static_cast<size_t>(size) + sizeof(Decoded));
  const auto decoded = std::make_shared<Decoded>();
  decoded->file = context.owner();
  std::string& out = decoded->bytes;
  out.reserve(static_cast<size_t>(size));
  IntegerStore integers(out, field, tensor.type, context);
  Message message(bytes, TensorFields::kAll, context);
  while (message.next()) {
    if (message.tag() != static_cast<uint32_t>(field.tag)) {
      message.skip();
    } else if (field.tag == TensorFields::kFloats) {
      message.each_float([&](float value) { append(out, value); });
    } else if (field.tag == TensorFields::kDoubles) {
      message.each_double([&](double value) { append(out, value); });
    } else {
      message.each_integer([&](int64_t value) { integers.add(value); });
    }
  }
  tensor.data = out;
  tensor.owner = decoded;
}

}  // namespace hone::onnx
