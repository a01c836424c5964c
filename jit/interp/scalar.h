// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "include/hone/dtype.h"

namespace hone::jit {

/// The value of element `offset` of an array of float type `type`.
double read_float(DType type, const void* data, int64_t offset);
/// The value of element `offset` of an array of integer or bool type `type`.
int64_t read_int(DType type, const void* data, int64_t offset);
/// Stores `v`, rounded to nearest even, as an element of float type `type`.
void write_float(DType type, void* data, int64_t offset, double v);
/// Stores `v`, wrapped to `type` (bool: nonzero is 1), as an element.
void write_int(DType type, void* data, int64_t offset, int64_t v);

/// `out[i]` = element `offsets[i]`, for i < n, where `mask` (may be null) is nonzero.
void gather_float(DType type, const void* data, const int64_t* offsets, const int64_t* mask, int n,
                  double* out);
/// The same for integer and bool types.
void gather_int(DType type, const void* data, const int64_t* offsets, const int64_t* mask, int n,
                int64_t* out);

/// `v` rounded to nearest even to a value of float type `type`.
double round_to(DType type, double v);
/// `v` wrapped to integer type `type`; for bool 0 or 1.
int64_t wrap_to(DType type, int64_t v);
/// Float to integer or bool: truncates and saturates, NaN to 0; bool is `v != 0`.
int64_t int_from_float(DType type, double v);

/// The least and the greatest value of integer type `type` or bool.
std::pair<int64_t, int64_t> integers_of(DType type);

/// |a - b|. As doubles, two integers above 2^53 are further apart than they are.
inline double distance_of(int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(std::max(a, b)), y = static_cast<uint64_t>(std::min(a, b));
  return static_cast<double>(x - y);
}

/// Floor division; x/0 is 0, MIN/-1 is MIN (of i64; wrap_to does the narrower types).
int64_t floor_div(int64_t a, int64_t b);
/// a - b*floor(a/b); x%0 is 0.
int64_t floor_mod(int64_t a, int64_t b);

/// Distance from 1 to the next value of `type`: 2^-52 of f64, 2^-23 of f32.
double epsilon_of(DType type);
/// The smallest positive value of a float type: what rounding there may come to, however small the
/// value.
double denormal_of(DType type);
/// The largest finite value of float type `type`.
double largest_of(DType type);
/// The type that arithmetic on `type` is carried out in: f32 for narrow floats, else itself.
constexpr DType compute_type(DType type) { return is_narrow_float(type) ? DType::kF32 : type; }

}  // namespace hone::jit
