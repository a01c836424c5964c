// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>

#include "bench/peer.h"

namespace hone::bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// One product.
struct EigenCall {
  Product p;
  void operator()() const {
    const Eigen::Map<const Matrix> x(p.x, p.m, p.k), w(p.w, p.k, p.n);
    Eigen::Map<Matrix> y(p.y, p.m, p.n);
    y.noalias() = x * w;
  }
};

Prepared prepare_eigen(const PeerTask& task) {
  return prepare_products(task, [](const Product& p) { return EigenCall{p}; });
}

std::string about_eigen() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION) + ", " + Eigen::SimdInstructionSetsInUse();
}

}  // namespace

extern const Peer kEigen;
const Peer kEigen = {"Eigen", prepare_eigen, about_eigen};

}  // namespace hone::bench
