// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "ops/onnx/fields.h"
#include "ops/onnx/message.h"
#include "ops/onnx/model.h"

namespace hone::onnx {

/// The field that has the elements of a type where they are not raw, and bytes of one value of it.
struct TypedField {
  TensorFields::Tag tag;
  int bytes;  ///< 0 for strings
};
TypedField typed_field_of(DataType type);

/// The name of a tensor's field.
const char* name_of(TensorFields::Tag tag);

/// The type, dims and elements of a tensor for a message, such as `float[2,3]`.
std::string described(const Tensor& tensor);

/// Decodes the values of a typed field into bytes that the tensor owns.
void decode_typed(std::string_view bytes, const Overview& overview, TypedField field,
                  Context& context, Tensor& tensor);

}  // namespace hone::onnx
