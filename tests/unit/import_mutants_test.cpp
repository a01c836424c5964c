// SPDX-License-Identifier: Apache-2.0
// Nodes of any operator with inputs, shapes and attributes at random: each is imported or refused.
#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/graph.h"
#include "ops/import/import.h"
#include "tests/support/effort.h"

namespace onnx = hone::onnx;
using hone::ops::import_onnx;
using namespace hone::tests;

namespace {

/// Attributes that operators have, by what they are.
constexpr std::string_view kInts[] = {"axis",
                                      "axes",
                                      "kernel_shape",
                                      "strides",
                                      "pads",
                                      "dilations",
                                      "group",
                                      "keepdims",
                                      "perm",
                                      "transA",
                                      "transB",
                                      "split",
                                      "num_outputs",
                                      "allowzero",
                                      "ceil_mode",
                                      "auto_pad",
                                      "output_shape",
                                      "output_padding",
                                      "to",
                                      "broadcast",
                                      "blocksize",
                                      "k",
                                      "largest",
                                      "sorted",
                                      "exclusive",
                                      "reverse",
                                      "select_last_index",
                                      "start",
                                      "end",
                                      "batch_dims",
                                      "upper",
                                      "hidden_size",
                                      "layout",
                                      "linear_before_reset",
                                      "starts",
                                      "ends",
                                      "noop_with_empty_axes",
                                      "count_include_pad",
                                      "storage_order",
                                      "stash_type",
                                      "size",
                                      "epsilon",
                                      "p",
                                      "onesided",
                                      "time_axis",
                                      "batch_axis",
                                      "align_corners",
                                      "antialias",
                                      "shape",
                                      "value_ints",
                                      "ignore_index",
                                      "num_groups",
                                      "training_mode",
                                      "output_height",
                                      "block_size",
                                      "saturate",
                                      "output_dtype",
                                      "offset_group",
                                      "fmod",
                                      "exclude_outside",
                                      "paddings"};
constexpr std::string_view kFloats[] = {
    "alpha",       "beta",          "epsilon",       "gamma", "bias",
    "value_float", "cubic_coeff_a", "spatial_scale", "lambd", "norm_coefficient"};
constexpr std::string_view kWords[] = {
    "auto_pad",     "mode",        "direction",  "coordinate_transformation_mode",
    "nearest_mode", "reduction",   "equation",   "rounding",
    "padding_mode", "approximate", "activations"};
constexpr std::string_view kValues[] = {"SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "NOTSET",
                                        "constant",
                                        "reflect",
                                        "edge",
                                        "wrap",
                                        "linear",
                                        "nearest",
                                        "cubic",
                                        "half_pixel",
                                        "asymmetric",
                                        "align_corners",
                                        "pytorch_half_pixel",
                                        "tf_crop_and_resize",
                                        "floor",
                                        "ceil",
                                        "round_prefer_floor",
                                        "round_prefer_ceil",
                                        "add",
                                        "mul",
                                        "max",
                                        "min",
                                        "none",
                                        "mean",
                                        "sum",
                                        "ij,jk->ik",
                                        "bhqd,bkhd->bhqk",
                                        "...i->...",
                                        "ii->i",
                                        "i,",
                                        "->",
                                        "forward",
                                        "reverse",
                                        "bidirectional",
                                        "DCR",
                                        "CRD",
                                        "zeros",
                                        "border",
                                        "tanh",
                                        "Tanh",
                                        "Sigmoid",
                                        "",
                                        "\xff"};

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}

  onnx::Model model() {
    texts_.clear();
    onnx::Model m;
    m.opsets = {{"", below(4) == 0 ? 1 + static_cast<int64_t>(below(22)) : 17}};
    const std::vector<std::string_view> ops = hone::ops::imported_operators();
    std::vector<std::string_view> values;
    for (size_t i = below(5); i-- > 0;) {
      values.push_back(name("x"));
      m.graph.inputs.push_back(info(values.back()));
    }
    for (size_t i = below(4); i-- > 0;) {
      values.push_back(name("w"));
      m.graph.initializers.push_back(tensor(values.back()));
    }
    for (size_t i = 1 + below(3); i-- > 0;) {
      onnx::Node n;
      n.op_type = ops[below(ops.size())];
      for (size_t k = below(6); k-- > 0 && !values.empty();) {
        n.inputs.push_back(below(8) == 0 ? "" : values[below(values.size())]);
      }
      for (size_t k = 1 + below(3); k-- > 0;) n.outputs.push_back(name("y"));
      for (size_t k = below(5); k-- > 0;) n.attributes.push_back(attribute());
      if (n.op_type == "If") add_branches(n, values);
      for (const std::string_view y : n.outputs) values.push_back(y);
      m.graph.nodes.push_back(std::move(n));
    }
    onnx::ValueInfo out;
    out.name = values.back();
    m.graph.outputs = {out};
    return m;
  }

 private:
  size_t below(size_t end) { return static_cast<size_t>(random_() % end); }

  std::string_view name(const char* letter) {
    texts_.push_back(letter + std::to_string(texts_.size()));
    return texts_.back();
  }

  /// Branches of one node each, one of which may be missing or have no output.
  void add_branches(onnx::Node& n, const std::vector<std::string_view>& values) {
    for (const std::string_view called : {"then_branch", "else_branch"}) {
      if (below(8) == 0) continue;
      onnx::Node inner;
      inner.op_type = "Neg";
      if (!values.empty()) inner.inputs.push_back(values[below(values.size())]);
      inner.outputs.push_back(name("b"));
      onnx::Attribute a;
      a.name = called;
      a.kind = onnx::AttributeKind::kGraph;
      a.graphs.emplace_back();
      a.graphs[0].nodes.push_back(inner);
      for (size_t i = 0; i < n.outputs.size() && below(10) != 0; ++i) {
        onnx::ValueInfo out;
        out.name = inner.outputs[0];
        a.graphs[0].outputs.push_back(out);
      }
      n.attributes.push_back(std::move(a));
    }
  }

  int64_t number() {
    switch (below(12)) {
      case 0:
        return INT64_MIN + static_cast<int64_t>(below(2));
      case 1:
        return INT64_MAX - static_cast<int64_t>(below(2));
      case 2:
        return int64_t{1} << below(63);
      default:
        return static_cast<int64_t>(below(8)) - 3;
    }
  }

  int64_t extent() {
    return below(30) == 0 ? int64_t{1} << below(60) : static_cast<int64_t>(below(6));
  }

  onnx::DataType type() {
    constexpr onnx::DataType kTypes[] = {
        onnx::DataType::kFloat,  onnx::DataType::kFloat, onnx::DataType::kFloat,
        onnx::DataType::kInt64,  onnx::DataType::kInt32, onnx::DataType::kUint8,
        onnx::DataType::kInt8,   onnx::DataType::kBool,  onnx::DataType::kFloat16,
        onnx::DataType::kDouble, onnx::DataType::kInt4,  onnx::DataType::kFloat8E5M2};
    return kTypes[below(std::size(kTypes))];
  }

  onnx::ValueInfo info(std::string_view called) {
    onnx::ValueInfo v;
    v.name = called;
    v.kind = onnx::ValueInfo::kTensor;
    v.type = type();
    v.has_shape = below(20) != 0;
    for (size_t i = below(5); i-- > 0;) {
      onnx::Dim d;
      d.kind = below(6) == 0 ? onnx::Dim::kParameter : onnx::Dim::kValue;
      d.value = d.kind == onnx::Dim::kValue ? extent() : 0;
      if (d.kind == onnx::Dim::kParameter) d.parameter = below(3) == 0 ? "seq" : "batch";
      v.shape.push_back(d);
    }
    return v;
  }

  onnx::Tensor tensor(std::string_view called) {
    onnx::Tensor t;
    t.name = called;
    t.type = type();
    t.elements = 1;
    for (size_t i = below(4); i-- > 0;) {
      t.dims.push_back(static_cast<int64_t>(below(5)));
      t.elements *= t.dims.back();
    }
    std::string data(static_cast<size_t>(onnx::bytes_of(t.type, t.elements)), '\0');
    for (size_t i = 0; i + 8 <= data.size() && t.type == onnx::DataType::kInt64; i += 8) {
      const int64_t x = number();
      std::memcpy(data.data() + i, &x, sizeof x);
    }
    for (size_t i = 0; i + 4 <= data.size() && t.type == onnx::DataType::kFloat; i += 4) {
      const float x =
          below(6) == 0 ? static_cast<float>(number()) : static_cast<float>(below(9)) / 4;
      std::memcpy(data.data() + i, &x, sizeof x);
    }
    if (t.type == onnx::DataType::kBool) {
      for (char& c : data) c = static_cast<char>(below(2));
    }
    texts_.push_back(std::move(data));
    t.data = texts_.back();
    return t;
  }

  onnx::Attribute attribute() {
    onnx::Attribute a;
    const size_t kind = below(8);
    if (kind == 0) {
      a.name = kFloats[below(std::size(kFloats))];
      a.f = static_cast<float>(number()) / 4;
      a.floats = {a.f};
      a.kind = onnx::AttributeKind::kFloat;
    } else if (kind < 3) {
      a.name = kWords[below(std::size(kWords))];
      a.s = kValues[below(std::size(kValues))];
      a.strings = {a.s};
      a.kind = onnx::AttributeKind::kString;
    } else if (kind == 3) {
      a.name = "value";
      a.tensors = {tensor("")};
      a.kind = onnx::AttributeKind::kTensor;
    } else {
      a.name = kInts[below(std::size(kInts))];
      for (size_t i = below(5); i-- > 0;) a.ints.push_back(number());
      a.i = number();
      a.kind = below(2) == 0 ? onnx::AttributeKind::kInt : onnx::AttributeKind::kInts;
    }
    return a;
  }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;  ///< what the model's views point to
};

}  // namespace

TEST_CASE("import: models at random are imported or refused") {
  const auto seed = static_cast<uint64_t>(setting("HONE_FUZZ_SEED", 1));
  const auto count =
      static_cast<uint64_t>(setting("HONE_IMPORT_MUTANTS", by_effort(2000, 10'000, 100'000)));
  uint64_t imported = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Maker maker(seed * 1'000'003 + i);
    const onnx::Model model = maker.model();
    const auto graph = import_onnx(model);
    if (!graph) {
      CHECK(graph.failure().code != hone::ErrorCode::kInternal);
      continue;
    }
    ++imported;
    // Types that an operator does not take are told by the text.
    const auto parsed = hone::ops::parse_graph(graph->text);
    CHECK((parsed || parsed.failure().code != hone::ErrorCode::kInternal));
  }
  // Both happen, or what is drawn says little.
  CHECK(imported > count / 50);
  CHECK(imported < count);
}
