// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string_view>

#include "ops/onnx/context.h"
#include "ops/onnx/fields.h"

namespace hone::onnx {

/// Walks the known fields of one message in the order of the file; others are skipped. A value
/// whose wire type does not fit its definition is refused before anybody reads it.
class Message {
 public:
  Message(std::string_view bytes, std::span<const Field> fields, Context& context)
      : reader_(bytes.data(), bytes.size()),
        begin_(bytes.data()),
        fields_(fields),
        context_(context) {}

  /// Goes to the next known field, whose value is then to be taken by one of the functions below.
  bool next();
  /// The tag of the current field.
  uint32_t tag() const { return field_->tag; }
  /// How its value is encoded.
  Wire wire() const { return field_->wire; }
  /// Leaves the value out.
  void skip() { reader_.skip(); }

  /// The value of a kVarint field, as the 64 bits that stand there.
  int64_t integer() { return reader_.get_int64(); }
  /// The value of a kFloat field.
  float number() { return reader_.get_float(); }
  /// The value of a kBytes field.
  std::string_view bytes() {
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }

  /// How many values of a repeated number stand here; takes them.
  size_t count();
  /// Calls `use(int64_t)` for each value of a kVarints field.
  template <class Use>
  void each_integer(const Use& use) {
    if (!packed()) return use(reader_.get_int64());
    for (const int64_t value : reader_.get_packed_int64()) use(value);
  }
  /// Calls `use(float)` for each value of a kFloats field.
  template <class Use>
  void each_float(const Use& use) {
    if (!packed()) return use(reader_.get_float());
    for (const float value : reader_.get_packed_float()) use(value);
  }
  /// Calls `use(double)` for each value of a kDoubles field.
  template <class Use>
  void each_double(const Use& use) {
    if (!packed()) return use(reader_.get_double());
    for (const double value : reader_.get_packed_double()) use(value);
  }

 private:
  bool packed() const { return reader_.has_wire_type(protozero::pbf_wire_type::length_delimited); }
  void check_wire_type() const;

  protozero::pbf_reader reader_;
  const char* begin_;
  std::span<const Field> fields_;
  Context& context_;
  const Field* field_ = nullptr;
};

/// A first walk over a message: how often each field stands there, and the last text of each.
class Overview {
 public:
  Overview(std::string_view bytes, std::span<const Field> fields, Context& context);

  /// How often the field stands there; of repeated numbers, how many values.
  size_t count(uint32_t tag) const { return counts_[tag]; }
  /// The last value of a field of bytes, which is the one that counts; empty when there is none.
  std::string_view bytes(uint32_t tag) const { return bytes_[tag]; }

 private:
  // Fixed by: onnx.proto, in which no message that is read has a field of a higher tag.
  static constexpr size_t kTags = 32;

  std::array<size_t, kTags> counts_{};
  std::array<std::string_view, kTags> bytes_{};
};

/// What a fault of the wire format says to a user.
Failure failure_of(const protozero::exception& fault, const Context& context);

/// The failure of what `read` refuses, and of wire data that are no messages; else its value.
template <class T, class Read>
Result<T> guarded(const Context& context, const Read& read) {
  try {
    return T(read());
  } catch (const Refusal& refusal) {
    return Failure{refusal.code, context.located(refusal.what)};
  } catch (const protozero::exception& fault) {
    return failure_of(fault, context);
  } catch (const std::bad_alloc&) {
    return Failure{ErrorCode::kMemory, context.located("there is no memory left")};
  }
}

}  // namespace hone::onnx
