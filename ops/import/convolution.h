// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// The declarations and reads of a matrix product over `k`, batches before it.
struct Product {
  std::string of_a, of_b, of_y;  ///< declared dims
  std::string at_a, at_b, at_y;  ///< indices
  std::string row, column;       ///< the indices of rows of A and columns of B; empty of vectors
  ImportShape shape;
};
Product product_of(const ImportValue& a, const ImportValue& b);

/// The same of a convolution over `over`.
struct Convolution {
  std::string of_x, of_w, of_y;
  std::string at_x, at_w, at_y, over;
  std::string channels;  ///< the dim of the result's channels, `i1`
  ImportShape shape;
  bool padded = false;  ///< some reads of X leave it
};
Convolution convolution_of(const ImportNode& node, const ImportValue& x, const ImportValue& w);

}  // namespace hone::ops
