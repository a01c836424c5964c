// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/check/block_compare.h"
#include "runtime/check/operands.h"

namespace hone::runtime {

/// What candidates make of a fixture at a site, held against what is right. On a device operands
/// are reset and compared where they lie; the host gets what differs. On the host, and where the
/// device lacks memory for that, the fixture does it.
class Results {
 public:
  /// Site, fixture and `compare` must outlive it; the host needs no `compare`.
  static Result<Results> create(Site& site, Fixture& fixture, BlockCompare* compare);
  /// Takes the device's memory to reset and compare there, if there is enough.
  Result<Done> take_copies();

  const Operands& operands() const { return operands_; }
  /// Outputs to "unwritten", inout tensors to what they held: before each call.
  Result<Done> reset();
  /// To be called after each call, before what follows.
  Result<Done> collect();
  /// Remembers the outputs as they are now, for `as_remembered`.
  Result<Done> remember();
  /// True when the outputs have the bits that were remembered.
  Result<bool> as_remembered();
  /// The first parameter around which memory was written, or the first input that has changed, or
  /// "".
  Result<std::string> overwritten();
  /// Compares the outputs with all that is known of them, as the fixture does.
  Result<jit::Comparison> compare(const TileEdges& edges);

 private:
  using Blocks = std::vector<std::unique_ptr<Block>>;

  Results(Operands operands, Fixture& fixture, BlockCompare* compare)
      : operands_(std::move(operands)), fixture_(&fixture), compare_(compare) {}
  bool on_device() const { return !clean_.empty(); }
  Result<Blocks> blocks_of(const std::vector<size_t>& params) const;
  Result<Done> fetch_sampled();
  Result<Done> save(Blocks& to) const;
  Result<bool> same(const Blocks& as) const;
  Result<bool> near_kept() const;

  Operands operands_;
  Fixture* fixture_;
  BlockCompare* compare_;
  Blocks clean_;           ///< per parameter, as `reset` makes it; none: the fixture does all
  Blocks remembered_;      ///< per output
  Blocks kept_;            ///< per output, what the fixture keeps,
  bool has_kept_ = false;  ///< once it does
};

}  // namespace hone::runtime
