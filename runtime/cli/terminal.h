// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hone::runtime {

/// Columns of what standard output is: COLUMNS, else the terminal's; 0 where it is no terminal, and
/// lines may be as long as they are.
size_t line_width();

/// `text` in `width` columns, the last of them "..." where it is longer; 0: as it is.
std::string fitted(std::string_view text, size_t width);

/// A schedule in lines of up to `width` columns that end between steps; all but the first begin
/// with `indent` spaces, which the width includes. Still one schedule for who copies it. Steps that
/// are longer than a line stand on lines of their own.
std::string in_lines(std::string_view schedule, size_t indent, size_t width);

/// The same behind a label of `run` and `tune`, on a terminal and elsewhere; `none` of no steps.
std::string schedule_lines(std::string_view schedule);

}  // namespace hone::runtime
