// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/interp/scalar.h"

namespace hone::jit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// |got - want| in units of `bound`: at most 1 is right.
double error_of(double got, double want, double bound) {
  if (bound == kInfinity) return 0;
  if (got == want || (got != got && want != want)) return 0;
  const double distance = std::fabs(got - want);
  if (bound == 0 || distance != distance || distance == kInfinity) return kInfinity;
  return distance / bound;
}

double error_of(int64_t got, int64_t want, double bound) {
  if (got == want || bound == kInfinity) return 0;
  if (bound == 0) return kInfinity;
  return std::fabs(static_cast<double>(got) - static_cast<double>(want)) / bound;
}

/// Walks the positions of a reference tensor in the memory of `view`.
struct Walk {
  const ReferenceTensor& t;
  const TensorView& view;

  std::vector<int64_t> index(int64_t position) const {
    std::vector<int64_t> at(t.shape.size());
    for (size_t d = t.shape.size(); d-- > 0;) {
      at[d] = position % t.shape[d];
      position /= t.shape[d];
    }
    return at;
  }
  int64_t offset(const std::vector<int64_t>& at) const {
    int64_t o = 0;
    for (size_t d = 0; d < at.size(); ++d) o += at[d] * view.strides[d];
    return o;
  }
};

void compare_element(const ReferenceTensor& t, const TensorView& view, size_t i, Comparison* out) {
  const Walk walk{t, view};
  const int64_t position = t.elements.empty() ? static_cast<int64_t>(i) : t.elements[i];
  const std::vector<int64_t> at = walk.index(position);
  const int64_t offset = walk.offset(at);
  const double bound = t.bound.empty() ? 0 : t.bound[i];
  const bool floats = is_float(t.type);
  double f = 0;
  int64_t n = 0;
  double error = 0;
  if (floats) {
    f = read_float(t.type, view.data, offset);
    error = error_of(f, t.f[i], bound);
  } else {
    n = read_int(t.type, view.data, offset);
    error = error_of(n, t.i[i], bound);
  }
  ++out->compared;
  out->certain += bound == 0;
  out->unbounded += bound == kInfinity;
  out->max_err = std::max(out->max_err, error);
  if (error <= 1) return;
  ++out->mismatches;
  if (out->first) return;
  out->first = Mismatch{t.name, at, floats ? fmt::format("{:.9g}", f) : fmt::format("{}", n),
                        floats ? fmt::format("{:.9g}", t.f[i]) : fmt::format("{}", t.i[i]), bound};
}

}  // namespace

std::string Comparison::text() const {
  if (!first) return fmt::format("{} elements agree", compared);
  return fmt::format("{}[{}] is {} where {} {} is right; {} of {} elements differ", first->tensor,
                     fmt::join(first->index, ","), first->got, first->want,
                     first->bound == 0 ? "to the bit" : fmt::format("+- {:.3g}", first->bound),
                     mismatches, compared);
}

Comparison compare(const ReferenceOutcome& want, const std::vector<TensorView>& got) {
  Comparison out;
  for (size_t o = 0; o < want.outputs.size(); ++o) {
    const ReferenceTensor& t = want.outputs[o];
    for (size_t i = 0; i < t.written.size(); ++i) {
      if (t.written[i]) compare_element(t, got[o], i, &out);
    }
  }
  return out;
}

}  // namespace hone::jit
