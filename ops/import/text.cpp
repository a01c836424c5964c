// SPDX-License-Identifier: Apache-2.0
// Dims, indices and numbers as the text of an op has them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/import/importer.h"

namespace hone::ops {

std::string import_dim(size_t axis) { return fmt::format("D{}", axis); }
std::string import_index(size_t axis) { return fmt::format("i{}", axis); }

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

std::vector<std::string> import_dims(const ImportShape& shape) {
  std::vector<std::string> out;
  for (size_t i = 0; i < shape.size(); ++i) out.push_back(import_dim(i));
  return out;
}

std::vector<std::string> import_indices(const ImportShape& shape) {
  std::vector<std::string> out;
  for (size_t i = 0; i < shape.size(); ++i) out.push_back(import_index(i));
  return out;
}

std::string with_letters(const std::string& text, const std::map<char, std::string>& letters) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone =
        (i == 0 || !is_word(text[i - 1])) && (i + 1 == text.size() || !is_word(text[i + 1]));
    const auto at = alone ? letters.find(text[i]) : letters.end();
    out += at == letters.end() ? std::string(1, text[i]) : at->second;
  }
  return out;
}

std::string import_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "(-inf)" : "inf";
  std::string text = fmt::format("{:.17g}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

}  // namespace hone::ops
