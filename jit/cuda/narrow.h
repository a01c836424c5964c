// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// A term of a sum, in the order in which sums are printed.
struct IndexTerm {
  bool minus = false;
  ir::Expr value;  ///< no sum, unless it is subtracted
};

/// The terms of a sum of indices; `e` itself where it is none.
std::vector<IndexTerm> index_terms(const ir::Expr& e);

/// Terms to add in arithmetic that wraps around, of a sum that fits 32 bits. Some are so large that
/// an intermediate sum may not fit; with all of these together it does. None where every
/// intermediate sum fits.
std::vector<bool> wrapped_terms(const std::vector<IndexTerm>& terms, const ir::Facts& facts);

/// Whether index arithmetic of `launch` needs 64 bits: for elements, for conditions on indices, or
/// for the ends of loops. Bounded are the values that are printed: sums as a whole, what they are
/// divided into, and factors.
bool needs_wide_indices(const ir::Nest& nest, const ir::Launch& launch, ir::Facts facts);

}  // namespace hone::jit
