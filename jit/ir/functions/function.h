// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "include/hone/dtype.h"

namespace hone::ir {

/// How far compiled code may be from the definition, in units of the last place of the result.
enum class ErrorClass : uint8_t {
  kNone,      ///< no row's: one that forgets does not compile
  kExact,     ///< not at all
  kUnits,     ///< a few units
  kAngle,     ///< the same of native code; elsewhere epsilon times the argument is in order, too
  kArgument,  ///< a few units, or epsilon times the argument where that is more
};

/// Where functions that flush may have 0: results below this.
constexpr double flushed_below(DType type) { return type == DType::kF64 ? 0x1p-1021 : 0x1p-125; }

/// The largest error in order: `units` in the last place, or `of_argument` times epsilon (2^-23,
/// 2^-52) times the argument, whichever is more.
struct Tolerance {
  double units;
  double of_argument;
};

/// What native code keeps to in f32 and, in the last bits, less easily in f64.
constexpr Tolerance tolerance(ErrorClass error, DType type) {
  if (error == ErrorClass::kExact) return {0.5, 0};
  if (error == ErrorClass::kArgument) return {4, 1};
  return {type == DType::kF64 ? 4.0 : 2.0, 0};
}

/// Instructions on a vector of floats or doubles. A division or root counts as the four
/// multiply-adds that it takes the time of. `products` are those that only the ports of
/// multiplications do.
struct VectorLength {
  double all, products;
};

/// The vector code that a native back end has for a function; each maps all of them in one switch.
enum class Expansion : uint8_t {
  kNone,  ///< no row's: one that forgets does not compile
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtan2,
  kAtanh,
  kCbrt,
  kCeil,
  kCos,
  kCosh,
  kErf,
  kExp,
  kExp2,
  kExpm1,
  kFloor,
  kGelu,
  kGeluTanh,
  kLog,
  kLog10,
  kLog1p,
  kLog2,
  kPow,
  kReciprocalHigh,  ///< the parts of a reciprocal are no row's, but `jit/passes/reciprocals.h`'s
  kReciprocalLow,
  kReciprocalScale,
  kRound,
  kRsqrt,
  kSigmoid,
  kSilu,
  kSin,
  kSinh,
  kSoftplus,
  kSqrt,
  kTan,
  kTanh,
  kTrunc,
};

/// CUDA C++: the bodies of `float fn_NAME(float x)` and of the same with doubles; with a second
/// argument, `y`. In them `F` is the type, and `fn_NAME` of other rows may be called.
struct DeviceText {
  const char* f32;
  const char* f64;
};

/// A scalar function of the language: one row of the table, and all there is to know of it.
struct Function {
  const char* name;
  int arity;
  const char* arguments = "";  ///< as documents call them, where not `x` and `x,y`
  bool ints_too = false;       ///< also defined on integers (abs)
  /// The definition, in f64; the interpreter's and the oracle's meaning.
  double (*eval)(double a, double b);
  ErrorClass error;
  /// Results below twice the least normal number (2^-125, 2^-1021) may be 0 instead.
  bool flushes = false;
  /// Whether the value may jump near (a, b), where the arguments are off by up to `ea` and `eb`.
  /// Null: it never changes more than between the ends.
  bool (*jumps)(double a, double ea, double b, double eb) = nullptr;
  /// The most that the value changes within `ea` of `a`, where it turns between. Null: it changes
  /// most at one of the ends.
  double (*swing)(double a, double ea) = nullptr;
  Expansion expansion;
  VectorLength singles, doubles;
  double device_length;  ///< instructions on a GPU, as ptxas makes them of `device` in f32
  DeviceText device;
  /// Derivatives by the first and the second argument, as expressions of the language over the
  /// arguments `x` and `y` and the value `v`. "": there is none. No row forgets them.
  const char* by_first = nullptr;
  const char* by_second = nullptr;
  /// A call whose value stays moderate, for random problems, `{}` being arguments; empty: any.
  const char* moderate = "";
};

/// The function of that name, or null.
const Function* function_named(std::string_view name);
/// All scalar functions, sorted by name.
std::span<const Function> functions();

}  // namespace hone::ir
