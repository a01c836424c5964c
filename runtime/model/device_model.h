// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/status_words.h"
#include "runtime/model/arguments.h"
#include "runtime/model/model_graph.h"

namespace hone::runtime {

/// A model's side on a GPU: how its calls run there. Their weights are the kernels'.
class DeviceModel {
 public:
  /// For a model that is loaded, whose engine has a GPU.
  static Result<std::shared_ptr<const DeviceModel>> create(const ModelState& model);

  /// A call that blocks. Tensors of the host are copied there and back.
  Result<Done> run(ModelArguments& call, const CallOptions& options) const;
  /// A call whose tensors are the device's, put into a stream.
  Result<Done> enqueue(const ModelArguments& call, const EnqueueOptions& options) const;
  /// Waits for a stream; what became of the calls of the model in it.
  Result<Done> wait(const ModelState& model, void* stream) const;

 private:
  explicit DeviceModel(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  Result<Done> launch(const DeviceSteps& steps) const;
  std::unique_ptr<ModelGraph> take(const DeviceSteps& steps) const;
  void give(std::unique_ptr<ModelGraph> graph) const;
  Failure bad_data(const ModelState& model, size_t word, int64_t said) const;
  Failure failed(const ModelState& model, int error) const;
  Result<Done> check_words(const ModelState& model, uint64_t words, void* stream) const;

  std::shared_ptr<Gpu> gpu_;
  std::vector<int> words_of_steps_;  ///< their numbers; -1: the step checks no data
  std::vector<int64_t> fine_words_;  ///< of a call in which all is well
  std::unique_ptr<StatusWords> words_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ModelGraph>> idle_;  ///< those used last at the end
};

}  // namespace hone::runtime
