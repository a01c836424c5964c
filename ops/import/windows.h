// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// Windows that slide over one dim: result `p` reads `p*stride + r*dilation - before` for r < taps.
struct ImportWindow {
  int64_t taps = 1, stride = 1, dilation = 1, before = 0, after = 0;
  ImportExtent input;
  ImportExtent results;

  /// Whether some position lies outside of the input.
  bool padded = false;
  /// The results over as many elements, where windows do not end behind the input.
  ImportExtent results_over(const ImportExtent& elements) const;
  /// Whether all extents of the input have their results by one formula, `(D2 - 1)/2 + 1`; nodes
  /// that differ in sizes are one op then. Else the extents stand in the op as numbers.
  bool has_formula() const;
  /// How an op declares the dim of its input, `D2` if that is `dim`, and the one of its result.
  std::string input_text(const std::string& dim) const;
  std::string results_text(const std::string& dim) const;
  /// `2*i3 + r1 - 1`.
  std::string position(const std::string& result, const std::string& tap) const;
};

/// The windows of a convolution or pooling over the dims of `x` after the first two, by the node's
/// attributes. `taps` are those of the kernel.
std::vector<ImportWindow> import_windows(const ImportNode& node, const ImportValue& x,
                                         const std::vector<int64_t>& taps);

}  // namespace hone::ops
