// SPDX-License-Identifier: Apache-2.0
#include "ops/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hone::ops {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t change = last[k - 1] + (a[i - 1] != b[k - 1] ? 1 : 0);
      row[k] = std::min({change, last[k] + 1, row[k - 1] + 1});
      const bool swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (swapped) row[k] = std::min(row[k], before[k - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

std::vector<std::string> nearest(std::vector<std::string> words, std::string_view given,
                                 size_t count) {
  std::stable_sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
    return edit_distance(a, given) < edit_distance(b, given);
  });
  words.resize(std::min(words.size(), count));
  return words;
}

std::string likely_word(const std::vector<std::string>& words, std::string_view given) {
  const auto near = nearest(words, given, 1);
  // One edit, and one more for every four letters: further off a guess misleads.
  const bool likely = !near.empty() && edit_distance(near[0], given) <= 1 + given.size() / 4 &&
                      edit_distance(near[0], given) < near[0].size();
  return likely ? near[0] : "";
}

}  // namespace hone::ops
