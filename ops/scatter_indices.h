// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/syntax.h"

namespace hone::ops {

/// The indices that positions of a scatter name and its left side has not. Those of `for` come
/// last, in that order, the others as they appear. `known`: names that are none.
std::vector<Range> scattered_indices(const Statement& s,
                                     const std::function<bool(std::string_view)>& known);

/// The terms of a scatter as a reduction over those indices, in which their ranges are looked for.
Term terms_as_reduction(const Statement& s, const std::function<bool(std::string_view)>& known);

/// The statement with some plain indices as positions: those named by a position that names no
/// scattered index. `Y[n, ids[n]] += v` then goes over n as over indices of other positions.
Statement with_scattered_indices(Statement s, const std::vector<Range>& scattered);

}  // namespace hone::ops
