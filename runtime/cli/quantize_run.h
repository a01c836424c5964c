// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/onnx/model.h"
#include "runtime/cli/quantize_samples.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {

/// A model of ONNX that gives values from its inside as well.
class ProbedModel {
 public:
  /// Loads `model` with `probes`, names of its values, as outputs; `origin` names it in errors.
  static Result<ProbedModel> load(EngineState& engine, const onnx::Model& model,
                                  const std::vector<std::string>& probes, const std::string& dims,
                                  const std::string& origin);

  /// The inputs that calls give, in their order.
  const std::vector<Param>& inputs() const { return inputs_; }
  /// Runs a sample; values stay until the next one.
  Result<Done> run(const Sample& sample);
  /// The elements of a probe, or of an output of f32.
  Result<std::span<const float>> values(const std::string& name) const;
  /// The names of the model's own outputs that are f32.
  std::vector<std::string> outputs() const;

 private:
  std::shared_ptr<const ModelState> state_;
  std::vector<Param> inputs_;
  std::vector<std::string> own_;  ///< outputs
  std::vector<Param> outputs_;
  std::vector<TensorMemory> memory_;  ///< of outputs
  std::vector<int64_t> counts_;       ///< of their elements
};

}  // namespace hone::runtime
