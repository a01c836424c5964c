// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/check/fixture.h"

namespace hone::bench {

/// A problem that a peer is ready to solve.
struct Prepared {
  std::function<void(int64_t)> run;  ///< solves it n times; null where the peer cannot
  double schedule_us = 0;            ///< see Contender
  double compile_us = 0;
  std::function<void()> deliver = {};  ///< brings results of the first set where the fixture has
                                       ///< its outputs; empty: they are there
  std::string kernel = {};             ///< what the peer says that it chose
};

/// The tensors of a problem, in a fixture's memory or elsewhere in the same shapes and strides.
class OperandSet {
 public:
  explicit OperandSet(const runtime::Fixture& fixture)
      : fixture_(&fixture), params_(fixture.params()) {}
  OperandSet(const runtime::Fixture& fixture, std::vector<jit::TensorView> params)
      : fixture_(&fixture), params_(std::move(params)) {}

  const ops::Problem& problem() const { return fixture_->problem(); }
  const std::vector<jit::TensorView>& params() const { return params_; }
  const std::vector<double>& scalars() const { return fixture_->scalars(); }

 private:
  const runtime::Fixture* fixture_;
  std::vector<jit::TensorView> params_;
};

/// What a peer is to solve.
struct PeerTask {
  std::span<const OperandSet> sets;  ///< which runs take in turns
  const runtime::Fixture& first;     ///< that the first set lies in
  bool free_layout = false;          ///< tensors may be stored as the peer likes
};

/// A library that solves some of the problems too: one row a file. Rows exist where the library
/// was found at build time.
struct Peer {
  const char* name;
  /// How to solve the task, with the threads that OMP_NUM_THREADS says.
  Prepared (*prepare)(const PeerTask& task);
  /// Version, and what it takes this machine for.
  std::string (*about)();
};

std::span<const Peer* const> peers();

/// Names of libraries that the bench would compare with and that this build has not.
std::span<const char* const> absent_peers();

/// Runs calls one after the other, each on its own set of operands, and begins anew at the end.
template <class Call>
std::function<void(int64_t)> in_turns(std::vector<Call> calls) {
  return [calls = std::move(calls), next = size_t{0}](int64_t n) mutable {
    for (int64_t i = 0; i < n; ++i) {
      calls[next]();
      if (++next == calls.size()) next = 0;
    }
  };
}

/// A number in a problem's text, such as the stride in `S=2`; `otherwise` where it has none.
int64_t number_of(const ops::Problem& problem, std::string_view name, int64_t otherwise);

/// Whether a tensor lies in the order of its dims without gaps.
bool is_dense(const jit::TensorView& v);

/// What a peer needs to know of a product problem: Y[M,N] = X[M,K] * W[K,N], row-major f32.
struct Product {
  int64_t m = 0, n = 0, k = 0;
  const float* x = nullptr;
  const float* w = nullptr;
  const float* bias = nullptr;
  float* y = nullptr;
};

/// The set as a product, if it is one that the peers know: matmul, fc, fc_gelu without storage
/// orders or strides of their own.
std::optional<Product> as_product(const OperandSet& set);

/// A task of products without a bias; `call_of(product)` gives a function object that solves one.
template <class F>
Prepared prepare_products(const PeerTask& task, F&& call_of) {
  std::vector<decltype(call_of(Product()))> calls;
  for (const OperandSet& set : task.sets) {
    const auto product = as_product(set);
    if (!product || product->bias) return {};
    calls.push_back(call_of(*product));
  }
  return {.run = in_turns(std::move(calls))};
}

}  // namespace hone::bench
