// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
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
  return distance_of(got, want) / bound;
}

/// The index of row-major position `p` in `shape`.
std::vector<int64_t> index_of(const std::vector<int64_t>& shape, int64_t p) {
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = p % shape[d];
    p /= shape[d];
  }
  return at;
}

/// Where position `p` lies in the memory of `view`.
int64_t offset_of(const TensorView& view, int64_t p) {
  int64_t offset = 0;
  for (size_t d = view.shape.size(); d-- > 0;) {
    offset += p % view.shape[d] * view.strides[d];
    p /= view.shape[d];
  }
  return offset;
}

bool is_dense(const TensorView& view) {
  int64_t dense = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] != 1 && view.strides[d] != dense) return false;
    dense *= view.shape[d];
  }
  return true;
}

/// Element `i` of a reference tensor, whose position is `p`, against the one at `offset`.
void compare_element(const ReferenceTensor& t, const TensorView& view, size_t i, int64_t p,
                     int64_t offset, Comparison* out) {
  const double bound = t.bound.empty() ? 0 : t.bound[i];
  const bool floats = is_float(t.type);
  const double f = floats ? read_float(t.type, view.data, offset) : 0;
  const int64_t n = floats ? 0 : read_int(t.type, view.data, offset);
  const double error = floats ? error_of(f, t.f[i], bound) : error_of(n, t.i[i], bound);
  ++out->compared;
  out->certain += bound == 0;
  out->unbounded += bound == kInfinity;
  out->max_err = std::max(out->max_err, error);
  if (error <= 1) return;
  ++out->mismatches;
  if (out->first) return;
  out->first = Mismatch{t.name, index_of(t.shape, p),
                        floats ? fmt::format("{:.9g}", f) : fmt::format("{}", n),
                        floats ? fmt::format("{:.9g}", t.f[i]) : fmt::format("{}", t.i[i]), bound};
}

/// Chosen: short enough for a near cache (not measured).
constexpr size_t kBlock = 256;

/// Elements from `i` on, kBlock of them, that the definition writes whole. True when all agree:
/// then they are counted; else nothing is, and they have to be looked at one by one. The loops have
/// no branches, so that they run on vectors.
template <class T>
bool block_agrees(const ReferenceTensor& t, const T* got, size_t i, Comparison* out) {
  const double* want = t.f.data() + i;
  const double* bound = t.bound.data() + i;
  double error[kBlock];
  int bad = 0;
  for (size_t k = 0; k < kBlock; ++k) {
    error[k] = std::fabs(static_cast<double>(got[k]) - want[k]);
    bad += !(error[k] <= bound[k]);
  }
  if (bad != 0 || std::memchr(t.written.data() + i, 0, kBlock)) return false;
  int64_t certain = 0, unbounded = 0;
  double worst = 0;
  for (size_t k = 0; k < kBlock; ++k) {
    certain += bound[k] == 0;
    unbounded += bound[k] == kInfinity;
    const double share = error[k] / bound[k];  // not a number where the bits are certain
    worst = share > worst ? share : worst;
  }
  out->compared += kBlock;
  out->certain += certain;
  out->unbounded += unbounded;
  out->max_err = std::max(out->max_err, worst);
  return true;
}

/// The same whatever the type; false where there is no fast way.
bool block_agrees(const ReferenceTensor& t, const TensorView& view, size_t i, Comparison* out) {
  if (i + kBlock > t.f.size() || t.bound.empty() || !t.whole) return false;
  if (t.type == DType::kF32) {
    return block_agrees(t, static_cast<const float*>(view.data) + i, i, out);
  }
  if (t.type == DType::kF64) {
    return block_agrees(t, static_cast<const double*>(view.data) + i, i, out);
  }
  return false;
}

void compare_tensor(const ReferenceTensor& t, const TensorView& view, Comparison* out) {
  const bool dense = is_dense(view);
  for (size_t i = 0; i < t.written.size();) {
    if (dense && block_agrees(t, view, i, out)) {
      i += kBlock;
      continue;
    }
    for (const size_t end = std::min(i + kBlock, t.written.size()); i < end; ++i) {
      if (!t.written[i]) continue;
      const int64_t p = t.whole ? static_cast<int64_t>(i) : t.elements[i];
      compare_element(t, view, i, p, dense ? p : offset_of(view, p), out);
    }
  }
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
  for (size_t o = 0; o < want.outputs.size(); ++o) compare_tensor(want.outputs[o], got[o], &out);
  return out;
}

}  // namespace hone::jit
