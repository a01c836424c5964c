// SPDX-License-Identifier: Apache-2.0
// The public face of models: thin members over ModelState.
#include "include/hone/model.h"

#include "include/hone/hone.h"
#include "ops/graph/gradient.h"
#include "runtime/engine/failure.h"
#include "runtime/model/model_state.h"
#include "runtime/model/tune_model.h"

namespace hone {

using runtime::value_or_raise;

Result<Model> Engine::try_load_graph(std::string_view text, const ModelOptions& options,
                                     std::string_view origin) {
  auto graph = ops::parse_graph(text, origin, state_->library().get());
  if (!graph) return graph.failure();
  auto model = runtime::ModelState::load(*state_, *graph, options);
  if (!model) return model.failure();
  return Model(std::move(*model));
}

Model Engine::load_graph(std::string_view text, const ModelOptions& options,
                         std::string_view origin) {
  return value_or_raise(try_load_graph(text, options, origin));
}

Result<std::string> Engine::try_graph_gradient(std::string_view text,
                                               const GraphGradientOptions& options,
                                               std::string_view origin) {
  const std::shared_ptr<const ops::Library> library = state_->library();
  const auto graph = ops::parse_graph(text, origin, library.get());
  if (!graph) return graph.failure();
  return ops::graph_gradient(*graph, {options.loss, options.wrt, options.outputs, options.scale},
                             library.get());
}

std::string Engine::graph_gradient(std::string_view text, const GraphGradientOptions& options,
                                   std::string_view origin) {
  return value_or_raise(try_graph_gradient(text, options, origin));
}

Result<Model> Engine::try_load(std::string_view path, const ModelOptions& options) {
  auto file = runtime::read_model_file(std::string(path), state_->library().get(), options.known);
  if (!file) return file.failure();
  auto model = runtime::ModelState::load(*state_, *file, options);
  if (!model) return model.failure();
  return Model(std::move(*model));
}

Model Engine::load(std::string_view path, const ModelOptions& options) {
  return value_or_raise(try_load(path, options));
}

Result<std::vector<TuneResult>> Engine::try_tune(const Model& model, const TuneOptions& options) {
  auto tuned = runtime::tune_model(*state_, *model.state_, options);
  if (!tuned) return tuned.failure();
  std::vector<TuneResult> results;
  for (runtime::TunedKernel& k : tuned->kernels) results.push_back(std::move(k.result));
  return results;
}

std::vector<TuneResult> Engine::tune(const Model& model, const TuneOptions& options) {
  return value_or_raise(try_tune(model, options));
}

Result<Done> Model::try_run(std::span<const NamedTensor> inputs,
                            std::span<const NamedTensor> outputs,
                            const CallOptions& options) const {
  return state_->run(inputs, outputs, options);
}

void Model::run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                const CallOptions& options) const {
  value_or_raise(try_run(inputs, outputs, options));
}

Result<Done> Model::try_enqueue(std::span<const NamedTensor> inputs,
                                std::span<const NamedTensor> outputs,
                                const EnqueueOptions& options) const {
  return state_->enqueue(inputs, outputs, options);
}

void Model::enqueue(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                    const EnqueueOptions& options) const {
  value_or_raise(try_enqueue(inputs, outputs, options));
}

Result<Done> Model::try_wait(void* stream) const { return state_->wait(stream); }
void Model::wait(void* stream) const { value_or_raise(try_wait(stream)); }

const std::string& Model::text() const { return state_->text; }
std::span<const Param> Model::params() const { return state_->params; }
std::span<const ModelStep> Model::steps() const { return state_->steps; }
std::span<const ModelHostStep> Model::host_steps() const { return state_->host_steps; }
const std::string& Model::plan() const { return state_->plan; }
ModelMemory Model::memory() const { return state_->memory; }

}  // namespace hone
