// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/check/fixture.h"

namespace hone::bench {

/// A problem that a peer is ready to solve.
struct Prepared {
  std::function<void(int64_t)> run;  ///< solves it n times; null where the peer cannot
  double schedule_us = 0;            ///< see Contender
  double compile_us = 0;
};

/// A library that solves some of the problems too: one row a file. Rows exist where the library
/// was found at build time.
struct Peer {
  const char* name;
  /// How to solve the fixture's problem, with the threads that OMP_NUM_THREADS says.
  Prepared (*prepare)(const runtime::Fixture& fixture);
};

std::span<const Peer* const> peers();

/// What a peer needs to know of a product problem: Y[M,N] = X[M,K] * W[K,N], row-major f32.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const float* x = nullptr;
  const float* w = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
  bool gelu = false;
};

/// The fixture as a product, if it is one that the peers know: matmul, fc, fc_gelu without storage
/// orders or strides of their own.
bool as_product(const runtime::Fixture& fixture, Product* out);

}  // namespace hone::bench
