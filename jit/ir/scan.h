// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "jit/ir/program.h"

namespace hone::ir {

/// The value of a recurrence that combines the result before with a term, associatively. So results
/// of neighbours are prefixes, which lanes make in steps of 1, 2, 4.
struct Scan {
  Reduce combine = Reduce::kSum;
  Expr earlier;  ///< the load of the result before
  Expr term;     ///< reads no result
  /// What the result before is multiplied by, which reads no result either; null: by nothing. The
  /// factors of neighbours are multiplied: `f2*(f1*e + t1) + t2` is `(f2*f1)*e + (f2*t1 + t2)`.
  Expr factor;
};

/// `value` as such a combination, in the type that is stored. It is a sum, a maximum or minimum, of
/// integers a product; or a linear function of the result before, as `e + a*(x - e)` is. `own`:
/// whether a load is of what the recurrence stores.
std::optional<Scan> scan_of(const Expr& value, const std::function<bool(const Expr&)>& own);

/// The var along which each element of a stage goes on from the one before, in such a combination;
/// "": along none.
std::string scanned_var(const Stage& stage);

/// The position of the vector loop whose iterations go on from one another; nothing: none is.
std::optional<size_t> scanning_loop(const Stage& stage);

}  // namespace hone::ir
