// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/functions/function.h"
#include "jit/x86/math/asin.h"
#include "jit/x86/math/atan.h"
#include "jit/x86/math/cbrt.h"
#include "jit/x86/math/erf.h"
#include "jit/x86/math/exp.h"
#include "jit/x86/math/hyperbolic.h"
#include "jit/x86/math/inverse_hyperbolic.h"
#include "jit/x86/math/log.h"
#include "jit/x86/math/logistic.h"
#include "jit/x86/math/pow.h"
#include "jit/x86/math/reciprocal.h"
#include "jit/x86/math/tan.h"
#include "jit/x86/math/trig.h"

namespace hone::jit {

/// 1 / sqrt(x), each rounded; 2 ulp.
template <class F, class B>
typename B::V math_rsqrt(B& b, typename B::V x) {
  return b.div(b.constant(1), b.sqrt(x));
}

/// The integral value next to x, upwards, downwards, to the nearest or towards 0.
template <class B>
typename B::V whole_part(B& b, ir::Expansion expansion, typename B::V x) {
  using E = ir::Expansion;
  if (expansion == E::kCeil) return b.ceil(x);
  if (expansion == E::kFloor) return b.floor(x);
  return expansion == E::kRound ? b.round(x) : b.trunc(x);
}

/// A part of the reciprocal of x; `y` is the high one where the low one is wanted.
template <class F, class B>
typename B::V reciprocal_part(B& b, ir::Expansion expansion, typename B::V x, typename B::V y) {
  using E = ir::Expansion;
  if (expansion == E::kReciprocalScale) return reciprocal_scale<F>(b, x);
  return expansion == E::kReciprocalHigh ? reciprocal_high<F>(b, x) : reciprocal_low<F>(b, x, y);
}

// An expansion that this lacks is an error, whatever the options.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"

/// What `expansion` makes of vectors of F; `y` is ignored where the function takes one argument.
template <class F, class B>
typename B::V expand(B& b, ir::Expansion expansion, typename B::V x, typename B::V y) {
  using E = ir::Expansion;
  switch (expansion) {
    case E::kNone:
      break;
    case E::kAbs:
      return magnitude<F>(b, x);
    case E::kAcos:
      return math_acos<F>(b, x);
    case E::kAcosh:
      return math_acosh<F>(b, x);
    case E::kAsin:
      return math_asin<F>(b, x);
    case E::kAsinh:
      return math_asinh<F>(b, x);
    case E::kAtan:
      return math_atan<F>(b, x);
    case E::kAtan2:
      return math_atan2<F>(b, x, y);
    case E::kAtanh:
      return math_atanh<F>(b, x);
    case E::kCbrt:
      return math_cbrt<F>(b, x);
    case E::kCos:
      return math_cos<F>(b, x);
    case E::kCosh:
      return math_cosh<F>(b, x);
    case E::kErf:
      return math_erf<F>(b, x);
    case E::kExp:
      return math_exp<F>(b, x);
    case E::kExp2:
      return math_exp2<F>(b, x);
    case E::kExpm1:
      return math_expm1<F>(b, x);
    case E::kGelu:
      return math_gelu<F>(b, x);
    case E::kGeluTanh:
      return math_gelu_tanh<F>(b, x);
    case E::kLog:
      return math_log<F>(b, x);
    case E::kLog10:
      return math_log10<F>(b, x);
    case E::kLog1p:
      return math_log1p<F>(b, x);
    case E::kLog2:
      return math_log2<F>(b, x);
    case E::kPow:
      return math_pow<F>(b, x, y);
    case E::kReciprocalHigh:
    case E::kReciprocalLow:
    case E::kReciprocalScale:
      return reciprocal_part<F>(b, expansion, x, y);
    case E::kCeil:
    case E::kFloor:
    case E::kRound:
    case E::kTrunc:
      return whole_part(b, expansion, x);
    case E::kRsqrt:
      return math_rsqrt<F>(b, x);
    case E::kSigmoid:
      return math_sigmoid<F>(b, x);
    case E::kSilu:
      return math_silu<F>(b, x);
    case E::kSin:
      return math_sin<F>(b, x);
    case E::kSinh:
      return math_sinh<F>(b, x);
    case E::kSoftplus:
      return math_softplus<F>(b, x);
    case E::kSqrt:
      return b.sqrt(x);
    case E::kTan:
      return math_tan<F>(b, x);
    case E::kTanh:
      return math_tanh<F>(b, x);
  }
  return x;
}

#pragma GCC diagnostic pop

}  // namespace hone::jit
