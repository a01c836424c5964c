// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// A number that an element of 8 bits stands for: `(read - zero) * scales`.
struct ByteFactor {
  Term read;                 ///< the element, in its own type
  std::vector<Term> zero;    ///< none or one, an access or a number
  std::vector<Term> scales;  ///< floats
  bool is_float = false;     ///< in f32; else in i32, and without scales
};

/// The factors of a product; of anything else, itself.
std::vector<Term> factors_of(const Term& t);

/// The product of some factors, of one or more.
Term multiplied(const std::vector<Term>& factors);

/// Is `t` such a number? It reads arguments of `d`. Just one factor of it is an element of 8 bits,
/// perhaps less a zero point.
std::optional<ByteFactor> byte_factor(const Definition& d, const Term& t);

/// The statement of a node that makes each result from the element of 8 bits at the same place, in
/// f32: `Y[i,j] = (cast<f32>(X[i,j]) - cast<f32>(Z[j])) * S[j]`. Else none.
std::optional<ByteFactor> dequantized(const Definition& d);

/// The op of a node where its dtype parameters are the types that they have there.
Definition with_types(const GraphNode& node);

}  // namespace hone::ops
