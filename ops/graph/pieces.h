// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/syntax.h"

namespace hone::ops {

/// A part of an op, as an op.
struct Piece {
  Op op;
  std::vector<std::string> takes;       ///< of the whole op: a name for each argument
  std::vector<std::string> makes;       ///< of the whole op: its results, or values between
  std::map<std::string, Term> extents;  ///< dims that the whole op has not, in its own
};

/// An op whose types have names of their own, in parts that a graph can have as nodes:
///   Y[m,n] = relu(sum[k](A[m,k]*W[k,n]) + b[n])
/// is the sum, a contraction, and what is made of it. An op without contractions stays whole, but
/// for results that are an argument as it stands. So does an op whose values depend on one another
/// in circles, or are not defined everywhere.
///
/// What a contraction makes or multiplies keeps the type that it is made of, 16 bits as well. Other
/// values between have the type of arithmetic.
std::vector<Piece> pieces_of(const Op& op);

/// Is the op `Y[i,j] = X[i,j]` and no more?
bool is_identity(const Op& op);

}  // namespace hone::ops
