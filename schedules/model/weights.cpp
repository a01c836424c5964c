// SPDX-License-Identifier: Apache-2.0
// Weights of the estimate's terms as text.
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "schedules/model/model.h"

namespace hone::schedules {

std::string_view name_of(Term term) {
  constexpr std::string_view kNames[kTerms] = {
      "ports", "issue",  "chain",     "horizontal", "loops",     "entries",
      "tests", "spills", "scattered", "faults",     "code",      "l2",
      "l3",    "memory", "threads",   "pages",      "unaligned", "streamed"};
  return kNames[static_cast<size_t>(term)];
}

std::string print_weights(const Terms& weights) {
  std::string out;
  for (size_t t = 0; t < kTerms; ++t) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), weights[t],
                                   std::chars_format::general, 6)
                         .ptr;
    out += (t ? " " : "") + std::string(name_of(static_cast<Term>(t))) + "=";
    out.append(digits.data(), end);
  }
  return out;
}

Terms parse_weights(std::string_view text) {
  Terms weights = default_weights();
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    for (size_t t = 0; t < kTerms; ++t) {
      const std::string_view name = name_of(static_cast<Term>(t));
      if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") continue;
      double value = 0;
      const char* end = word.data() + word.size();
      const auto read = std::from_chars(word.data() + name.size() + 1, end, value);
      const bool sound = read.ec == std::errc() && read.ptr == end && std::isfinite(value);
      if (sound && value >= 0) weights[t] = value;
    }
  }
  return weights;
}

}  // namespace hone::schedules
