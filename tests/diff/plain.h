// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jit/interp/data.h"
#include "jit/interp/reference.h"

namespace hone::tests {

/// An op's problem on data of one set, to be computed a second time by loops written out in C++,
/// which share no code with the language or the interpreter.
class Plain {
 public:
  Plain(const std::string& problem, jit::DataSet set);

  /// Element `index` of a tensor, or a scalar argument, before the call.
  double at(const std::string& name, std::vector<int64_t> index = {}) const;
  /// Checks the reference's output `name` against `want`, element by element.
  void check(const std::string& name,
             const std::function<double(const std::vector<int64_t>&)>& want) const;

 private:
  const jit::TensorView& view(const std::string& name) const;

  std::string problem_;
  std::vector<std::string> names_;
  std::vector<std::vector<char>> memory_;
  std::vector<jit::TensorView> views_;
  std::vector<std::string> scalar_names_;
  std::vector<double> scalars_;
  jit::ReferenceOutcome outcome_;
};

/// Runs `body` on a problem with every data set.
void for_each_data_set(const std::string& problem, const std::function<void(const Plain&)>& body);

}  // namespace hone::tests
