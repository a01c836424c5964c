// SPDX-License-Identifier: Apache-2.0
// What other languages call things that hone has, or has not.
#include "ops/foreign.h"

#include <span>

#include "include/hone/dtype.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/program.h"
#include "jit/ir/spelling.h"
#include "ops/lexer.h"

namespace hone::ops {
namespace {

/// A word of another language and what stands for it here.
struct Foreign {
  std::string_view word;
  std::string_view here;
};

constexpr Foreign kSigns[] = {
    {"**", "a power is `x*x`, or `pow(x, y)` of floats"},
    {"//", "`/` of integers floors; a comment begins with `#`"},
    {"?", "choose with `select(condition, a, b)`"},
    {"-=", "write `C[i] = C[i] - v`, or `C[i] += -v`"},
    {"*=", "write `C[i] = C[i] * v`"},
    {"/=", "write `C[i] = C[i] / v`"},
    {"%=", "write `C[i] = C[i] % v`"},
    {":=", "write `=`"},
    {"=", "write `==` to compare"},
    {"=>", "write `>=` to compare, `->` before the outputs"},
    {"<>", "write `!=`"},
    {"and", "write `&&`"},
    {"or", "write `||`"},
    {"not", "write `!x`"},
    {"xor", "write `!=` of bools, `^` of integers"},
    {"mod", "write `%`"},
    {"div", "write `/`, which floors on integers"},
    {"is", "write `==`"},
    {"if",
     "choose with `select(condition, a, b)`, or for the whole: `value where condition else other`"},
    {"then", "choose with `select(condition, a, b)`"},
    {"for", "a statement runs over all its indices by itself: `Y[i] = ...`"},
    {"while", "a statement runs over all its indices by itself: `Y[i] = ...`"},
    {"let", "a statement is `name[indices] = value`"},
    {"var", "a statement is `name[indices] = value`"},
    {"auto", "a statement is `name[indices] = value`"},
    {"return", "assign to an output: `Y[i] = value`"},
    {"def",
     "a function is `fn square(x) = x*x`, an op `op name(A: f32[M]) -> (Y: f32[M]) { ... }`"},
    {"func",
     "a function is `fn square(x) = x*x`, an op `op name(A: f32[M]) -> (Y: f32[M]) { ... }`"},
};

constexpr std::string_view kMean = "a mean is a sum divided: `sum[k](x) / K`";
constexpr std::string_view kVariance =
    "name the mean `m`, then `sum[k]((x - m)*(x - m)) / K`, and `sqrt` of it";
constexpr std::string_view kChoose = "choose with `select(condition, a, b)`";
constexpr std::string_view kClamp = "write `min(max(x, low), high)`";
constexpr std::string_view kCast = "a conversion is `cast<f32>(x)`";

constexpr Foreign kFunctions[] = {
    {"mean", kMean},
    {"avg", kMean},
    {"average", kMean},
    {"var", kVariance},
    {"variance", kVariance},
    {"std", kVariance},
    {"stddev", kVariance},
    {"norm", "write `sqrt(sum[k](x*x))`"},
    {"product", "write `prod[k](x)`"},
    {"mul", "write `prod[k](x)`, or `a*b`"},
    {"add", "write `sum[k](x)`, or `a + b`"},
    {"count", "write `sum[k](select(condition, 1, 0))`"},
    {"dot", "write `sum[k](a[k]*b[k])`"},
    {"logsumexp", "name `m = max[k](x)`, then `log(sum[k](exp(x - m))) + m`"},
    {"softmax", "name `m = max[k](x)` and `e = exp(x - m)`, then `e / sum[k](e)`"},
    {"amax", "write `max[k](x)`"},
    {"amin", "write `min[k](x)`"},
    {"maximum", "write `max(x, y)`, or `max[k](x)`"},
    {"minimum", "write `min(x, y)`, or `min[k](x)`"},
    {"fmax", "write `max(x, y)`"},
    {"fmin", "write `min(x, y)`"},
    {"if", kChoose},
    {"where", kChoose},
    {"ite", kChoose},
    {"iif", kChoose},
    {"clamp", kClamp},
    {"clip", kClamp},
    {"ln", "write `log(x)`"},
    {"arctan", "write `atan(x)`"},
    {"arctan2", "write `atan2(y, x)`"},
    {"fabs", "write `abs(x)`"},
    {"sqr", "write `x*x`"},
    {"square", "write `x*x`"},
    {"power", "write `pow(x, y)`"},
    {"sign", "write `select(x > 0, 1, select(x < 0, -1, 0))`"},
    {"recip", "write `1/x`"},
    {"reciprocal", "write `1/x`"},
    {"logistic", "write `sigmoid(x)`"},
    {"swish", "write `silu(x)`"},
    {"leaky_relu", "write `select(x > 0, x, 0.01*x)`"},
    {"mod", "write `%`"},
    {"fmod", "write `x - y*trunc(x/y)`"},
    {"not", "write `!x`"},
    {"and", "write `a && b`"},
    {"or", "write `a || b`"},
    {"isnan", "write `x != x`"},
    {"float", kCast},
    {"int", "a conversion is `cast<i32>(x)`"},
};

constexpr Foreign kTypes[] = {
    {"float", "f32"},
    {"float32", "f32"},
    {"fp32", "f32"},
    {"single", "f32"},
    {"double", "f64"},
    {"float64", "f64"},
    {"fp64", "f64"},
    {"half", "f16"},
    {"float16", "f16"},
    {"fp16", "f16"},
    {"bfloat16", "bf16"},
    {"bfloat", "bf16"},
    {"int", "i32"},
    {"int32", "i32"},
    {"int32_t", "i32"},
    {"long", "i64"},
    {"int64", "i64"},
    {"int64_t", "i64"},
    {"short", "i16"},
    {"int16", "i16"},
    {"int16_t", "i16"},
    {"int8", "i8"},
    {"int8_t", "i8"},
    {"uint8", "u8"},
    {"uint8_t", "u8"},
    {"byte", "u8"},
    {"boolean", "bool"},
    {"b1", "bool"},
    {"int4", "i4"},
    {"uint4", "u4"},
    {"int2", "i2"},
    {"uint2", "u2"},
    {"uint1", "u1"},
    {"bit", "u1"},
    {"fp8", "f8e4m3"},
    {"f8", "f8e4m3"},
    {"e4m3", "f8e4m3"},
    {"e5m2", "f8e5m2"},
    {"float8_e4m3fn", "f8e4m3"},
    {"float8_e5m2", "f8e5m2"},
};

/// Types that the language has not, and what holds their values.
constexpr std::string_view kPairs =
    "a complex number is a pair, by a last dim of 2: `X: f32[N,2]`, or of f64";
constexpr Foreign kLacking[] = {
    {"c64", kPairs},
    {"c128", kPairs},
    {"complex", kPairs},
    {"complex64", kPairs},
    {"complex128", kPairs},
    {"u16", "i32 holds its values, i16 its bits"},
    {"uint16", "i32 holds its values, i16 its bits"},
    {"u32", "i64 holds its values, i32 its bits"},
    {"uint32", "i64 holds its values, i32 its bits"},
    {"u64", "i64 holds its bits"},
    {"uint64", "i64 holds its bits"},
};

std::string_view row_here(std::span<const Foreign> rows, std::string_view word) {
  for (const Foreign& row : rows) {
    if (row.word == word) return row.here;
  }
  return {};
}

}  // namespace

std::string_view advice_on_sign(std::string_view text) { return row_here(kSigns, text); }

std::string_view advice_on_function(std::string_view name) { return row_here(kFunctions, name); }

std::string dtype_hint(std::string_view name) {
  const std::string_view meant = row_here(kTypes, name);
  if (!meant.empty()) return "; did you mean `" + std::string(meant) + "`?";
  const std::string_view instead = row_here(kLacking, name);
  if (!instead.empty()) return "; " + std::string(instead);
  return ir::did_you_mean(name, dtype_words());
}

const std::vector<std::string>& dtype_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (int t = 0; t < kDTypeCount; ++t) all.emplace_back(name_of(static_cast<DType>(t)));
    return all;
  }();
  return words;
}

const std::vector<std::string>& reduction_words() {
  static const std::vector<std::string> words = {"sum", "max", "min",    "prod",
                                                 "any", "all", "argmax", "argmin"};
  return words;
}

const std::vector<std::string>& function_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"select", "relu", "max", "min", "philox", "uniform"};
    for (const ir::Function& f : ir::functions()) all.emplace_back(f.name);
    return all;
  }();
  return words;
}

std::string spaced(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace hone::ops
