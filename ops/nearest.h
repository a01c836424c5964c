// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hone::ops {

/// Edits between two words: letters added, dropped or changed, or two neighbours that changed
/// places.
size_t edit_distance(std::string_view a, std::string_view b);

/// The `count` of `words` that are nearest to `given`, the nearest first.
std::vector<std::string> nearest(std::vector<std::string> words, std::string_view given,
                                 size_t count);

/// The word that `given` was likely meant to be; empty where none is near enough to say.
std::string likely_word(const std::vector<std::string>& words, std::string_view given);

}  // namespace hone::ops
