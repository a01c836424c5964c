// SPDX-License-Identifier: Apache-2.0
// The C interface: models.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/c/handles.h"
#include "runtime/c/tensor.h"

using namespace hone;
using namespace hone::runtime;

hone_model::hone_model(std::shared_ptr<hone::ThreadPool> p, hone::Model m)
    : pool(std::move(p)), model(std::move(m)), params(model.params()) {
  const auto list = [&](const std::vector<std::string>& texts) {
    std::vector<const char*>& all = names.emplace_back();
    for (const std::string& t : texts) all.push_back(t.c_str());
    return std::pair<const char* const*, size_t>(all.data(), all.size());
  };
  for (const ModelStep& s : model.steps()) {
    const hone_kernel& kernel = kernels.emplace_back(pool, s.kernel);
    const auto [ops, op_count] = list(s.ops);
    const auto [reads, read_count] = list(s.reads);
    const auto [makes, make_count] = list(s.makes);
    steps.push_back({&kernel, ops, op_count, reads, read_count, makes, make_count});
  }
}

namespace hone::runtime {
namespace {

/// Named tensors of a call. Up to 16 lie on its stack, so that calls allocate nothing.
class NamedTensors {
 public:
  NamedTensors() = default;
  NamedTensors(const NamedTensors&) = delete;
  NamedTensors& operator=(const NamedTensors&) = delete;

  /// `what` is what they are called in errors.
  Result<Done> take(const hone_named_tensor* tensors, size_t count, const char* what) {
    if (!tensors && count > 0) return c_missing(what);
    all_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const char* const name = tensors[i].name;
      const auto tensor =
          name ? c_tensor(tensors[i].tensor) : Result<TensorRef>(Failure(c_missing("its name")));
      if (!tensor) {
        return Failure{tensor.failure().code, std::string(what) + "[" + std::to_string(i) +
                                                  "]: " + tensor.failure().message};
      }
      all_.push_back({name, *tensor});
    }
    return Done{};
  }
  std::span<const NamedTensor> span() const { return all_; }

 private:
  alignas(NamedTensor) std::byte memory_[16 * sizeof(NamedTensor)];
  std::pmr::monotonic_buffer_resource resource_{memory_, sizeof memory_};
  std::pmr::vector<NamedTensor> all_{&resource_};
};

/// Shapes of outputs that a call is asked for. Up to 16 lie on its stack.
class AskedShapes {
 public:
  explicit AskedShapes(const hone_call_options* options) : asked_(c_options(options)) {}
  AskedShapes(const AskedShapes&) = delete;
  AskedShapes& operator=(const AskedShapes&) = delete;

  /// Fails where there is not room for the shape of each of `outputs` outputs.
  Result<Done> take(size_t outputs) {
    if (!asked_.shapes) return Done{};
    if (asked_.shape_count != outputs) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("options.shapes has room for {} shapes, and {} outputs are given",
                                 asked_.shape_count, outputs)};
    }
    all_.resize(outputs);
    return Done{};
  }
  std::span<TensorShape> span() { return all_; }
  /// Copies them to the caller's.
  void give() const {
    for (size_t i = 0; i < all_.size(); ++i) {
      asked_.shapes[i].rank = all_[i].rank;
      std::copy(all_[i].extents.begin(), all_[i].extents.end(), asked_.shapes[i].extents);
    }
  }

 private:
  hone_call_options asked_;
  alignas(TensorShape) std::byte memory_[16 * sizeof(TensorShape)];
  std::pmr::monotonic_buffer_resource resource_{memory_, sizeof memory_};
  std::pmr::vector<TensorShape> all_{&resource_};
};

/// Loads by `f`, which takes the options.
template <class F>
Result<Done> load_model(hone_engine* engine, const hone_model_options* options, hone_model** model,
                        F f) {
  *model = nullptr;
  const hone_model_options c = c_options(options);
  NamedTensors weights, known;
  if (auto done = weights.take(c.weights, c.weight_count, "weights"); !done) return done;
  if (auto done = known.take(c.known, c.known_count, "known"); !done) return done;
  ModelOptions o;
  o.dims = c.dims ? c.dims : "";
  o.weights = {weights.span().begin(), weights.span().end()};
  o.known = {known.span().begin(), known.span().end()};
  o.fuse = c.apart == 0;
  o.plan = c.plan ? c.plan : "";
  Result<Model> made = f(o);
  if (!made) return made.failure();
  *model = new hone_model(engine->pool, *std::move(made));
  return Done{};
}

}  // namespace
}  // namespace hone::runtime

hone_status hone_engine_load(hone_engine* engine, const char* path,
                             const hone_model_options* options, hone_model** model, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !path || !model) {
      return c_missing(!engine ? "engine" : !path ? "path" : "model");
    }
    return load_model(engine, options, model,
                      [&](const ModelOptions& o) { return engine->engine.try_load(path, o); });
  });
}

hone_status hone_engine_load_graph(hone_engine* engine, const char* text, const char* origin,
                                   const hone_model_options* options, hone_model** model,
                                   char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !text || !model) {
      return c_missing(!engine ? "engine" : !text ? "text" : "model");
    }
    return load_model(engine, options, model, [&](const ModelOptions& o) {
      return engine->engine.try_load_graph(text, o, origin ? origin : "graph");
    });
  });
}

void hone_model_destroy(hone_model* model) { delete model; }

const char* hone_model_text(const hone_model* model) {
  return model ? model->model.text().c_str() : "";
}

const char* hone_model_plan(const hone_model* model) {
  return model ? model->model.plan().c_str() : "";
}

size_t hone_model_param_count(const hone_model* model) { return model ? model->params.size() : 0; }

const hone_param* hone_model_param(const hone_model* model, size_t index) {
  return model ? model->params.at(index) : nullptr;
}

size_t hone_model_step_count(const hone_model* model) { return model ? model->steps.size() : 0; }

const hone_step* hone_model_step(const hone_model* model, size_t index) {
  return index < hone_model_step_count(model) ? &model->steps[index] : nullptr;
}

void hone_model_memory(const hone_model* model, hone_model_bytes* memory) {
  ModelMemory m;
  if (model) m = model->model.memory();
  c_result(memory, {0, m.weights, m.values, m.values_sum, m.workspace, m.call});
}

int64_t hone_model_workspace_size(const hone_model* model) {
  return model ? model->model.memory().call : 0;
}

hone_status hone_model_run(const hone_model* model, const hone_named_tensor* inputs,
                           size_t input_count, const hone_named_tensor* outputs,
                           size_t output_count, const hone_call_options* options, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!model) return c_missing("model");
    NamedTensors read, written;
    if (auto done = read.take(inputs, input_count, "inputs"); !done) return done;
    if (auto done = written.take(outputs, output_count, "outputs"); !done) return done;
    AskedShapes shapes(options);
    if (auto done = shapes.take(output_count); !done) return done;
    CallOptions call = c_call(options);
    call.shapes = shapes.span();
    auto done = model->model.try_run(read.span(), written.span(), call);
    if (done) shapes.give();
    return done;
  });
}

hone_status hone_model_enqueue(const hone_model* model, const hone_named_tensor* inputs,
                               size_t input_count, const hone_named_tensor* outputs,
                               size_t output_count, void* stream, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!model) return c_missing("model");
    NamedTensors read, written;
    if (auto done = read.take(inputs, input_count, "inputs"); !done) return done;
    if (auto done = written.take(outputs, output_count, "outputs"); !done) return done;
    return model->model.try_enqueue(read.span(), written.span(), {.stream = stream});
  });
}

hone_status hone_model_wait(const hone_model* model, void* stream, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!model) return c_missing("model");
    return model->model.try_wait(stream);
  });
}
