// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"

namespace hone::jit {

/// A tensor in the caller's memory: logical extents and strides (in elements), outermost first.
struct TensorView {
  void* data = nullptr;
  DType type = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;

  int64_t elements() const;
};

/// The parameters of `program` as views without memory: extents for the given dims, strides as the
/// buffers' storage says.
std::vector<TensorView> parameter_views(const ir::Program& program, std::span<const int64_t> dims);

/// Elements of memory that a view spans, from its first element to its last.
int64_t span_of(const TensorView& view);
/// The same in bytes.
int64_t bytes_of(const TensorView& view);

/// The lowest position at which data broke a Program::checks rule.
struct BadPosition {
  int64_t position = 0;
  std::string tensor;
};

/// The reference for one output (or inout) tensor, by the definition.
struct ReferenceTensor {
  std::string name;
  DType type = DType::kF32;
  std::vector<int64_t> shape;
  bool whole = true;              ///< all elements, in order; else those of `elements`
  std::vector<int64_t> elements;  ///< row-major positions evaluated, where not all are
  std::vector<double> f;          ///< values of float types, rounded to `type`
  std::vector<int64_t> i;         ///< values of integer types and bool
  std::vector<double> bound;      ///< tolerance per element; 0: bits are certain, inf: anything
  std::vector<uint8_t> written;   ///< 0 where the definition writes nothing (bad data, `where`)
};

/// The result of `evaluate`.
struct ReferenceOutcome {
  std::vector<ReferenceTensor> outputs;  ///< in the order of the program's buffers
  std::optional<BadPosition> bad;
};

/// What to evaluate.
struct ReferenceOptions {
  bool bounds = true;  ///< carry error bounds; without them `bound` stays empty
  /// Per output: row-major positions to evaluate, on demand. No list at all: everything.
  std::vector<std::vector<int64_t>> elements;
};

/// Evaluates the definition of `program` on caller memory, which is only read. `params` are the
/// tensors in the order of the program's parameters, `scalars` and `dims` in the order of
/// Program::scalars and dims. Floats are f64 throughout, each stage's values rounded to its buffer;
/// error bounds follow the rules in tape_bounds.cpp. Where data breaks a check, the elements that
/// do not depend on it are written all the same.
Result<ReferenceOutcome> evaluate(const ir::Program& program, std::span<const TensorView> params,
                                  std::span<const double> scalars, std::span<const int64_t> dims,
                                  const ReferenceOptions& options = {});

/// Explains the bad element `position`, the lowest to break a check of `program`: its tensor and
/// why. An example is "ids is out of range: it gives 7, and 0 to 4 are accepted". Nothing where
/// that is not certain, as when bad data decides which other data is checked.
std::optional<std::string> bad_element(const ir::Program& program,
                                       std::span<const TensorView> params,
                                       std::span<const int64_t> dims, int64_t position);

/// Upper estimate of the scalar operations that `evaluate` carries out for all elements. A ragged
/// range counts with the full extent of the tensor it indexes.
double scalar_operations(const ir::Program& program, std::span<const int64_t> dims);

/// Positions to sample in a tensor of `shape`: corners, tile edges, and random ones up to `count`.
/// Tile edges are both sides of the multiples of `edges[d]` nearest to the ends (0: none). Sorted,
/// unique.
std::vector<int64_t> sample_positions(std::span<const int64_t> shape,
                                      std::span<const int64_t> edges, int count, uint64_t seed);

}  // namespace hone::jit
