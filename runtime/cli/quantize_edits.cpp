// SPDX-License-Identifier: Apache-2.0
// The nodes and tensors of a quantized model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/cli/quantize_plan.h"

namespace hone::runtime {
namespace {

/// The largest number of symmetric weights.
/// Fixed by: 8 bits, and a number of the same size below 0.
constexpr float kMostWeight = 127;
/// Fixed by: ONNX, of BatchNormalization.
constexpr float kEpsilon = 1e-5F;

std::vector<float> floats_of(const onnx::Tensor& t) {
  std::vector<float> out(static_cast<size_t>(t.elements));
  std::memcpy(out.data(), t.data.data(), out.size() * sizeof(float));
  return out;
}

template <class T>
onnx::NewTensor new_tensor(std::string name, onnx::DataType type, std::vector<int64_t> dims,
                           const std::vector<T>& values) {
  onnx::NewTensor out{std::move(name), type, std::move(dims), {}};
  out.data.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return out;
}

/// Weights and bias of a node, with the normalisation behind it in them.
struct FloatWeights {
  std::vector<float> weights, bias;  ///< no bias: empty
};

class EditsMaker {
 public:
  EditsMaker(const QuantizeTask& task, bool beside) : task_(task), beside_(beside) {
    const onnx::Graph& g = task.model.graph;
    for (const onnx::Tensor& t : g.initializers) use(t.name, constants_[t.name] = &t);
    for (const onnx::ValueInfo& v : g.inputs) names_.insert(std::string(v.name));
    for (const onnx::Node& n : g.nodes) {
      for (const std::string_view name : n.outputs) names_.insert(std::string(name));
    }
  }

  onnx::Edits run(std::vector<std::string>* twins) {
    edits_.opset = task_.plan.opset;
    for (size_t i = 0; i < task_.plan.nodes.size(); ++i) {
      std::string output = task_.plan.nodes[i].output;
      if (beside_) {
        output = fresh(output + "_of_integers");
        twins->push_back(output);
      }
      if (!task_.floats.contains(i)) quantize(task_.plan.nodes[i], output);
    }
    if (!beside_) drop_unread();
    return std::move(edits_);
  }

 private:
  void use(std::string_view name, const onnx::Tensor*) { names_.insert(std::string(name)); }

  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  std::vector<float> constant(std::string_view name) const {
    return floats_of(*constants_.at(name));
  }

  FloatWeights weights_of(const PlannedNode& p) const {
    FloatWeights out{floats_of(*p.weights), {}};
    if (p.bias) out.bias = floats_of(*p.bias);
    if (p.norm < 0) return out;
    const onnx::Node& norm = task_.model.graph.nodes[static_cast<size_t>(p.norm)];
    float epsilon = kEpsilon;
    for (const onnx::Attribute& a : norm.attributes) {
      if (a.name == "epsilon") epsilon = a.f;
    }
    const std::vector<float> scale = constant(norm.inputs[1]), shift = constant(norm.inputs[2]),
                             mean = constant(norm.inputs[3]), variance = constant(norm.inputs[4]);
    out.bias.resize(scale.size());
    const size_t each = out.weights.size() / scale.size();
    for (size_t c = 0; c < scale.size(); ++c) {
      const float by = scale[c] / std::sqrt(variance[c] + epsilon);
      for (size_t i = 0; i < each; ++i) out.weights[c * each + i] *= by;
      out.bias[c] = (out.bias[c] - mean[c]) * by + shift[c];
    }
    return out;
  }

  /// Adds the integers for the weights; `scales` are those of the channels. The name of what
  /// dequantizes them.
  std::string add_weights(const PlannedNode& p, const std::vector<float>& weights,
                          std::vector<float>& scales, std::vector<onnx::NewNode>& before) {
    const std::vector<int64_t>& dims = p.weights->dims;
    size_t inner = 1;
    for (size_t d = p.axis + 1; d < dims.size(); ++d) inner *= static_cast<size_t>(dims[d]);
    const auto channels = static_cast<size_t>(dims[p.axis]);
    scales.assign(channels, 0);
    for (size_t i = 0; i < weights.size(); ++i) {
      float& most = scales[i / inner % channels];
      most = std::max(most, std::fabs(weights[i]));
    }
    for (float& s : scales) {
      s /= kMostWeight;
      if (!std::isnormal(s)) s = 1;
    }
    std::vector<int8_t> numbers(weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const float q = std::nearbyint(weights[i] / scales[i / inner % channels]);
      numbers[i] = static_cast<int8_t>(std::clamp(q, -kMostWeight, kMostWeight));
    }
    const auto count = static_cast<int64_t>(channels);
    const std::string own = p.norm < 0 ? p.weight : p.weight + "_" + p.name;
    const std::string q = fresh(own + "_quantized"), s = fresh(own + "_scale"),
                      z = fresh(own + "_zero_point"), made = fresh(own + "_dequantized");
    edits_.tensors.push_back(new_tensor(q, onnx::DataType::kInt8, dims, numbers));
    edits_.tensors.push_back(new_tensor(s, onnx::DataType::kFloat, {count}, scales));
    edits_.tensors.push_back(
        new_tensor(z, onnx::DataType::kInt8, {count}, std::vector<int8_t>(channels)));
    before.push_back({"DequantizeLinear", made, {q, s, z}, {made}, static_cast<int64_t>(p.axis)});
    return made;
  }

  /// A bias as 32 bits of the scale that sums have; as floats where it has no place there.
  std::string add_bias(const PlannedNode& p, const std::vector<float>& bias,
                       const std::vector<float>& scales, std::vector<onnx::NewNode>& before) {
    const auto count = static_cast<int64_t>(bias.size());
    const float by = task_.inputs.at(p.input).scale;
    std::vector<float> each(bias.size());
    std::vector<int32_t> numbers(bias.size());
    bool fits = true;
    for (size_t c = 0; c < bias.size(); ++c) {
      each[c] = scales[c] * by;
      const double q = std::nearbyint(static_cast<double>(bias[c]) / each[c]);
      fits &= std::isnormal(each[c]) && std::fabs(q) <= std::numeric_limits<int32_t>::max();
      numbers[c] = fits ? static_cast<int32_t>(q) : 0;
    }
    const std::string own = p.name + "_bias";
    if (!fits) {
      const std::string name = fresh(own);
      edits_.tensors.push_back(new_tensor(name, onnx::DataType::kFloat, {count}, bias));
      return name;
    }
    const std::string q = fresh(own + "_quantized"), s = fresh(own + "_scale"),
                      made = fresh(own + "_dequantized");
    edits_.tensors.push_back(new_tensor(q, onnx::DataType::kInt32, {count}, numbers));
    edits_.tensors.push_back(new_tensor(s, onnx::DataType::kFloat, {count}, each));
    before.push_back({"DequantizeLinear", made, {q, s}, {made}, 0});
    return made;
  }

  /// The tensor that a node reads, through 8 bits.
  std::string input(const PlannedNode& p, std::vector<onnx::NewNode>& before) {
    const auto known = rounded_.find(p.input);
    if (known != rounded_.end()) return known->second;
    const Affine& a = task_.inputs.at(p.input);
    const std::string s = fresh(p.input + "_scale"), z = fresh(p.input + "_zero_point"),
                      q = fresh(p.input + "_quantized"), made = fresh(p.input + "_dequantized");
    edits_.tensors.push_back(
        new_tensor(s, onnx::DataType::kFloat, {}, std::vector<float>{a.scale}));
    edits_.tensors.push_back(
        new_tensor(z, onnx::DataType::kUint8, {}, std::vector<uint8_t>{a.zero}));
    before.push_back({"QuantizeLinear", q, {p.input, s, z}, {q}, {}});
    before.push_back({"DequantizeLinear", made, {q, s, z}, {made}, {}});
    return rounded_[p.input] = made;
  }

  void quantize(const PlannedNode& p, const std::string& output) {
    onnx::NodeChange change;
    const onnx::Node& node = task_.model.graph.nodes[p.node];
    const auto shared = weights_.find(p.weight);
    const bool again = p.norm < 0 && shared != weights_.end() && shared->second.axis == p.axis;
    const FloatWeights own = weights_of(p);
    std::vector<float> scales;
    std::string weights;
    change.inputs.push_back(input(p, change.before));
    if (again) {
      weights = shared->second.name;
      scales = shared->second.scales;
    } else {
      weights = add_weights(p, own.weights, scales, change.before);
      if (p.norm < 0) weights_[p.weight] = {weights, p.axis, scales};
    }
    change.inputs.push_back(weights);
    if (!own.bias.empty()) {
      change.inputs.push_back(add_bias(p, own.bias, scales, change.before));
    } else if (node.inputs.size() > 2) {
      change.inputs.push_back(std::string(node.inputs[2]));
    }
    change.outputs = {output};
    change.kept = beside_;
    edits_.nodes[p.node] = std::move(change);
    if (p.norm >= 0 && !beside_) edits_.nodes[static_cast<size_t>(p.norm)].removed = true;
  }

  /// Initializers that nothing reads any longer.
  void drop_unread() {
    std::set<std::string_view> before, after;
    const onnx::Graph& g = task_.model.graph;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      before.insert(g.nodes[i].inputs.begin(), g.nodes[i].inputs.end());
      const auto at = edits_.nodes.find(i);
      if (at == edits_.nodes.end()) {
        after.insert(g.nodes[i].inputs.begin(), g.nodes[i].inputs.end());
      } else if (!at->second.removed) {
        after.insert(at->second.inputs.begin(), at->second.inputs.end());
      }
    }
    for (const onnx::ValueInfo& v : g.outputs) after.insert(v.name);
    for (const onnx::Tensor& t : g.initializers) {
      if (before.contains(t.name) && !after.contains(t.name)) edits_.dropped.emplace(t.name);
    }
  }

  struct Shared {
    std::string name;
    size_t axis;
    std::vector<float> scales;
  };

  const QuantizeTask& task_;
  bool beside_;
  std::map<std::string_view, const onnx::Tensor*> constants_;
  std::set<std::string> names_;
  std::map<std::string, std::string> rounded_;  ///< inputs through 8 bits, by their names
  std::map<std::string, Shared> weights_;       ///< by the names of the float ones
  onnx::Edits edits_;
};

}  // namespace

onnx::Edits quantizing_edits(const QuantizeTask& task) {
  return EditsMaker(task, false).run(nullptr);
}

onnx::Edits twin_edits(const QuantizeTask& task, std::vector<std::string>& twins) {
  return EditsMaker(task, true).run(&twins);
}

}  // namespace hone::runtime
