// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jit/interp/reference.h"

namespace hone::jit {

/// The first element that differs from the reference.
struct Mismatch {
  std::string tensor;
  std::vector<int64_t> index;
  std::string got, want;  ///< values as text, integers exact
  double bound = 0;
};

/// How results compare with the reference.
struct Comparison {
  double max_err = 0;     ///< largest |got - want| / bound; infinite where bits had to agree
  int64_t compared = 0;   ///< elements looked at
  int64_t certain = 0;    ///< of these, those whose bits had to agree
  int64_t unbounded = 0;  ///< and those where anything may come out
  int64_t mismatches = 0;
  std::optional<Mismatch> first;

  bool ok() const { return mismatches == 0; }
  /// `C[3,17] is 2.5 where 2.25 +- 1e-06 is right; 12 of 4096 elements differ`.
  std::string text() const;
};

/// Compares `got` (same order as the outcome's outputs) with the reference, within its error bound.
/// Where that is 0 the bits must be equal, except that zeros of either sign are equal. NaN must be
/// NaN and infinity infinity. Elements that the definition does not write are not compared.
Comparison compare(const ReferenceOutcome& want, const std::vector<TensorView>& got);

}  // namespace hone::jit
