// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/kernel.h"
#include "jit/ir/program.h"

namespace hone::runtime {

/// The most slots an argument struct has: it lives on the caller's stack.
/// Chosen: a few KB of stack (not measured).
inline constexpr int kMaxSlots = 320;

/// The most parameters whose sizes depend on dims known at the call.
/// Chosen: more than an op needs (not measured).
inline constexpr int kMaxOpen = 32;

/// Extents and strides of one tensor, all known.
struct Sizes {
  int rank;
  DType type;
  int packed_dim;  ///< along which elements of less than a byte share bytes; -1: none
  int64_t count;   ///< elements
  int64_t begin;   ///< bytes that may be touched, from the first element on
  int64_t end;
  int64_t extents[TensorRef::kMaxRank];
  int64_t strides[TensorRef::kMaxRank];  ///< elements, per logical dim

  /// Fills count, begin and end from the rest.
  void measure();
  /// Bytes that `elements` side by side lie apart.
  int64_t bytes_apart(int64_t elements) const {
    return is_packed(type) ? elements / elements_per_byte(type) : elements * size_of(type);
  }
};

/// What a call checks of one tensor.
struct ParamPlan {
  std::string name;
  std::string text;  ///< `A: f32[128,768]`, for messages
  DType type = DType::kF32;
  bool written = false;
  bool constant = false;    ///< given to bind, not to calls
  bool fixed = true;        ///< `sizes` holds; else the formulas do
  int open = -1;            ///< where not fixed: its number among those
  bool may_be_flat = true;  ///< dense, in whatever storage order
  bool cold = false;        ///< said to come from memory at each call
  int64_t align = 1;
  Sizes sizes = {};
  /// Over dims known at the call.
  std::vector<ir::Expr> extents;
  std::vector<ir::Expr> strides;
};

/// What a call checks and fills: everything that can be known before it.
struct CallPlan {
  std::vector<ParamPlan> params;  ///< in the op's order
  std::vector<ir::ScalarParam> scalars;
  std::vector<ir::Dim> dims;
  std::vector<bool> dim_is_stride;   ///< per dim
  std::vector<std::string> checked;  ///< tensors whose data the kernel checks
  std::string signature;             ///< `(A: f32[128,768], alpha: f32, ...)`
};

/// The call plan of a program. kUnsupported for a tensor of more than 12 dims, and for more
/// parameters than kMaxSlots. So is a constant whose shape is known only at the call.
Result<CallPlan> plan_call(const ir::Program& program);

/// The value of an integer expression of constants and dims; `dims` by the index in `ids`.
int64_t evaluate(const ir::Expr& e, std::span<const int64_t> dims);

/// `e` with every dim numbered by its index in `dims`.
ir::Expr number_dims(const ir::Expr& e, std::span<const ir::Dim> dims);

/// The tensors of a call as the kernel gets them.
struct Bindings {
  std::array<int64_t, kMaxSlots> dims;
  std::array<const void*, kMaxSlots> tensors;  ///< per parameter; null for constants
  std::array<int64_t, kMaxSlots> scalars;      ///< bits, in the low bytes
};

/// `args` where they lie; `refs` has room for them.
std::span<const ArgRef> refer(std::span<const Arg> args, std::span<ArgRef> refs);

/// Checks the arguments of a call against the plan and fills `out`. Fails with what is wrong.
/// Never allocates when all is well.
Result<Done> bind_arguments(const CallPlan& plan, std::span<const ArgRef> args, Bindings* out);

/// Checks one tensor against a constant parameter.
Result<Done> check_constant(const ParamPlan& param, const TensorRef& tensor);

}  // namespace hone::runtime
