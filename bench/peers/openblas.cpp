// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include "bench/peer.h"

namespace hone::bench {
namespace {

/// One product.
struct BlasCall {
  Product p;
  void operator()() const {
    const auto m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    if (m == 1) {
      cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1.0f, p.w, n, p.x, 1, 0.0f, p.y, 1);
    } else {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, p.x, k, p.w, n, 0.0f,
                  p.y, n);
    }
  }
};

Prepared prepare_openblas(const PeerTask& task) {
  openblas_set_num_threads(1);
  return prepare_products(task, [](const Product& p) { return BlasCall{p}; });
}

std::string about_openblas() {
  return std::string(openblas_get_config()) + ", kernels of " + openblas_get_corename();
}

}  // namespace

extern const Peer kOpenBlas;
const Peer kOpenBlas = {"OpenBLAS", prepare_openblas, about_openblas};

}  // namespace hone::bench
