// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/spelling.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>

#include "jit/ir/sort.h"

namespace hone::ir {
namespace {

/// Chosen: longer than any word of the language (not measured).
constexpr size_t kLongestWord = 64;  // of what is compared: a hostile text is not

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    next[0] = i + 1;
    for (size_t k = 0; k < b.size(); ++k) {
      next[k + 1] = std::min({row[k] + (a[i] != b[k]), next[k] + 1, row[k + 1] + 1});
      const bool exchanged = i > 0 && k > 0 && a[i] == b[k - 1] && a[i - 1] == b[k];
      if (exchanged) next[k + 1] = std::min(next[k + 1], before[k - 1] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

std::vector<std::string> nearest_words(std::vector<std::string> words, std::string_view given,
                                       size_t count) {
  stable_sort(words, [&](const std::string& a, const std::string& b) {
    return edits_between(a, given) < edits_between(b, given);
  });
  words.resize(std::min(words.size(), count));
  return words;
}

std::string nearest_word(std::string_view given, const std::vector<std::string>& words) {
  if (given.empty() || given.size() > kLongestWord) return {};
  const std::string low = in_lower_case(given);
  std::string best;
  size_t fewest = SIZE_MAX;
  for (const std::string& word : words) {
    const bool same = in_lower_case(word) == low && word != given;
    const size_t edits = same ? 0 : edits_between(given, word);
    if (edits < fewest && word != given) {
      fewest = edits;
      best = word;
    }
  }
  // One edit in four letters: of a single letter another one is another name.
  const bool close = fewest == 0 || 4 * fewest <= std::max(given.size(), best.size()) + 2;
  return close && (fewest == 0 || best.size() > 1) ? best : std::string();
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& words) {
  const std::string word = nearest_word(given, words);
  return word.empty() ? word : "; did you mean `" + word + "`?";
}

}  // namespace hone::ir
