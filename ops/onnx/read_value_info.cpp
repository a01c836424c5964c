// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/onnx/fields.h"
#include "ops/onnx/message.h"
#include "ops/onnx/reader.h"

namespace hone::onnx {
namespace {

/// Fixed by: exporters, which write that for an extent that they do not know.
constexpr int64_t kUnknownExtent = -1;

Dim read_dim(std::string_view bytes, Context& context) {
  Dim dim;
  Message message(bytes, DimFields::kAll, context);
  while (message.next()) {  // the last one counts
    dim = {};
    if (message.tag() == DimFields::kValue) {
      dim.value = message.integer();
      dim.kind = dim.value == kUnknownExtent ? Dim::kUnknown : Dim::kValue;
      if (dim.value < kUnknownExtent) {
        context.refuse(
            fmt::format("the extent {} is negative; write 0 or more, or a name", dim.value));
      }
      if (dim.kind == Dim::kUnknown) dim.value = 0;
    } else {
      dim.parameter = message.bytes();
      dim.kind = dim.parameter.empty() ? Dim::kUnknown : Dim::kParameter;
    }
  }
  return dim;
}

void read_shape(std::string_view bytes, Context& context, ValueInfo& value) {
  const Overview overview(bytes, ShapeFields::kAll, context);
  value.has_shape = true;
  context.reserve(value.shape, overview.count(ShapeFields::kDim));
  Message message(bytes, ShapeFields::kAll, context);
  while (message.next()) {
    context.within(static_cast<int64_t>(value.shape.size()),
                   [&, dim = message.bytes()] { value.shape.push_back(read_dim(dim, context)); });
  }
}

void read_tensor_type(std::string_view bytes, Context& context, ValueInfo& value) {
  Message message(bytes, TensorTypeFields::kAll, context);
  while (message.next()) {
    if (message.tag() == TensorTypeFields::kElementType) {
      value.type = static_cast<DataType>(message.integer());
    } else if (value.has_shape) {
      context.refuse("a second shape stands here; one is read");
    } else {
      context.within(-1, [&, shape = message.bytes()] { read_shape(shape, context, value); });
    }
  }
}

ValueInfo::Kind kind_of(uint32_t tag) {
  switch (tag) {
    case TypeFields::kTensorType:
      return ValueInfo::kTensor;
    case TypeFields::kSequenceType:
      return ValueInfo::kSequence;
    case TypeFields::kMapType:
      return ValueInfo::kMap;
    case TypeFields::kOptionalType:
      return ValueInfo::kOptional;
    case TypeFields::kSparseTensorType:
      return ValueInfo::kSparseTensor;
    default:
      return ValueInfo::kOpaque;
  }
}

void read_type(std::string_view bytes, Context& context, ValueInfo& value) {
  Message message(bytes, TypeFields::kAll, context);
  while (message.next()) {
    if (value.kind != ValueInfo::kNone) context.refuse("a second type stands here; one is read");
    value.kind = kind_of(message.tag());
    const std::string_view type = message.bytes();
    if (value.kind == ValueInfo::kTensor) {
      context.within(-1, [&] { read_tensor_type(type, context, value); });
    }
  }
}

}  // namespace

void read_value_info(std::string_view bytes, Context& context, ValueInfo& value) {
  const Overview overview(bytes, ValueInfoFields::kAll, context);
  value.name = overview.bytes(ValueInfoFields::kName);
  context.name(value.name);
  Message message(bytes, ValueInfoFields::kAll, context);
  while (message.next()) {
    const std::string_view text = message.bytes();
    if (message.tag() == ValueInfoFields::kType) {
      context.within(-1, [&] { read_type(text, context, value); });
    }
  }
}

}  // namespace hone::onnx
