// SPDX-License-Identifier: Apache-2.0
// Which nodes of a model can be quantized.
#include "runtime/cli/quantize_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::runtime {
namespace {

/// Fixed by: ONNX. The first set of operators that has QuantizeLinear, and the first that has it
/// per channel.
constexpr int64_t kLeastOpset = 10, kOpset = 13;

/// An operator whose meaning changed with a set: a model of an older one cannot be raised past it.
struct Change {
  std::string_view op_type;
  int64_t version;
};

/// Fixed by: ONNX. Softmax and its like are the same where the last axis is named.
constexpr Change kChanges[] = {
    {"Clip", 11},  {"Dropout", 12},   {"Hardmax", 13},   {"LogSoftmax", 13},
    {"Pad", 11},   {"ReduceSum", 13}, {"Resize", 11},    {"Softmax", 13},
    {"Split", 13}, {"Squeeze", 13},   {"Unsqueeze", 13},
};

std::string name_of(const onnx::Node& n) {
  if (!n.name.empty()) return std::string(n.name);
  return std::string(n.outputs.empty() ? n.op_type : n.outputs[0]);
}

const onnx::Attribute* attribute(const onnx::Node& n, std::string_view name) {
  for (const onnx::Attribute& a : n.attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

bool is_number(const onnx::Node& n, std::string_view name, float value) {
  const onnx::Attribute* a = attribute(n, name);
  return !a || a->f == value;
}

bool is_own(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

class Planner {
 public:
  explicit Planner(const onnx::Model& model) : model_(model) {
    for (const onnx::Tensor& t : model.graph.initializers) constants_[t.name] = &t;
    for (size_t i = 0; i < model.graph.nodes.size(); ++i) {
      for (const std::string_view name : model.graph.nodes[i].inputs) readers_[name].push_back(i);
    }
    for (const onnx::ValueInfo& v : model.graph.outputs) outputs_.insert(v.name);
  }

  Result<QuantizePlan> run() {
    if (auto f = check_opset(); !f) return f.failure();
    for (size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const onnx::Node& n = model_.graph.nodes[i];
      if (!is_own(n.domain)) continue;
      if (n.op_type == "QuantizeLinear" || n.op_type.starts_with("QLinear")) {
        return Failure{ErrorCode::kArgument,
                       fmt::format("the model is quantized already: it has {}, node `{}`; a float "
                                   "model is accepted",
                                   n.op_type, name_of(n))};
      }
      if (n.op_type != "Conv" && n.op_type != "MatMul" && n.op_type != "Gemm") continue;
      const std::string why = add(i, n);
      if (!why.empty()) plan_.floats.push_back({name_of(n), std::string(n.op_type), why});
    }
    return std::move(plan_);
  }

 private:
  const onnx::Tensor* constant(std::string_view name) const {
    const auto at = constants_.find(name);
    return at == constants_.end() ? nullptr : at->second;
  }

  Result<Done> check_opset() {
    int64_t own = 0;
    for (const onnx::Opset& o : model_.opsets) {
      if (is_own(o.domain)) own = o.version;
    }
    if (own >= kOpset) return Done();
    std::string wrong;
    if (own < kLeastOpset) wrong = fmt::format("which has no QuantizeLinear; {} is", kLeastOpset);
    for (const onnx::Node& n : model_.graph.nodes) {
      for (const Change& c : kChanges) {
        if (n.op_type != c.op_type || own >= c.version || !is_own(n.domain)) continue;
        const onnx::Attribute* axis = attribute(n, "axis");
        if (n.op_type.ends_with("max") && axis && axis->i == -1) continue;
        wrong = fmt::format("and `{}` of node `{}` is another operator from {} on; {} is",
                            n.op_type, name_of(n), c.version, kOpset);
      }
    }
    plan_.opset = kOpset;
    if (wrong.empty()) return Done();
    return Failure{
        ErrorCode::kUnsupported,
        fmt::format("the model is of operator set {}, {} accepted. onnx.version_converter "
                    "can raise it",
                    own, wrong)};
  }

  /// Why the node stays float; empty where it is planned.
  std::string add(size_t i, const onnx::Node& n) {
    if (n.inputs.size() < 2 || n.outputs.size() != 1) return "it has no two inputs and one output";
    const onnx::Tensor* w = constant(n.inputs[1]);
    if (!w) return "its second input is no initializer";
    if (constant(n.inputs[0])) return "its first input is an initializer";
    if (w->type != onnx::DataType::kFloat) return "its weights are not float";
    const size_t rank = w->dims.size();
    if (rank < 2 || w->elements == 0) return "its weights are no matrix and no filter";
    PlannedNode p;
    p.node = i;
    p.name = name_of(n);
    p.op_type = n.op_type;
    p.input = n.inputs[0];
    p.weight = n.inputs[1];
    p.weights = w;
    p.output = n.outputs[0];
    const bool conv = n.op_type == "Conv", gemm = n.op_type == "Gemm";
    const onnx::Attribute* turned = attribute(n, "transB");
    p.axis = conv || (gemm && turned && turned->i != 0) ? 0 : rank - 1;
    const bool scaled = gemm && !(is_number(n, "alpha", 1) && is_number(n, "beta", 1));
    const bool has_bias = n.inputs.size() > 2 && !n.inputs[2].empty();
    const onnx::Tensor* bias = has_bias ? constant(n.inputs[2]) : nullptr;
    const bool fits = bias && bias->type == onnx::DataType::kFloat && bias->dims.size() == 1 &&
                      bias->elements == w->dims[p.axis];
    if (fits && !scaled) p.bias = bias;
    if (conv && (!has_bias || p.bias)) take_norm(p);
    plan_.nodes.push_back(std::move(p));
    return "";
  }

  /// A normalisation by given statistics is a scale and a bias of each channel.
  void take_norm(PlannedNode& p) const {
    const auto at = readers_.find(p.output);
    if (outputs_.contains(p.output) || at == readers_.end() || at->second.size() != 1) return;
    const onnx::Node& n = model_.graph.nodes[at->second[0]];
    if (n.op_type != "BatchNormalization" || n.inputs.size() != 5 || n.outputs.size() != 1) return;
    const onnx::Attribute* training = attribute(n, "training_mode");
    if ((training && training->i != 0) || n.inputs[0] != p.output) return;
    for (size_t i = 1; i < n.inputs.size(); ++i) {
      const onnx::Tensor* t = constant(n.inputs[i]);
      if (!t || t->type != onnx::DataType::kFloat || t->elements != p.weights->dims[0]) return;
    }
    p.norm = static_cast<int>(at->second[0]);
    p.output = n.outputs[0];
  }

  const onnx::Model& model_;
  std::map<std::string_view, const onnx::Tensor*> constants_;
  std::map<std::string_view, std::vector<size_t>> readers_;
  std::set<std::string_view> outputs_;
  QuantizePlan plan_;
};

}  // namespace

Result<QuantizePlan> plan_quantization(const onnx::Model& model) { return Planner(model).run(); }

}  // namespace hone::runtime
