// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>

#include "bench/peer.h"

namespace hone::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Prepared prepare(const runtime::Fixture& fixture) {
  Product p;
  if (!as_product(fixture, &p) || p.bias) return {};
  return {[p](int64_t n) {
    const Eigen::Map<const Matrix> x(p.x, p.m, p.k), w(p.w, p.k, p.n);
    Eigen::Map<Matrix> y(p.y, p.m, p.n);
    for (int64_t i = 0; i < n; ++i) y.noalias() = x * w;
  }};
}

}  // namespace

extern const Peer kEigen;
const Peer kEigen = {"Eigen", prepare};

}  // namespace hone::bench
