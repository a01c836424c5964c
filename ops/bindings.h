// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/lower.h"

namespace hone::ops {

/// A stride that is given at the call.
inline constexpr int64_t kOpenStride = -1;

/// What a problem says of one tensor.
struct TensorLayout {
  std::vector<int> order;        ///< dims in memory order, outermost first; empty: as declared
  std::vector<int64_t> strides;  ///< per dim, in elements; kOpenStride: at the call; empty: dense
  Span strides_span;
  int64_t align = 0;  ///< bytes; 0: not promised
  bool constant = false;
  bool cold = false;
};

/// The words after the op of a problem, read but not yet applied.
struct Bindings {
  std::vector<std::optional<ir::Dim>> dims;  ///< per Definition::dims; lo == hi: fixed
  std::vector<std::optional<DType>> types;   ///< per Definition::params
  std::vector<std::optional<int64_t>> ints;  ///< per Definition::params
  std::vector<TensorLayout> layouts;         ///< per Definition::args
  std::string numerics = "any";
};

/// Reads `M=128 N=1..512 at 8,64 T=bf16 const=W A.stride=(800,1) X@N,H,W,C align=64`, which begins
/// at byte `begin` of the source.
Bindings parse_bindings(const Definition& d, Diagnostics& diagnostics, int begin);

/// The canonical text of bindings: in the order of declaration, defaults left out.
std::string print(const Definition& d, const Bindings& bindings);

/// The binding for lowering.
Binding binding_of(const Definition& d, const Bindings& bindings);

/// Lays storage orders, strides, alignment, `const` and `cold` over a lowered program, and brings
/// `bindings` to their canonical form.
void apply_layout(const Definition& d, Bindings& bindings, ir::Program& program,
                  Diagnostics& diagnostics);

/// The name of dim `i` of a tensor in `X@...`. It is the dim's symbol where the declared extent is
/// that symbol alone, and no other extent of the tensor is; else it is `d<i>`.
std::string axis_name(const Argument& a, size_t i);

}  // namespace hone::ops
