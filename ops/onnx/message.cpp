// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace hone::onnx {
namespace {

using protozero::pbf_wire_type;

std::string_view name_of(pbf_wire_type type) {
  switch (type) {
    case pbf_wire_type::varint:
      return "a varint";
    case pbf_wire_type::fixed64:
      return "a value of 8 bytes";
    case pbf_wire_type::length_delimited:
      return "a value with a length";
    case pbf_wire_type::fixed32:
      return "a value of 4 bytes";
    default:
      return "no value";
  }
}

/// The wire type of one value.
pbf_wire_type wire_type_of(Wire wire) {
  switch (wire) {
    case Wire::kVarint:
    case Wire::kVarints:
      return pbf_wire_type::varint;
    case Wire::kFloat:
    case Wire::kFloats:
      return pbf_wire_type::fixed32;
    case Wire::kDoubles:
      return pbf_wire_type::fixed64;
    case Wire::kBytes:
      break;
  }
  return pbf_wire_type::length_delimited;
}

bool is_repeated_number(Wire wire) { return wire >= Wire::kVarints; }

}  // namespace

bool Message::next() {
  while (reader_.next()) {
    const uint32_t tag = reader_.tag();
    const auto found = std::find_if(fields_.begin(), fields_.end(),
                                    [&](const Field& field) { return field.tag == tag; });
    if (found == fields_.end()) {
      context_.reach("(unread field)", reader_.data().data());
      reader_.skip();
      continue;
    }
    field_ = &*found;
    context_.reach(field_->name, reader_.data().data());
    check_wire_type();
    return true;
  }
  context_.reach(nullptr, begin_);  // what is said of the whole message points to its start
  return false;
}

void Message::check_wire_type() const {
  const pbf_wire_type wanted = wire_type_of(field_->wire), found = reader_.wire_type();
  if (found == wanted || (is_repeated_number(field_->wire) && packed())) return;
  context_.refuse(fmt::format("{} stands here; this field is {}{}", name_of(found), name_of(wanted),
                              is_repeated_number(field_->wire) ? ", or several in one with a "
                                                                 "length"
                                                               : ""),
                  ErrorCode::kSyntax);
}

size_t Message::count() {
  if (!packed()) {
    reader_.skip();
    return 1;
  }
  switch (field_->wire) {
    case Wire::kFloats:
      return reader_.get_packed_float().size();
    case Wire::kDoubles:
      return reader_.get_packed_double().size();
    default:
      return reader_.get_packed_int64().size();
  }
}

Overview::Overview(std::string_view bytes, std::span<const Field> fields, Context& context) {
  Message message(bytes, fields, context);
  while (message.next()) {
    const uint32_t tag = message.tag();
    if (is_repeated_number(message.wire())) {
      counts_[tag] += message.count();
      continue;
    }
    ++counts_[tag];
    if (message.wire() == Wire::kBytes) {
      bytes_[tag] = message.bytes();
    } else {
      message.skip();
    }
  }
}

Failure failure_of(const protozero::exception& fault, const Context& context) {
  const char* what = "no field begins here";
  if (dynamic_cast<const protozero::end_of_buffer_exception*>(&fault) != nullptr) {
    what = "the value goes past the end of its message";
  } else if (dynamic_cast<const protozero::varint_too_long_exception*>(&fault) != nullptr) {
    what = "this number has more than 10 bytes";
  } else if (dynamic_cast<const protozero::invalid_length_exception*>(&fault) != nullptr) {
    what = "the length is no multiple of the size of a value";
  }
  return {ErrorCode::kSyntax, context.located(fmt::format(
                                  "{}; the file is damaged, cut off or not of this format", what))};
}

}  // namespace hone::onnx
