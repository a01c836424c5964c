// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/random_dims.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "ops/op.h"

namespace hone::tests {

ProblemWords::ProblemWords(const std::string& problem) {
  std::istringstream in(problem);
  for (std::string word; in >> word;) {
    const size_t at = word.find('=');
    const bool number = at != std::string::npos && at + 1 < word.size() &&
                        word.find_first_not_of("0123456789", at + 1) == std::string::npos;
    if (number) dims_.push_back(words_.size());
    words_.push_back(word);
  }
}

int64_t ProblemWords::value(size_t dim) const {
  const std::string& word = words_[dims_[dim]];
  return std::atoll(word.c_str() + word.find('=') + 1);
}

void ProblemWords::set(size_t dim, int64_t value) {
  std::string& word = words_[dims_[dim]];
  word = word.substr(0, word.find('=') + 1) + std::to_string(value);
}

std::string ProblemWords::text() const {
  std::string out;
  for (const std::string& word : words_) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::vector<std::string>> cases_by_op() {
  std::map<std::string, std::vector<std::string>> ops;
  for (const ops::Case& c : ops::stock_library().cases) {
    ops[c.problem.substr(0, c.problem.find(' '))].push_back(c.problem);
  }
  std::vector<std::vector<std::string>> out;
  for (auto& [name, cases] : ops) out.push_back(std::move(cases));
  return out;
}

std::string RandomDims::problem() {
  const auto& cases = ops_[below(ops_.size())];
  ProblemWords words(cases[below(cases.size())]);
  size_t large = 0;
  for (size_t d = 0; d < words.dims(); ++d) large += words.value(d) > 4;
  const double each = std::pow(size_, 1 / static_cast<double>(std::max<size_t>(large, 1)));
  const double most = std::clamp(each, 9.0, 3e6);
  for (size_t d = 0; d < words.dims(); ++d) {
    if (below(4) == 0) continue;
    const bool small = words.value(d) <= 4 && below(4) != 0;
    words.set(d, drawn(small ? 9 : most));
  }
  return words.text();
}

/// As many in each octave; every fourth one beside a power of two.
int64_t RandomDims::drawn(double most) {
  const double u = static_cast<double>(random_() % 1000000) / 1e6;
  const auto value = static_cast<int64_t>(std::exp(u * std::log(most)));
  if (below(4) != 0) return value;
  const auto power = int64_t{1} << static_cast<int>(std::log2(static_cast<double>(value)));
  return std::max<int64_t>(1, power + static_cast<int64_t>(below(3)) - 1);
}

}  // namespace hone::tests
