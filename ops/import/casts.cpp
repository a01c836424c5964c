// SPDX-License-Identifier: Apache-2.0
// Elements of one type as those of another.
#include "ops/import/casts.h"

#include <fmt/format.h>

#include <cctype>

#include "ops/import/elementwise.h"
#include "ops/import/known.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

void cast_to(const ImportNode& node, DType to) {
  const ImportValue& a = node.input(0);
  if (a.type == to) return node.importer().alias(node, 0, a);
  if (cast_known(node, to)) return;
  const bool saturates = node.integer("saturate", 1) != 0;
  make_elementwise(node, cast_of("a", a.type, to, saturates), to, {&a});
}

/// Before version 6 the type is a word such as `FLOAT`.
void import_cast(const ImportNode& node) {
  const std::string given = node.text("to", "");
  if (given.empty()) {
    return cast_to(node, import_type(static_cast<onnx::DataType>(node.integer("to", 0))));
  }
  std::string word = given;
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (int i = 1; i <= static_cast<int>(onnx::DataType::kInt2); ++i) {
    const auto type = static_cast<onnx::DataType>(i);
    if (onnx::name_of(type) == word) return cast_to(node, import_type(type));
  }
  throw Unsupported{fmt::format("to the type `{}`", given)};
}

void import_cast_like(const ImportNode& node) { cast_to(node, node.input(1).type); }

}  // namespace

std::string cast_of(const std::string& value, DType from, DType to, bool saturates) {
  const std::string type(name_of(to)),
      number = is_float(from) ? value : fmt::format("cast<f32>({})", value);
  // The language's own casts saturate to f8e4m3, and overflow to f8e5m2.
  if (to == DType::kF8E5M2 && saturates)
    return fmt::format("cast<{}>(max(-57344.0, min(57344.0, {})))", type, number);
  if (to == DType::kF8E4M3 && !saturates)
    return fmt::format("cast<{0}>(select(abs({1}) > 464.0, nan, {1}))", type, number);
  if (is_packed(to) && is_float(from)) return fmt::format("cast<{}>(round({}))", type, value);
  return fmt::format("cast<{}>({})", type, value);
}

std::vector<ImportEntry> rows_of_casts() {
  return {{"Cast", import_cast}, {"CastLike", import_cast_like}};
}

}  // namespace hone::ops
