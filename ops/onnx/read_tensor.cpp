// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/onnx/reader.h"
#include "ops/onnx/typed_field.h"

namespace hone::onnx {
namespace {

/// Chosen: past that no memory holds a tensor, and sizes in bytes stay within 64 bits (not
/// measured).
constexpr int64_t kMostElements = int64_t{1} << 40;

/// Chosen: past every framework's limit, and short enough for a message (not measured).
constexpr size_t kMostDims = 64;

/// What a tensor of external data keeps alive: its name and its data.
struct Owners {
  std::shared_ptr<const void> file;
  std::shared_ptr<const void> external;
};

/// Where the elements are, by TensorProto.DataLocation. Fixed by: onnx.proto.
enum Location : int64_t { kInside = 0, kExternal = 1 };

/// Reads the type and the dims; returns the location.
int64_t read_type(std::string_view bytes, Context& context, Tensor& tensor) {
  int64_t location = kInside;
  Message message(bytes, TensorFields::kAll, context);
  while (message.next()) {
    switch (message.tag()) {
      case TensorFields::kDims:
        message.each_integer([&](int64_t dim) { tensor.dims.push_back(dim); });
        break;
      case TensorFields::kType:
        tensor.type = static_cast<DataType>(message.integer());
        break;
      case TensorFields::kLocation:
        location = message.integer();
        break;
      default:
        message.skip();
    }
  }
  return location;
}

/// The product of the dims. Where one is 0 the others are held to the limit all the same.
int64_t elements_of(const Tensor& tensor, const Context& context) {
  int64_t product = 1;
  bool empty = false;
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) context.refuse(fmt::format("the dim {} is negative; write 0 or more", dim));
    empty |= dim == 0;
    const int64_t factor = std::max<int64_t>(dim, 1);
    if (factor > kMostElements / product) {
      context.refuse(
          fmt::format("the dims {} make more than 2^40 elements", fmt::join(tensor.dims, "x")));
    }
    product *= factor;
  }
  return empty ? 0 : product;
}

/// Refuses values in fields where a tensor of that type and location has none.
void check_fields(const Overview& overview, TensorFields::Tag right, const Tensor& tensor,
                  const Context& context) {
  for (const TensorFields::Tag tag :
       {TensorFields::kFloats, TensorFields::kInt32s, TensorFields::kStrings, TensorFields::kInt64s,
        TensorFields::kDoubles, TensorFields::kUint64s}) {
    if (tag == right || overview.count(tag) == 0) continue;
    context.refuse(fmt::format(
        "the values of {} stand in {}; they stand in {}{}", described(tensor), name_of(tag),
        name_of(right),
        right == TensorFields::kRaw || tensor.type == DataType::kString ? "" : " or raw_data"));
  }
}

void read_strings(std::string_view bytes, const Overview& overview, Context& context,
                  Tensor& tensor) {
  const size_t count = overview.count(TensorFields::kStrings);
  if (std::cmp_not_equal(count, tensor.elements)) {
    context.refuse(fmt::format("string_data has {} values; {} has {}", count, described(tensor),
                               tensor.elements));
  }
  context.reserve(tensor.strings, count);
  Message message(bytes, TensorFields::kAll, context);
  while (message.next()) {
    if (message.tag() == TensorFields::kStrings) {
      tensor.strings.push_back(message.bytes());
    } else {
      message.skip();
    }
  }
}

void read_raw(const Overview& overview, Context& context, Tensor& tensor) {
  tensor.data = overview.bytes(TensorFields::kRaw);
  const int64_t wanted = bytes_of(tensor.type, tensor.elements);
  if (std::cmp_not_equal(tensor.data.size(), wanted)) {
    context.refuse(fmt::format("raw_data has {} bytes; {} has {}", tensor.data.size(),
                               described(tensor), wanted));
  }
}

void read_outside(std::string_view bytes, const Overview& overview, Context& context,
                  Tensor& tensor) {
  if (tensor.type == DataType::kString) context.refuse("strings cannot be external data");
  if (!overview.bytes(TensorFields::kRaw).empty()) {
    context.refuse("raw_data stand here, and data_location says that they are external");
  }
  std::vector<Entry> entries;
  context.reserve(entries, overview.count(TensorFields::kExternal));
  Message message(bytes, TensorFields::kAll, context);
  while (message.next()) {
    if (message.tag() != TensorFields::kExternal) {
      message.skip();
      continue;
    }
    context.within(static_cast<int64_t>(entries.size()),
                   [&, entry = message.bytes()] { entries.push_back(read_entry(entry, context)); });
  }
  const ExternalData external =
      read_external(entries, bytes_of(tensor.type, tensor.elements), context);
  context.charge(sizeof(Owners));
  tensor.data = external.bytes;
  tensor.owner = std::make_shared<const Owners>(Owners{context.owner(), external.owner});
}

}  // namespace

void read_tensor(std::string_view bytes, Context& context, Tensor& tensor) {
  const Overview overview(bytes, TensorFields::kAll, context);
  tensor.name = overview.bytes(TensorFields::kName);
  tensor.owner = context.owner();
  context.name(tensor.name);
  if (overview.count(TensorFields::kSegment) > 0) {
    context.refuse(
        "a segment stands here, which parts of tensors and sequences have; whole tensors are read",
        ErrorCode::kUnsupported);
  }
  const size_t rank = overview.count(TensorFields::kDims);
  if (rank > kMostDims) {
    context.refuse(fmt::format("this tensor has {} dims; at most {} are read", rank, kMostDims));
  }
  context.reserve(tensor.dims, rank);
  const int64_t location = read_type(bytes, context, tensor);
  if (name_of(tensor.type).empty()) {
    context.refuse(fmt::format("data_type is {}; known are 1 (float) to {} ({})",
                               static_cast<int32_t>(tensor.type),
                               static_cast<int32_t>(DataType::kInt2), name_of(DataType::kInt2)));
  }
  tensor.elements = elements_of(tensor, context);
  if (location == kExternal) {
    check_fields(overview, TensorFields::kRaw, tensor, context);
    return read_outside(bytes, overview, context, tensor);
  }
  if (location != kInside) {
    context.refuse(fmt::format("data_location is {}; it is 0 (here) or 1 (external)", location));
  }
  const bool raw = !overview.bytes(TensorFields::kRaw).empty() && tensor.type != DataType::kString;
  const TypedField typed = typed_field_of(tensor.type);
  check_fields(overview, raw ? TensorFields::kRaw : typed.tag, tensor, context);
  if (tensor.type == DataType::kString) return read_strings(bytes, overview, context, tensor);
  if (raw) return read_raw(overview, context, tensor);
  const bool some = overview.count(typed.tag) > 0;
  if (!some && tensor.elements > 0) {
    context.refuse(fmt::format("{} has no values; they stand in raw_data or {}", described(tensor),
                               name_of(typed.tag)));
  }
  if (some) decode_typed(bytes, overview, typed, context, tensor);
}

}  // namespace hone::onnx
