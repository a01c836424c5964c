// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/scalar.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "jit/ir/half.h"

namespace hone::jit {
namespace {

struct F16 {
  uint16_t bits;
};
struct BF16 {
  uint16_t bits;
};
struct F8E4M3 {
  uint8_t bits;
};
struct F8E5M2 {
  uint8_t bits;
};

template <class T>
T load_as(const void* data, int64_t offset) {
  T v;
  std::memcpy(&v, static_cast<const char*>(data) + offset * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return v;
}

template <class T>
void store_as(void* data, int64_t offset, T v) {
  std::memcpy(static_cast<char*>(data) + offset * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}

double value_of(double v) { return v; }
double value_of(float v) { return v; }
double value_of(F16 v) { return ir::f16_value(v.bits); }
double value_of(BF16 v) { return ir::bf16_value(v.bits); }
double value_of(F8E4M3 v) { return ir::f8e4m3_value(v.bits); }
double value_of(F8E5M2 v) { return ir::f8e5m2_value(v.bits); }

/// Calls `f` with a value of the C++ type that holds an element of float type `type`.
template <class F>
auto with_float(DType type, F f) {
  switch (type) {
    case DType::kF64:
      return f(double{});
    case DType::kF16:
      return f(F16{});
    case DType::kBF16:
      return f(BF16{});
    case DType::kF8E4M3:
      return f(F8E4M3{});
    case DType::kF8E5M2:
      return f(F8E5M2{});
    default:
      return f(float{});
  }
}

/// The same for integer types and bool.
template <class F>
auto with_int(DType type, F f) {
  switch (type) {
    case DType::kI64:
      return f(int64_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI8:
      return f(int8_t{});
    default:
      return f(uint8_t{});
  }
}

}  // namespace

double read_float(DType type, const void* data, int64_t offset) {
  return with_float(type, [&](auto t) { return value_of(load_as<decltype(t)>(data, offset)); });
}

int64_t read_int(DType type, const void* data, int64_t offset) {
  return with_int(type,
                  [&](auto t) { return static_cast<int64_t>(load_as<decltype(t)>(data, offset)); });
}

void write_float(DType type, void* data, int64_t offset, double v) {
  switch (type) {
    case DType::kF64:
      return store_as(data, offset, v);
    case DType::kF16:
      return store_as(data, offset, ir::f16_from(v));
    case DType::kBF16:
      return store_as(data, offset, ir::bf16_from(v));
    case DType::kF8E4M3:
      return store_as(data, offset, ir::f8e4m3_from(v));
    case DType::kF8E5M2:
      return store_as(data, offset, ir::f8e5m2_from(v));
    default:
      return store_as(data, offset, static_cast<float>(v));
  }
}

void write_int(DType type, void* data, int64_t offset, int64_t v) {
  if (type == DType::kBool) v = v != 0;
  with_int(type, [&](auto t) { store_as(data, offset, static_cast<decltype(t)>(v)); });
}

void gather_float(DType type, const void* data, const int64_t* offsets, const int64_t* mask, int n,
                  double* out) {
  with_float(type, [&](auto t) {
    using T = decltype(t);
    for (int i = 0; i < n; ++i) {
      if (!mask || mask[i]) out[i] = value_of(load_as<T>(data, offsets[i]));
    }
  });
}

void gather_int(DType type, const void* data, const int64_t* offsets, const int64_t* mask, int n,
                int64_t* out) {
  with_int(type, [&](auto t) {
    using T = decltype(t);
    for (int i = 0; i < n; ++i) {
      if (!mask || mask[i]) out[i] = load_as<T>(data, offsets[i]);
    }
  });
}

double round_to(DType type, double v) {
  switch (type) {
    case DType::kF64:
      return v;
    case DType::kF16:
      return ir::f16_value(ir::f16_from(v));
    case DType::kBF16:
      return ir::bf16_value(ir::bf16_from(v));
    case DType::kF8E4M3:
      return ir::f8e4m3_value(ir::f8e4m3_from(v));
    case DType::kF8E5M2:
      return ir::f8e5m2_value(ir::f8e5m2_from(v));
    default:
      return static_cast<float>(v);
  }
}

int64_t wrap_to(DType type, int64_t v) {
  if (type == DType::kBool) return v != 0;
  return with_int(type, [&](auto t) { return static_cast<int64_t>(static_cast<decltype(t)>(v)); });
}

int64_t int_from_float(DType type, double v) {
  if (type == DType::kBool) return v != 0;
  if (std::isnan(v)) return 0;
  return with_int(type, [&](auto t) -> int64_t {
    using L = std::numeric_limits<decltype(t)>;
    // The lower limit is a power of two, the upper one lies one below a power of two: both
    // comparisons are exact in f64.
    if (v <= static_cast<double>(L::min())) return L::min();
    if (v >= std::ldexp(1.0, L::digits)) return L::max();
    return static_cast<int64_t>(v);
  });
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return q - (a % b != 0 && ((a < 0) != (b < 0)));
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

double epsilon_of(DType type) {
  switch (type) {
    case DType::kF64:
      return DBL_EPSILON;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF8E4M3:
      return 0x1p-3;
    case DType::kF8E5M2:
      return 0x1p-2;
    default:
      return FLT_EPSILON;
  }
}

double denormal_of(DType type) {
  switch (type) {
    case DType::kF64:
      return 0x1p-1074;
    case DType::kF16:
      return 0x1p-24;
    case DType::kBF16:
      return 0x1p-133;
    case DType::kF8E4M3:
      return 0x1p-9;
    case DType::kF8E5M2:
      return 0x1p-16;
    default:
      return 0x1p-149;
  }
}

std::pair<int64_t, int64_t> integers_of(DType type) {
  if (type == DType::kBool) return {0, 1};
  const int bits = bit_width_of(type);
  if (is_unsigned(type)) return {0, (int64_t{1} << bits) - 1};
  return {bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1)),
          bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1};
}

double largest_of(DType type) {
  switch (type) {
    case DType::kF64:
      return DBL_MAX;
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF8E4M3:
      return 448;
    case DType::kF8E5M2:
      return 57344;
    default:
      return FLT_MAX;
  }
}

}  // namespace hone::jit
