// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::ops {

/// What to write for a sign or word of other languages in place of an operator or a statement, as
/// "write `&&`" for `and`. Empty where nothing is known of the word.
std::string_view advice_on_sign(std::string_view text);

/// The same for the name of a function or reduction, as "write `log(x)`" for `ln`.
std::string_view advice_on_function(std::string_view name);

/// "; did you mean `f32`?" for what is no dtype and looks like one or is one elsewhere, or nothing.
std::string dtype_hint(std::string_view name);

/// All dtypes; all reductions; all functions; as lists of words.
const std::vector<std::string>& dtype_words();
const std::vector<std::string>& reduction_words();
const std::vector<std::string>& function_words();

/// The words with spaces between.
std::string spaced(const std::vector<std::string>& words);

}  // namespace hone::ops
