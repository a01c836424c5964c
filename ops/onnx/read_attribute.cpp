// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "ops/onnx/fields.h"
#include "ops/onnx/message.h"
#include "ops/onnx/reader.h"

namespace hone::onnx {
namespace {

/// The field that has the value of a kind.
struct KindRow {
  AttributeKind kind;
  AttributeFields::Tag tag;
};
constexpr KindRow kKinds[] = {
    {AttributeKind::kFloat, AttributeFields::kF},
    {AttributeKind::kInt, AttributeFields::kI},
    {AttributeKind::kString, AttributeFields::kS},
    {AttributeKind::kTensor, AttributeFields::kT},
    {AttributeKind::kGraph, AttributeFields::kG},
    {AttributeKind::kFloats, AttributeFields::kFloats},
    {AttributeKind::kInts, AttributeFields::kInts},
    {AttributeKind::kStrings, AttributeFields::kStrings},
    {AttributeKind::kTensors, AttributeFields::kTensors},
    {AttributeKind::kGraphs, AttributeFields::kGraphs},
    {AttributeKind::kSparseTensor, AttributeFields::kSparseTensor},
    {AttributeKind::kSparseTensors, AttributeFields::kSparseTensors},
    {AttributeKind::kType, AttributeFields::kTp},
    {AttributeKind::kTypes, AttributeFields::kTypeProtos},
};

/// The row of the kind that the file states; in the oldest files, which state none, of the value.
const KindRow& row_of(AttributeKind stated, const Overview& overview, const Context& context) {
  for (const KindRow& row : kKinds) {
    const bool found =
        stated == AttributeKind::kUndefined ? overview.count(row.tag) > 0 : stated == row.kind;
    if (found) return row;
  }
  context.refuse(stated == AttributeKind::kUndefined
                     ? std::string("this attribute has neither a type nor a value")
                     : fmt::format("the attribute's type is {}; known are 1 to {}",
                                   static_cast<int32_t>(stated), std::size(kKinds)));
}

/// Makes room for the values, and refuses where one is wanted and others stand.
void prepare(const Overview& overview, const KindRow& row, Context& context, Attribute& attribute) {
  const size_t count = overview.count(row.tag);
  const bool single = row.tag == AttributeFields::kT || row.tag == AttributeFields::kG;
  // Some writers leave out a number or text that has its default, 0 or empty.
  if (single && count != 1 && attribute.reference.empty()) {
    context.refuse(fmt::format("{} values stand in {}; this type has one", count,
                               row.tag == AttributeFields::kT ? "t" : "g"));
  }
  switch (row.kind) {
    case AttributeKind::kFloats:
      return context.reserve(attribute.floats, count);
    case AttributeKind::kInts:
      return context.reserve(attribute.ints, count);
    case AttributeKind::kStrings:
      return context.reserve(attribute.strings, count);
    case AttributeKind::kTensor:
    case AttributeKind::kTensors:
      return context.reserve(attribute.tensors, count);
    case AttributeKind::kGraph:
    case AttributeKind::kGraphs:
      return context.reserve(attribute.graphs, count);
    default:
      return;
  }
}

void read_value(Message& message, Context& context, Attribute& attribute) {
  const auto place = [&](size_t count) {
    const bool single =
        message.tag() == AttributeFields::kT || message.tag() == AttributeFields::kG;
    return single ? -1 : static_cast<int64_t>(count);
  };
  switch (message.tag()) {
    case AttributeFields::kF:
      attribute.f = message.number();
      break;
    case AttributeFields::kI:
      attribute.i = message.integer();
      break;
    case AttributeFields::kS:
      attribute.s = message.bytes();
      break;
    case AttributeFields::kFloats:
      message.each_float([&](float value) { attribute.floats.push_back(value); });
      break;
    case AttributeFields::kInts:
      message.each_integer([&](int64_t value) { attribute.ints.push_back(value); });
      break;
    case AttributeFields::kStrings:
      attribute.strings.push_back(message.bytes());
      break;
    case AttributeFields::kT:
    case AttributeFields::kTensors:
      context.within(place(attribute.tensors.size()), [&, tensor = message.bytes()] {
        read_tensor(tensor, context, attribute.tensors.emplace_back());
      });
      break;
    case AttributeFields::kG:
    case AttributeFields::kGraphs:
      context.within_graph(place(attribute.graphs.size()), [&, graph = message.bytes()] {
        read_graph(graph, context, attribute.graphs.emplace_back());
      });
      break;
    default:
      message.skip();
  }
}

}  // namespace

void read_attribute(std::string_view bytes, Context& context, Attribute& attribute) {
  const Overview overview(bytes, AttributeFields::kAll, context);
  attribute.name = overview.bytes(AttributeFields::kName);
  attribute.reference = overview.bytes(AttributeFields::kReference);
  context.name(attribute.name);
  auto stated = AttributeKind::kUndefined;
  if (overview.count(AttributeFields::kType) > 0) {
    Message message(bytes, AttributeFields::kAll, context);
    while (message.next()) {
      if (message.tag() == AttributeFields::kType) {
        stated = static_cast<AttributeKind>(message.integer());
      } else {
        message.skip();
      }
    }
  }
  const KindRow& row = row_of(stated, overview, context);
  attribute.kind = row.kind;
  prepare(overview, row, context, attribute);
  Message message(bytes, AttributeFields::kAll, context);
  while (message.next()) {
    if (message.tag() == static_cast<uint32_t>(row.tag)) {
      read_value(message, context, attribute);
    } else {
      message.skip();
    }
  }
}

}  // namespace hone::onnx
