// SPDX-License-Identifier: Apache-2.0
// Products that are small enough for a kernel of their own.
#include <libxsmm.h>

#include "bench/peer.h"

namespace hone::bench {
namespace {

/// One product. Row-major operands are column-major ones in the other order.
struct XsmmCall {
  libxsmm_smmfunction kernel;
  Product p;
  void operator()() const { kernel(p.w, p.x, p.y); }
};

Prepared prepare_libxsmm(const PeerTask& task) {
  const auto product = as_product(task.sets[0]);
  // What is larger wants blocks for caches, which its kernels have none of.
  constexpr int64_t kMostProducts = int64_t{256} * 256 * 256;
  if (!product || product->m * product->n * product->k > kMostProducts) return {};
  const auto m = static_cast<libxsmm_blasint>(product->m),
             n = static_cast<libxsmm_blasint>(product->n),
             k = static_cast<libxsmm_blasint>(product->k);
  const float alpha = 1, beta = 0;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  const libxsmm_smmfunction kernel =
      libxsmm_smmdispatch(n, m, k, &n, &k, &n, &alpha, &beta, &flags, &prefetch);
  if (!kernel) return {};
  return prepare_products(task, [kernel](const Product& p) { return XsmmCall{kernel, p}; });
}

std::string about_libxsmm() {
  libxsmm_init();
  return std::string(LIBXSMM_VERSION) + ", kernels for " + libxsmm_get_target_arch();
}

}  // namespace

extern const Peer kLibxsmm;
const Peer kLibxsmm = {"LIBXSMM", prepare_libxsmm, about_libxsmm};

}  // namespace hone::bench
