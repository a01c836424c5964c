// SPDX-License-Identifier: Apache-2.0
// Problems as models of one or a few nodes, by the names of the library's ops. What is constant is
// a constant of the model, which the runtime packs once.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>

#include "bench/peer.h"
#include "bench/peers/onnx_model.h"
#include "bench/peers/ort_library.h"

namespace hone::bench {
namespace {

using OrtViews = std::vector<jit::TensorView>;

/// The names of a problem's parameters in the model. The last is the result.
constexpr std::string_view kOrtNames[] = {"p0", "p1", "p2", "p3", "p4"};

/// A model in the making. Shapes of views may be changed to those that the nodes want.
struct OrtTask {
  const OperandSet& set;
  OnnxModel model;
  OrtViews views;

  std::string_view result() const { return kOrtNames[views.size() - 1]; }
  int64_t number(const char* name, int64_t otherwise) const {
    return number_of(set.problem(), name, otherwise);
  }
  /// A constant of the model's own: its elements are copied.
  void add_axes(std::vector<int64_t> axes) {
    model.add_constant("axes", {axes.data(), DType::kI64, {std::ssize(axes)}, {1}});
  }
};

using OrtBuilder = std::function<void(OrtTask&)>;

/// One node over all operands.
OrtBuilder ort_node(std::string_view type, std::vector<OnnxAttribute> attributes = {}) {
  return [=](OrtTask& t) {
    const std::vector<std::string_view> inputs(kOrtNames, kOrtNames + t.views.size() - 1);
    t.model.add_node(type, inputs, t.result(), attributes);
  };
}

/// Gemm with a bias and then a function.
OrtBuilder ort_fc(std::string_view function) {
  return [=](OrtTask& t) {
    t.model.add_node("Gemm", {"p0", "p1", "p2"}, "sum");
    t.model.add_node(function, {"sum"}, t.result());
  };
}

void add_ort_convolution(OrtTask& t) {
  OrtViews& v = t.views;
  int64_t group = 1;
  if (v[1].shape.size() == 3) {
    group = v[1].shape[0];
    v[1].shape.insert(v[1].shape.begin() + 1, 1);
  }
  const int64_t s = t.number("S", 1), p = t.number("P", 0), d = t.number("D", 1);
  t.model.add_node("Conv", {"p0", "p1", "p2"}, t.result(),
                   {{"strides", std::vector{s, s}},
                    {"pads", std::vector{p, p, p, p}},
                    {"dilations", std::vector{d, d}},
                    {"group", group}});
}

OrtBuilder ort_pooling(std::string_view type) {
  return [=](OrtTask& t) {
    const int64_t s = t.number("S", 2), p = t.number("P", 0);
    std::vector<OnnxAttribute> attributes = {
        {"kernel_shape", std::vector{t.number("A", 2), t.number("B", 2)}},
        {"strides", std::vector{s, s}},
        {"pads", std::vector{p, p, p, p}}};
    if (type == "AveragePool") attributes.push_back({"count_include_pad", int64_t{1}});
    t.model.add_node(type, {"p0"}, t.result(), attributes);
  };
}

void add_ort_global_pooling(OrtTask& t) {
  t.views[1].shape.insert(t.views[1].shape.end(), {1, 1});
  t.model.add_node("GlobalAveragePool", {"p0"}, t.result());
}

OrtBuilder ort_reduction(std::string_view type, int64_t axis) {
  return [=](OrtTask& t) {
    t.add_axes({axis});
    t.model.add_node(type, {"p0", "axes"}, t.result(), {{"keepdims", int64_t{0}}});
  };
}

void add_ort_silu(OrtTask& t) {
  t.model.add_node("Sigmoid", {"p0"}, "s");
  t.model.add_node("Mul", {"p0", "s"}, t.result());
}

void add_ort_layernorm(OrtTask& t) {
  t.model.add_node("LayerNormalization", {"p0", "p1", "p2"}, t.result(),
                   {{"epsilon", static_cast<float>(t.set.scalars()[0])}});
}

void add_ort_attention(OrtTask& t) {
  auto scale = static_cast<float>(t.set.scalars()[0]);
  t.model.add_constant("scale", {&scale, DType::kF32, {}, {}});
  t.model.add_node("Transpose", {"p1"}, "kt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
  t.model.add_node("MatMul", {"p0", "kt"}, "product");
  t.model.add_node("Mul", {"product", "scale"}, "scores");
  t.model.add_node("Softmax", {"scores"}, "weights");
  t.model.add_node("MatMul", {"weights", "p2"}, t.result());
}

const std::map<std::string, OrtBuilder>& ort_builders() {
  const auto permute = [](std::vector<int64_t> order) {
    return ort_node("Transpose", {{"perm", order}});
  };
  static const std::map<std::string, OrtBuilder> kBuilders = {
      {"matmul", ort_node("MatMul")},
      {"batched_matmul", ort_node("MatMul")},
      {"matmul_i8", ort_node("MatMulInteger")},
      {"matmul_u8i8", ort_node("MatMulInteger")},
      {"fc", ort_node("Gemm")},
      {"fc_gelu", ort_fc("Gelu")},
      {"fc_relu", ort_fc("Relu")},
      {"conv2d", add_ort_convolution},
      {"depthwise_conv2d", add_ort_convolution},
      {"max_pool2d", ort_pooling("MaxPool")},
      {"avg_pool2d", ort_pooling("AveragePool")},
      {"global_avg_pool", add_ort_global_pooling},
      {"relu", ort_node("Relu")},
      {"gelu", ort_node("Gelu")},
      {"gelu_tanh", ort_node("Gelu", {{"approximate", std::string_view("tanh")}})},
      {"tanh", ort_node("Tanh")},
      {"silu", add_ort_silu},
      {"sigmoid", ort_node("Sigmoid")},
      {"exp", ort_node("Exp")},
      {"log", ort_node("Log")},
      {"softmax", ort_node("Softmax")},
      {"log_softmax", ort_node("LogSoftmax")},
      {"layernorm", add_ort_layernorm},
      {"attention", add_ort_attention},
      {"row_sum", ort_reduction("ReduceSum", 1)},
      {"row_max", ort_reduction("ReduceMax", 1)},
      {"row_mean", ort_reduction("ReduceMean", 1)},
      {"column_sum", ort_reduction("ReduceSum", 0)},
      {"column_max", ort_reduction("ReduceMax", 0)},
      {"transpose", permute({1, 0})},
      {"nchw_to_nhwc", permute({0, 2, 3, 1})},
      {"nhwc_to_nchw", permute({0, 3, 1, 2})},
      {"split_heads", permute({0, 2, 1, 3})},
      {"swap_outer", permute({1, 0, 2})},
      {"rotate_dims", permute({2, 0, 1})},
      {"reverse_dims", permute({3, 2, 1, 0})},
  };
  return kBuilders;
}

/// As many threads as the bench says. They do not spin past a call: idle ones would take a core
/// from whoever is measured next.
Ort::SessionOptions ort_problem_options() {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  Ort::SessionOptions options = ort_options(threads ? std::max(1, std::atoi(threads)) : 1);
  options.AddConfigEntry("session.force_spinning_stop", "1");
  return options;
}

/// A model on one set of operands.
struct OrtCall {
  Ort::Session session{nullptr};
  std::vector<const char*> names;  ///< of inputs
  std::vector<Ort::Value> inputs;
  Ort::Value output{nullptr};
  const char* result;

  void operator()() {
    session.Run(Ort::RunOptions{nullptr}, names.data(), inputs.data(), inputs.size(), &result,
                &output, 1);
  }
};

struct OrtTurn {
  std::shared_ptr<OrtCall> call;
  void operator()() const { (*call)(); }
};

OrtCall ort_call(const OperandSet& set, const OrtBuilder& build) {
  OrtTask t{set, {}, set.params()};
  build(t);
  OrtCall call;
  const auto& buffers = set.problem().program.buffers;
  for (size_t i = 0; i + 1 < t.views.size(); ++i) {
    if (buffers[i].constant) {
      t.model.add_constant(kOrtNames[i], t.views[i]);
      continue;
    }
    t.model.add_input(kOrtNames[i], t.views[i]);
    call.names.push_back(kOrtNames[i].data());
    call.inputs.push_back(ort_value(t.views[i]));
  }
  t.model.add_output(t.result(), t.views.back());
  call.output = ort_value(t.views.back());
  call.result = t.result().data();
  call.session = ort_session(t.model.bytes(), ort_problem_options());
  return call;
}

Prepared prepare_onnxruntime(const PeerTask& task) {
  const OperandSet& first = task.sets[0];
  const auto builder = ort_builders().find(first.problem().op.name());
  if (builder == ort_builders().end() || !ort_api() || first.params().size() > std::size(kOrtNames))
    return {};
  for (const jit::TensorView& v : first.params()) {
    if (!is_dense(v) || onnx_type_of(v.type) == 0) return {};
  }
  try {
    std::vector<OrtTurn> calls;
    for (const OperandSet& set : task.sets) {
      calls.push_back({std::make_shared<OrtCall>(ort_call(set, builder->second))});
      calls.back()();  // throws where the runtime has no kernel for the types
    }
    return {.run = in_turns(std::move(calls))};
  } catch (const Ort::Exception&) {
    return {};
  }
}

std::string about_onnxruntime() {
  const std::string about = about_ort();
  return about.empty() ? "cannot be opened" : about;
}

}  // namespace

extern const Peer kOnnxRuntime;
const Peer kOnnxRuntime = {"ONNX Runtime", prepare_onnxruntime, about_onnxruntime};

}  // namespace hone::bench
