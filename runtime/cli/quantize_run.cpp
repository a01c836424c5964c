// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/quantize_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/model/model_file.h"

namespace hone::runtime {

Result<ProbedModel> ProbedModel::load(EngineState& engine, const onnx::Model& model,
                                      const std::vector<std::string>& probes,
                                      const std::string& dims, const std::string& origin) {
  auto probed = std::make_shared<onnx::Model>(model);
  ProbedModel out;
  for (const onnx::ValueInfo& v : model.graph.outputs) out.own_.emplace_back(v.name);
  const auto kept = std::make_shared<const std::vector<std::string>>(probes);
  for (const std::string& name : *kept) {
    if (std::find(out.own_.begin(), out.own_.end(), name) != out.own_.end()) continue;
    onnx::ValueInfo info;
    info.name = name;
    info.kind = onnx::ValueInfo::kTensor;
    probed->graph.outputs.push_back(std::move(info));
  }
  auto file = model_of_onnx(probed, origin, engine.library().get());
  if (!file) return file.failure();
  auto state = ModelState::load(engine, *file, {.dims = dims});
  if (!state) return state.failure();
  out.state_ = *std::move(state);
  for (const Param& p : out.state_->params) {
    if (p.constant) continue;
    if (p.role == Role::kInput) {
      out.inputs_.push_back(p);
      continue;
    }
    std::vector<int64_t> shape;
    for (const Extent& e : p.shape) {
      if (e.value < 0) {
        return Failure{ErrorCode::kArgument,
                       fmt::format("`{}` has the dim {}, which {} would tell; bind one value of "
                                   "each dim, as in `batch=1`",
                                   p.name, e.text, e.by_data ? "data" : "calls")};
      }
      shape.push_back(e.value);
    }
    int64_t count = 1;
    for (const int64_t e : shape) count *= e;
    out.counts_.push_back(count);
    out.memory_.emplace_back(static_cast<size_t>(dense_bytes(p.type, shape)));
    out.outputs_.push_back(p);
  }
  return out;
}

Result<Done> ProbedModel::run(const Sample& sample) {
  std::vector<NamedTensor> in, made;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const void* data = sample.memory[i].data();
    in.push_back({inputs_[i].name, TensorRef(data, inputs_[i].type, sample.shapes[i])});
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<int64_t> shape;
    for (const Extent& e : outputs_[i].shape) shape.push_back(e.value);
    void* data = memory_[i].data();
    made.push_back({outputs_[i].name, TensorRef(data, outputs_[i].type, shape)});
  }
  const auto done = state_->run(in, made, {});
  if (done) return Done();
  return Failure{done.failure().code, fmt::format("{}: {}", sample.path, done.failure().message)};
}

Result<std::span<const float>> ProbedModel::values(const std::string& name) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].name != name) continue;
    if (outputs_[i].type != DType::kF32) break;
    return std::span(reinterpret_cast<const float*>(memory_[i].data()),
                     static_cast<size_t>(counts_[i]));
  }
  return Failure{ErrorCode::kUnsupported, fmt::format("`{}` is no value of f32", name)};
}

std::vector<std::string> ProbedModel::outputs() const {
  std::vector<std::string> out;
  for (const std::string& name : own_) {
    if (values(name)) out.push_back(name);
  }
  return out;
}

}  // namespace hone::runtime
