// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include "bench/peer.h"

namespace hone::bench {
namespace {

Prepared prepare_openblas(const runtime::Fixture& fixture) {
  Product p;
  if (!as_product(fixture, &p) || p.bias) return {};
  openblas_set_num_threads(1);
  return {[p](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<int>(p.m),
                  static_cast<int>(p.n), static_cast<int>(p.k), 1.0f, p.x, static_cast<int>(p.k),
                  p.w, static_cast<int>(p.n), 0.0f, p.y, static_cast<int>(p.n));
    }
  }};
}

}  // namespace

extern const Peer kOpenBlas;
const Peer kOpenBlas = {"OpenBLAS", prepare_openblas};

}  // namespace hone::bench
