// SPDX-License-Identifier: Apache-2.0
#include "runtime/c/tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "runtime/c/handles.h"

namespace hone::runtime {
namespace {

/// A container of the tensor's number of elements; a container makes a tensor flat.
template <class T>
TensorRef flat(const hone_tensor& t) {
  const auto count = static_cast<size_t>(t.shape[0]);
  if (t.read_only) return TensorRef(std::span<const T>(static_cast<const T*>(t.data), count));
  return TensorRef(std::span<T>(static_cast<T*>(t.data), count));
}

TensorRef flat_tensor(const hone_tensor& t) {
  switch (t.type) {
    case HONE_F64:
      return flat<double>(t);
    case HONE_F32:
      return flat<float>(t);
    case HONE_F16:
      return flat<f16>(t);
    case HONE_BF16:
      return flat<bf16>(t);
    case HONE_I64:
      return flat<int64_t>(t);
    case HONE_I32:
      return flat<int32_t>(t);
    case HONE_I16:
      return flat<int16_t>(t);
    case HONE_I8:
      return flat<int8_t>(t);
    case HONE_U8:
      return flat<uint8_t>(t);
    case HONE_BOOL:
      return flat<bool>(t);
    case HONE_F8E4M3:
      return flat<f8e4m3>(t);
    case HONE_F8E5M2:
      return flat<f8e5m2>(t);
    default:
      break;
  }
  return flat<std::byte>(t);
}

}  // namespace

Result<TensorRef> c_tensor(const hone_tensor& t) {
  const auto wrong = [](std::string why) { return Failure{ErrorCode::kArgument, std::move(why)}; };
  if (t.type < HONE_F64 || t.type > HONE_U1) {
    return wrong("a hone_tensor has type " + std::to_string(t.type) + ", which is no hone_dtype");
  }
  if (t.rank < HONE_FLAT || t.rank > TensorRef::kMaxRank) {
    return wrong("a hone_tensor has rank " + std::to_string(t.rank) +
                 "; 0 to 12, or HONE_FLAT, are taken");
  }
  if (t.rank != 0 && !t.shape) return wrong("the shape of a hone_tensor is null");
  if (t.rank == HONE_FLAT) {
    if (t.shape[0] < 0) return wrong("a flat hone_tensor has a negative number of elements");
    if (is_packed(static_cast<DType>(t.type))) {
      return wrong(
          "a flat hone_tensor of less than a byte an element is given as its bytes, of "
          "type HONE_U8");
    }
    return flat_tensor(t);
  }
  const auto rank = static_cast<size_t>(t.rank);
  const std::span<const int64_t> shape(t.shape, rank);
  const std::span<const int64_t> strides(t.strides, t.strides ? rank : 0);
  const auto type = static_cast<DType>(t.type);
  if (t.read_only) return TensorRef(static_cast<const void*>(t.data), type, shape, strides);
  return TensorRef(t.data, type, shape, strides);
}

CallOptions c_call(const hone_call_options* options) {
  const hone_call_options c = c_options(options);
  CallOptions o;
  o.workspace = {static_cast<std::byte*>(c.workspace), c.workspace ? c.workspace_bytes : 0};
  o.serial = c.serial != 0;
  return o;
}

ParamList::ParamList(std::span<const Param> params) {
  shapes_.reserve(params.size());
  for (const Param& param : params) {
    Shape& shape = shapes_.emplace_back();
    for (const Extent& e : param.shape) {
      shape.extents.push_back(e.value);
      shape.dims.push_back(e.text.c_str());
      shape.most.push_back(e.most);
      shape.by_data.push_back(e.by_data ? 1 : 0);
    }
    params_.push_back({param.name.c_str(), static_cast<hone_role>(param.role),
                       static_cast<hone_dtype>(param.type),
                       static_cast<int32_t>(param.shape.size()), param.constant,
                       shape.extents.data(), shape.dims.data(), param.strides.data(), param.align,
                       param.cold, shape.most.data(), shape.by_data.data()});
  }
}

}  // namespace hone::runtime
