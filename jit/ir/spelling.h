// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::ir {

/// Letters to add, drop, change or exchange with the next one, to make `b` of `a`.
size_t edits_between(std::string_view a, std::string_view b);

/// The `count` of `words` that are nearest to `given`, the nearest first.
std::vector<std::string> nearest_words(std::vector<std::string> words, std::string_view given,
                                       size_t count);

/// The word of `words` that `given` likely means. One that differs in case alone, else the one that
/// the fewest edits make, where they are few for its length. Empty where there is none.
std::string nearest_word(std::string_view given, const std::vector<std::string>& words);

/// "; did you mean `word`?" for the nearest of `words`, or nothing.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& words);

}  // namespace hone::ir
