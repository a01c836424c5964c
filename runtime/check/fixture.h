// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/interp/compare.h"
#include "jit/interp/data.h"
#include "ops/op.h"
#include "runtime/check/guarded_memory.h"
#include "runtime/check/tile_edges.h"

namespace hone::runtime {

/// Keeps operands of timing runs off one another's cache sets.
/// Chosen: three cache lines, so that sets differ each time (not measured).
inline constexpr size_t kStagger = 192;

/// The stagger of placement `n`, by which timings vary how operands conflict in a cache. Number 0
/// has kStagger, and 64 in a row have all there are of whole lines in a page.
constexpr size_t stagger_of(int64_t n) {
  return (kStagger + static_cast<size_t>(n) * 11 * 64) % 4096;
}

/// The tensors of one problem for one choice of its dims and one data set, in guarded memory. With
/// them come the outputs that the definition gives. Problems of up to 2^24 scalar operations are
/// evaluated whole, where an element of the result counts as eight. Of larger ones the definition
/// gives a sample of elements. `keep` then makes a reference kernel's outputs the expected values
/// of every element. Where a kernel differs from them by more than the tolerance, the definition is
/// evaluated at that element.
class Fixture {
 public:
  using Positions = std::vector<std::vector<int64_t>>;  ///< per output, row-major

  /// Tensor i lies i*stagger bytes from its guard, rounded up to the alignment it is promised.
  /// Fails for want of memory only.
  static Result<Fixture> create(const ops::Problem& problem, std::vector<int64_t> dims,
                                jit::DataSet set, Guard guard, uint64_t seed, size_t stagger = 0);

  /// Evaluates the definition: of every element, or of a sample.
  Result<Done> refer();
  /// True when the definition is evaluated of every element.
  bool whole() const { return whole_; }

  /// Outputs to "unwritten", inout tensors to what they held.
  void reset();
  /// Moves the tensors, with what they hold, to other memory: tensor i lies i*stagger bytes from
  /// its guard, as for `create`, and all are writable. Fails for want of memory only; then some
  /// have moved.
  Result<Done> place(size_t stagger);
  /// Inputs writable or not.
  void protect_inputs(bool readable_only);

  /// Keeps the present outputs, which agree with the reference, as the expected values. Outputs of
  /// the same bits then need no other comparison.
  void keep();
  /// Compares the outputs with all that is known of them. `edges` are the tile edges of the
  /// schedule that wrote them: there the definition is evaluated as well.
  Result<jit::Comparison> compare(const TileEdges& edges);
  /// The parts of that, for outputs that are not all at hand. First: evaluates the definition at
  /// tile edges where it was not yet, if it is not known everywhere.
  Result<Done> sample_edges(const TileEdges& edges);
  /// Where the definition was evaluated; empty: everywhere.
  const Positions& sampled() const { return sampled_; }
  /// Compares no more than those elements, of outputs that are near what is kept everywhere.
  jit::Comparison compare_sampled() const;
  /// How far from what is kept elements of an output may be without being looked at.
  double bound(size_t output) const;
  /// What is kept of an output, as it lies in memory; null: nothing.
  const void* kept(size_t output) const { return kept_.empty() ? nullptr : kept_[output].data(); }
  /// True when the outputs have the bits that are kept, and what comparing them then gives.
  bool as_kept() const { return same(kept_); }
  const jit::Comparison& compared_kept() const { return found_; }
  /// Remembers the outputs as they are now, for `as_remembered`.
  void remember();
  /// True when the outputs have the bits that were remembered.
  bool as_remembered() const;

  /// Evaluates the definition at a few elements, of the inputs as they are now, and compares the
  /// outputs there.
  Result<jit::Comparison> compare_few() const;

  const ops::Problem& problem() const { return *problem_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  const std::vector<jit::TensorView>& params() const { return params_; }
  /// What the program says of parameter `param`.
  const ir::Buffer& buffer(size_t param) const { return *buffers_[param]; }
  /// The parameters that are outputs or inout, in ascending order.
  const std::vector<size_t>& written() const { return written_; }
  const std::vector<double>& scalars() const { return scalars_; }
  const jit::ReferenceOutcome& reference() const { return reference_; }
  Guard guard() const { return guard_; }
  jit::DataSet set() const { return set_; }
  /// Outputs and inout tensors, in the reference's order.
  std::vector<jit::TensorView> outputs() const;
  /// The first parameter whose surroundings were written, or "".
  std::string overwritten() const;

 private:
  using Blocks = std::vector<std::vector<uint8_t>>;  ///< per output, as it lies in memory

  Result<Done> place(size_t param, size_t stagger);
  Result<jit::ReferenceOutcome> evaluate_at(const Positions& positions) const;
  Result<jit::Comparison> compare_kept();
  int64_t elements() const;
  void save(Blocks& blocks) const;
  bool same(const Blocks& blocks) const;

  const ops::Problem* problem_ = nullptr;
  std::vector<int64_t> dims_;
  Guard guard_ = Guard::kAfter;
  jit::DataSet set_ = jit::DataSet::kIntegers;
  bool whole_ = true;
  std::vector<const ir::Buffer*> buffers_;  ///< per parameter
  std::vector<GuardedMemory> memory_;       ///< per parameter
  std::vector<size_t> written_;
  Blocks originals_;  ///< per parameter; of inout ones only
  std::vector<jit::TensorView> params_;
  std::vector<double> scalars_;
  jit::ReferenceOutcome reference_;
  Positions sampled_;  ///< sorted; where the definition was evaluated, if not whole
  Blocks kept_;        ///< empty: nothing is kept
  Blocks remembered_;
  jit::Comparison found_;  ///< of what is kept
};

}  // namespace hone::runtime
