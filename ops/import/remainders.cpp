// SPDX-License-Identifier: Apache-2.0
// Remainders: of integers, and of floats, where these are exact.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// How a quotient is taken apart: `steps` parts of `bits` each, the largest first.
struct Division {
  int64_t steps, bits;
};

// Fixed by: exponents of f32, which differ by up to 277, and products of 24 and 28 bits in f64.
constexpr Division kOfSingles{10, 28};
// Fixed by: exponents of f64, which differ by up to 2098, and products of 27 and 26 bits.
constexpr Division kOfDoubles{81, 26};
/// Fixed by: f64, whose powers of two end at 1023.
constexpr int64_t kMostExponent = 1000;

/// The powers of two that the divisor is multiplied by, each as two factors: `P[t,0]*P[t,1]`.
std::vector<double> powers_of(const Division& d) {
  std::vector<double> out;
  for (int64_t t = 0; t < d.steps; ++t) {
    const int64_t exponent = d.bits * (d.steps - 1 - t), first = std::min(exponent, kMostExponent);
    out.push_back(std::ldexp(1.0, static_cast<int>(first)));
    out.push_back(std::ldexp(1.0, static_cast<int>(std::min(exponent - first, kMostExponent))));
  }
  return out;
}

/// Halves of 16 bits: each is a whole number of 2^-24.
void remainder_of_halves(const ImportNode& node) {
  const auto whole = [](const char* v) {
    return fmt::format("cast<i64>(cast<f32>({})*16777216)", v);
  };
  const std::string left = fmt::format("{} % abs({})", whole("abs(a)"), whole("b"));
  make_elementwise(node,
                   fmt::format("select(abs(a) < inf && b != 0 && b == b, select(abs(b) == inf, a, "
                               "cast<f32>({0})/16777216*select(a < 0, -1.0, 1.0)), nan)",
                               left),
                   node.input(0).type, {&node.input(0), &node.input(1)});
}

/// Divides by hand: each step takes a multiple of the divisor away whose product is exact. Of f64
/// the divisor is two numbers of half the bits. `e` is the dividend, `d` the divisor.
void remainder_of_floats(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  const bool wide = a.type == DType::kF64;
  const Division division = wide ? kOfDoubles : kOfSingles;
  ImportValue powers;
  powers.type = DType::kF64;
  powers.shape = fixed_shape({division.steps, 2});
  powers.tensor = &node.importer().tensor_of(DType::kF64, {division.steps, 2}, powers_of(division));
  const ImportShape shape = broadcast_shape({&a, &b});
  const Broadcast of_a = broadcast(a.shape, shape), of_b = broadcast(b.shape, shape),
                  all = declared(shape);
  const std::string at = all.indices, more = at.empty() ? "" : "," + at,
                    on = fmt::format("[t in 0..{}{}]", division.steps, more),
                    step = fmt::format("[t{}]", more),
                    rest = fmt::format("(r[t - 1{}] else e[{}])", more, at);
  // The divisor's first half has a carry of 27 bits, for which large ones make room.
  const std::string shrink =
      wide ? fmt::format("select(abs(cast<f64>(B[{}])) > {}, {}, 1.0)", of_b.indices,
                         import_number(std::ldexp(1.0, 900)), import_number(std::ldexp(1.0, -100)))
           : "1.0";
  std::string text = fmt::format(
      "s: f64[{0}] = {1}; e[{0}] = abs(cast<f64>(A[{2}]))*s[{0}]; d[{0}] = abs(cast<f64>(B[{3}]))*"
      "s[{0}]; m{4} = d[{0}]*P[t,0]*P[t,1]; ",
      at, shrink, of_a.indices, of_b.indices, on);
  std::string less = fmt::format("{} - q{}*m{}", rest, step, step);
  if (wide) {
    text += fmt::format(
        "c[{0}] = 134217728.0*d[{0}]; h[{0}] = (d[{0}] + c[{0}]) - c[{0}]; g{1} = h[{0}]*P[t,0]*"
        "P[t,1]; l{1} = (d[{0}] - h[{0}])*P[t,0]*P[t,1]; ",
        at, on);
    less = fmt::format("select(q{1} < 2, {0} - m{1}, ({0} - q{1}*g{1}) - q{1}*l{1})", rest, step);
  }
  text += fmt::format(
      "q: f64{0} = floor({1}/m{2}); x: f64{0} = {3}; r: f64{0} = select({1} < m{2}, {1}, "
      "select(x{2} < 0, x{2} + m{2}, select(x{2} >= m{2}, x{2} - m{2}, x{2}))); ",
      on, rest, step, less);
  const std::string left = fmt::format("r[{}{}]/s[{}]", division.steps - 1, more, at);
  text += fmt::format(
      "Y[{0}] = select(e[{0}] < inf && d[{0}] > 0, select(abs(A[{1}]) < abs(B[{2}]), A[{1}], "
      "cast<{3}>(select(A[{1}] < 0, -({4}), {4}))), nan)",
      at, of_a.indices, of_b.indices, wide ? "f64" : "f32", left);
  node.importer().make(node, 0, a.type, shape,
                       {{&a, "A", of_a.dims},
                        {&b, "B", of_b.dims},
                        {&powers, "P", fmt::format("{},2", division.steps)}},
                       all.dims, text);
}

void import_mod(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  const bool of_dividend = node.integer("fmod", 0) != 0;
  if (is_float(a.type)) {
    if (!of_dividend) throw Unsupported{"remainders of floats with the divisor's sign"};
    return a.type == DType::kF16 ? remainder_of_halves(node) : remainder_of_floats(node);
  }
  const char* text =
      of_dividend ? "select((a % b != 0) && ((a < 0) != (b < 0)), a % b - b, a % b)" : "a % b";
  make_elementwise(node, text, a.type, {&a, &b});
}

}  // namespace

std::vector<ImportEntry> rows_of_remainders() { return {{"Mod", import_mod}}; }

}  // namespace hone::ops
