// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/difference.h"

#include <cmath>
#include <cstring>

#include "jit/interp/scalar.h"

namespace hone::runtime {
namespace {

/// Chosen: short enough for a near cache (not measured).
constexpr int64_t kBlock = 512;

/// Reservoir sampling of positions (Vitter's algorithm R, with a fixed sequence). Once there are
/// `most`, each further one may replace an earlier one, so that all have the same chance.
class Collector {
 public:
  Collector(size_t most, Difference& out) : most_(most), out_(out) {}

  void add(int64_t position) {
    ++out_.count;
    if (out_.positions.size() < most_) {
      out_.positions.push_back(position);
      return;
    }
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const uint64_t slot = (state_ >> 33) % static_cast<uint64_t>(out_.count);
    if (slot < most_) out_.positions[slot] = position;
  }

 private:
  size_t most_;
  Difference& out_;
  uint64_t state_ = 1;
};

bool apart(DType type, const void* a, const void* b, int64_t offset, double bound) {
  if (!is_float(type)) {
    const int64_t x = jit::read_int(type, a, offset), y = jit::read_int(type, b, offset);
    return x != y && jit::distance_of(x, y) > bound;
  }
  const double x = jit::read_float(type, a, offset), y = jit::read_float(type, b, offset);
  if (x == y || (x != x && y != y)) return false;
  return !(std::fabs(x - y) <= bound);
}

/// True when no element of a block is further apart than `bound`. Without branches, so that it runs
/// on vectors; NaN counts as apart, and is looked at again.
template <class T>
bool close(const T* a, const T* b, T bound) {
  int bad = 0;
  for (int64_t i = 0; i < kBlock; ++i) bad += !(std::fabs(a[i] - b[i]) <= bound);
  return bad == 0;
}

/// The same for any type; false where there is no fast way.
bool close(DType type, const void* a, const void* b, int64_t offset, double bound) {
  if (type == DType::kF32) {
    return close(static_cast<const float*>(a) + offset, static_cast<const float*>(b) + offset,
                 static_cast<float>(bound));
  }
  if (type == DType::kF64) {
    return close(static_cast<const double*>(a) + offset, static_cast<const double*>(b) + offset,
                 bound);
  }
  return false;
}

/// `n` elements that lie side by side, the first at row-major `position`.
void compare_run(const jit::TensorView& got, const jit::TensorView& want, int64_t offset, int64_t n,
                 int64_t position, double bound, Collector& out) {
  const auto bytes = static_cast<int64_t>(size_of(got.type));
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const auto* a = static_cast<const char*>(got.data) + (offset + i) * bytes;
    const auto* b = static_cast<const char*>(want.data) + (offset + i) * bytes;
    if (std::memcmp(a, b, static_cast<size_t>(count * bytes)) == 0) continue;
    if (count == kBlock && close(got.type, got.data, want.data, offset + i, bound)) continue;
    for (int64_t k = i; k < i + count; ++k) {
      if (apart(got.type, got.data, want.data, offset + k, bound)) out.add(position + k);
    }
  }
}

}  // namespace

Difference difference(const jit::TensorView& got, const jit::TensorView& want, double bound,
                      size_t most) {
  Difference out;
  Collector collector(most, out);
  // Dimensions from the last on that lie without gaps are one run.
  int64_t run = 1;
  size_t outer = got.shape.size();
  while (outer > 0 && (got.shape[outer - 1] == 1 || got.strides[outer - 1] == run)) {
    run *= got.shape[--outer];
  }
  const int64_t n = got.elements();
  std::vector<int64_t> at(outer, 0);
  for (int64_t position = 0; position < n; position += run) {
    int64_t offset = 0;
    for (size_t d = 0; d < outer; ++d) offset += at[d] * got.strides[d];
    compare_run(got, want, offset, run, position, bound, collector);
    for (size_t d = outer; d-- > 0;) {
      if (++at[d] < got.shape[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

}  // namespace hone::runtime
