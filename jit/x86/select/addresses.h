// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Addresses: one pointer register per pattern of loop variables, advanced by its loop. Constant
/// parts are displacements. Multiples of a dim (strides known at the call) are scaled indices.
class Addresses final : public SelectionPart, public ScopeListener {
 public:
  Addresses(Context& context, Indices& indices) : SelectionPart(context), indices_(indices) {
    context.listeners.push_back(this);
  }

  /// The address of element `offset` of a buffer in memory; no lanes in it.
  Mem address(int buffer, const Affine& offset);
  Reg base(int buffer);
  void closed(int depth, uint64_t written) override;

 private:
  struct Pointer {
    int buffer;
    int depth;  ///< of the scope it ends with
    Affine terms;
    Reg reg;
  };

  /// The register holding base + terms (in elements), for the iteration being emitted.
  Reg pointer(int buffer, const Affine& terms);
  /// Where `terms` stand at the first iteration of the loop at `depth`; more terms than fit
  /// overflow.
  Affine start_of(const Affine& terms, int depth) const;
  Reg induction_pointer(int buffer, const Affine& terms, int depth);

  Indices& indices_;
  std::vector<Pointer> pointers_;
};

}  // namespace hone::jit
