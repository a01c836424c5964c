// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hone::tests {

/// A problem's words, and the places of `KEY=number` among them.
class ProblemWords {
 public:
  explicit ProblemWords(const std::string& problem);

  size_t dims() const { return dims_.size(); }
  int64_t value(size_t dim) const;
  void set(size_t dim, int64_t value);
  std::string text() const;

 private:
  std::vector<std::string> words_;
  std::vector<size_t> dims_;  ///< indices into `words_`
};

/// The problems of the library's cases, a list for each op.
std::vector<std::vector<std::string>> cases_by_op();

/// Problems of the library's ops with dims of all sizes: mostly small where the case has small
/// ones, which are strides and windows, else anything up to what the number of dims allows.
class RandomDims {
 public:
  /// `size`: about how many iterations a problem may have.
  RandomDims(uint64_t seed, double size) : random_(seed), size_(size), ops_(cases_by_op()) {}

  /// The next problem's text; its dims may be such that the op does not allow them.
  std::string problem();

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  int64_t drawn(double most);

  std::mt19937_64 random_;
  double size_;
  std::vector<std::vector<std::string>> ops_;
};

}  // namespace hone::tests
