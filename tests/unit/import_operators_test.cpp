// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX's later releases as ops, and what is told of those that have none.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/import_models.h"

namespace hone::tests::models {

using ops::import_onnx;

namespace {

onnx::ValueInfo typed(onnx::ValueInfo info, onnx::DataType type) {
  info.type = type;
  return info;
}

onnx::Node with_float(onnx::Node n, std::string_view name, float value) {
  onnx::Attribute a;
  a.name = name;
  a.f = value;
  a.floats = {value, 2 * value};
  n.attributes.push_back(a);
  return n;
}

}  // namespace

TEST_CASE("import: constants of floats are numbers") {
  const std::string text =
      text_of(model({tensor("a", {3})},
                    {with_float(node("Constant", {}, {"c"}), "value_float", 0.5F),
                     node("CastLike", {"c", "a"}, {"d"}), node("Mul", {"a", "d"}, {"y"})},
                    "y"));
  CHECK(says(text, "Y[i0] = A[i0] * 0.5"));
  const std::string list =
      text_of(model({tensor("a", {2})},
                    {with_float(node("Constant", {}, {"c"}), "value_floats", 0.5F),
                     node("Mul", {"a", "c"}, {"y"})},
                    "y"));
  CHECK(says(list, "const c: f32[2]"));
  const std::string none =
      text_of(model({}, {with_word(node("Constant", {}, {"y"}), "value_string", "s")}, "y"));
  CHECK(says(none, "Constant `y`: its value is neither a tensor nor numbers"));
}

TEST_CASE("import: casts to floats of 8 bits saturate, and those to 4 bits round") {
  const auto cast = [](onnx::DataType to, int64_t saturate) {
    return text_of(model({tensor("x", {3})},
                         {node("Cast", {"x"}, {"y"},
                               {{"to", {static_cast<int64_t>(to)}}, {"saturate", {saturate}}})},
                         "y"));
  };
  CHECK(says(cast(onnx::DataType::kFloat8E5M2, 1),
             "Y[i0] = cast<f8e5m2>(max(-57344.0, min(57344.0, A[i0])))"));
  CHECK(says(cast(onnx::DataType::kFloat8E5M2, 0), "Y[i0] = cast<f8e5m2>(A[i0])"));
  CHECK(says(cast(onnx::DataType::kFloat8E4M3FN, 1), "Y[i0] = cast<f8e4m3>(A[i0])"));
  CHECK(says(cast(onnx::DataType::kFloat8E4M3FN, 0),
             "Y[i0] = cast<f8e4m3>(select(abs(A[i0]) > 464.0, nan, A[i0]))"));
  CHECK(says(cast(onnx::DataType::kInt4, 1), "Y[i0] = cast<i4>(round(A[i0]))"));
  CHECK(says(cast(onnx::DataType::kFloat8E4M3FNUZ, 1),
             "Cast `y`: the language has no type for float8e4m3fnuz"));
}

TEST_CASE("import: old casts name their types") {
  const auto cast = [](std::string_view to) {
    return text_of(
        model({tensor("x", {3})}, {with_word(node("Cast", {"x"}, {"y"}), "to", to)}, "y"));
  };
  CHECK(says(cast("DOUBLE"), "Y[i0] = cast<f64>(A[i0])"));
  CHECK(says(cast("UINT64"), "Cast `y`: the language has no type for uint64"));
  CHECK(says(cast("NUMBER"), "Cast `y`: to the type `NUMBER`"));
}

TEST_CASE("import: elements of 4 bits get rows of whole bytes") {
  // 1, -2, 3 and 4, -5, 6, side by side from the low bits on.
  onnx::Tensor packed;
  packed.name = "w";
  packed.type = onnx::DataType::kInt4;
  packed.dims = {2, 3};
  packed.elements = 6;
  packed.data = std::string_view("\xe1\x43\x6b", 3);
  const std::string rows = ops::rows_of_packed(packed);
  CHECK(rows == std::string_view("\xe1\x03\xb4\x06", 4));
  CHECK(ops::side_by_side(rows, DType::kI4, packed.dims, 6) == packed.data);
  onnx::ValueInfo x = typed(tensor("x", {2, 3}), onnx::DataType::kInt4);
  onnx::Model m =
      model({tensor("s", {})}, {node("DequantizeLinear", {"w", "s"}, {"y"})}, "y", {packed});
  const auto graph = import_onnx(m);
  REQUIRE_MESSAGE(graph, (graph ? "" : graph.failure().message));
  REQUIRE(graph->weights.size() == 1);
  CHECK(graph->weights[0].type == DType::kI4);
  CHECK(graph->weights[0].data == rows);
  // Numbers that are known are packed as well, wrapped as the type has them.
  onnx::Model known =
      model({x}, {node("Cast", {"k"}, {"c"}, {{"to", {22}}}), node("Add", {"x", "c"}, {"y"})}, "y",
            {integers("k", {7, 8, -1})});
  const auto made = import_onnx(known);
  REQUIRE_MESSAGE(made, (made ? "" : made.failure().message));
  REQUIRE(made->weights.size() == 1);
  CHECK(made->weights[0].data == std::string_view("\x87\x0f", 2));
}

TEST_CASE("import: scales of tensors, of axes and of blocks") {
  const auto quantized = [](const std::vector<int64_t>& scale, int64_t block) {
    return text_of(model({tensor("x", {3, 5}), tensor("s", scale)},
                         {node("QuantizeLinear", {"x", "s"}, {"y"},
                               {{"axis", {1}}, {"block_size", {block}}, {"output_dtype", {5}}})},
                         "y"));
  };
  CHECK(says(quantized({}, 0),
             "Y[i0,i1] = cast<i16>(max(-32768.0, min(32767.0, round(cast<f32>(X[i0,i1])/S[]))))"));
  CHECK(says(quantized({5}, 0), "round(cast<f32>(X[i0,i1])/S[i1])"));
  CHECK(says(quantized({3, 3}, 2), "(X: f32[D0,5], S: f32[D0,3])"));
  CHECK(says(quantized({3, 3}, 2), "round(cast<f32>(X[i0,i1])/S[i0,i1/2])"));
  CHECK(says(quantized({3, 2}, 2),
             "QuantizeLinear `y`: 5 elements in blocks of 2, and scales [3,2] of [3,5]"));
  CHECK(says(quantized({2, 3}, 2), "and scales [2,3] of [3,5]"));
  CHECK(says(quantized({3, 2}, 0),
             "QuantizeLinear `y`: scales or zero points of 2 dims and blocks of 0"));
  onnx::Model wide =
      model({tensor("x", {3}), tensor("s", {})},
            {node("QuantizeLinear", {"x", "s"}, {"y"}, {{"output_dtype", {6}}})}, "y");
  CHECK(says(text_of(wide),
             "QuantizeLinear `y`: to i32, which is neither an integer of at most 16 bits nor a "
             "float of 8"));
  onnx::Model whole =
      model({typed(tensor("x", {3}), onnx::DataType::kInt8), tensor("s", {})},
            {node("DequantizeLinear", {"x", "s"}, {"y"}, {{"output_dtype", {6}}})}, "y");
  CHECK(says(text_of(whole), "DequantizeLinear `y`: to integers"));
}

TEST_CASE("import: grids, moved taps and images of blocks") {
  const auto told = [](const onnx::Node& n) {
    return text_of(
        model({tensor("x", {1, 6, 5, 5}), tensor("t", {2, 2, 3}), tensor("w", {4, 3, 2, 2}),
               tensor("o", {1, 16, 4, 4}), tensor("c", {2, 12, 16}), tensor("v", {1, 2, 3, 4, 5}),
               tensor("g", {1, 2, 2, 2, 3})},
              {n}, "y",
              {integers("size", {2, 3, 4, 5}), integers("flat", {2, 3}), integers("image", {5, 5}),
               integers("block", {2, 2})}));
  };
  CHECK(says(told(node("AffineGrid", {"t", "size"}, {"y"})),
             "Y[i0,i1,i2,i3] = T[i0,i3,1]*(cast<f32>(2*i1 + 1)/cast<f32>(4) - 1) + "
             "T[i0,i3,0]*(cast<f32>(2*i2 + 1)/cast<f32>(5) - 1) + T[i0,i3,2]"));
  CHECK(says(told(node("AffineGrid", {"t", "flat"}, {"y"})),
             "AffineGrid `y`: functions of a grid of 0 dims"));
  CHECK(says(told(node("Col2Im", {"c", "image", "block"}, {"y"})),
             "(X: f32[D0,12,16]) -> (Y: f32[D0,3,5,5])"));
  CHECK(says(told(node("Col2Im", {"c", "image", "block"}, {"y"}, {{"strides", {2, 2}}})),
             "Col2Im `y`: 4 blocks of 4 elements do not fit its input"));
  CHECK(says(told(node("Col2Im", {"c", "size", "block"}, {"y"})),
             "blocks, strides, dilations or pads are of another rank than the image"));
  CHECK(says(
      told(node("DeformConv", {"x", "w", "o"}, {"y"}, {{"group", {2}}, {"offset_group", {2}}})),
      "O[i0,(g*4 + (r0)*2 + r1)*2 + 1,i2,i3]"));
  CHECK(says(told(node("DeformConv", {"x", "w", "o"}, {"y"}, {{"group", {2}}})),
             "DeformConv `y`: 6 channels, 4 weights and 16 offsets do not fit"));
  CHECK(says(told(node("GridSample", {"v", "g"}, {"y"}, {{"align_corners", {1}}})),
             "X[i0,i1,zj[i0,i2,i3,i4,a],yj[i0,i2,i3,i4,b],xj[i0,i2,i3,i4,c]] else 0"));
  CHECK(says(told(node("GridSample", {"x", "g"}, {"y"})),
             "GridSample `y`: samples of an input of 4 dims by a grid of 5"));
  CHECK(says(told(node("LpPool", {"x"}, {"y"}, {{"kernel_shape", {2, 2}}, {"p", {0}}})),
             "LpPool `y`: a norm by the power 0"));
}

TEST_CASE("import: borders that repeat what there is") {
  const auto padded = [](std::string_view mode, std::vector<int64_t> pads) {
    return text_of(model({tensor("x", {3})},
                         {with_word(node("Pad", {"x", "pads"}, {"y"}), "mode", mode)}, "y",
                         {integers("pads", pads)}));
  };
  CHECK(says(padded("wrap", {4, 1}), "Y[i0] = X[(i0 - 4)%3] else 0"));
  CHECK(says(padded("reflect", {1, 2}), "Y[i0] = X[min(abs(i0 - 1), 4 - abs(i0 - 1))] else 0"));
  CHECK(says(padded("reflect", {5, 0}), "Y[i0] = X[min((i0 - 5)%4, 4 - (i0 - 5)%4)] else 0"));
  CHECK(says(padded("mirror", {1, 1}), "Pad `y`: padding of mode mirror"));
  CHECK(says(padded("constant", {-2, -2}), "Pad `y`: it cuts more than there is"));
  // What calls tell stands in the border as well.
  const std::string given =
      text_of(model({tensor("x", {3}), tensor("f", {1})}, {node("Pad", {"x", "pads", "f"}, {"y"})},
                    "y", {integers("pads", {1, 1})}));
  CHECK(says(given, "(X: f32[3], F: f32[1]) -> (Y: f32[5]) { Y[i0] = X[i0 - 1] else F[0] }"));
}

TEST_CASE("import: quotients of signed integers are cut") {
  const auto divided = [](onnx::DataType type) {
    return text_of(model({typed(tensor("x", {3}), type), typed(tensor("z", {3}), type)},
                         {node("Div", {"x", "z"}, {"y"})}, "y"));
  };
  CHECK(says(divided(onnx::DataType::kInt32),
             "Y[i0] = select((A[i0] % B[i0] != 0) && ((A[i0] < 0) != (B[i0] < 0)), A[i0] / B[i0] + "
             "1, A[i0] / B[i0])"));
  CHECK(says(divided(onnx::DataType::kUint8), "Y[i0] = A[i0] / B[i0] }"));
  CHECK(says(divided(onnx::DataType::kFloat), "Y[i0] = A[i0] / B[i0] }"));
}

TEST_CASE("import: remainders of floats have the dividend's sign") {
  const auto told = [](int64_t fmod) {
    return text_of(model({tensor("x", {2, 3}), tensor("z", {3})},
                         {node("Mod", {"x", "z"}, {"y"}, {{"fmod", {fmod}}})}, "y"));
  };
  CHECK(says(told(1), "r: f64[t in 0..10,i0,i1]"));
  CHECK(says(told(0), "Mod `y`: remainders of floats with the divisor's sign"));
}

TEST_CASE("import: functions of the host make tensors whose size data tell") {
  const std::string places =
      text_of(model({tensor("x", {-1, 3})},
                    {node("NonZero", {"x"}, {"p"}), node("Transpose", {"p"}, {"y"})}, "y"));
  CHECK(says(places, "p[i0 in 0..2,i1 in 0..p_size] = nonzero(x)"));
  CHECK(says(places, "[i0 in 0..p_size,i1 in 0..2]"));
  const std::string slices =
      text_of(model({tensor("x", {-1, 3})}, {node("Unique", {"x"}, {"y"}, {{"axis", {-1}}})}, "y"));
  CHECK(says(slices, "_, _, _ = unique<axis=1, sorted=1>(x)"));
  // Sizes of such a tensor are its dims.
  CHECK(says(text_of(model({tensor("x", {-1, 3})},
                           {node("NonZero", {"x"}, {"p"}), node("Shape", {"p"}, {"s"}),
                            node("Gather", {"s", "one"}, {"n"}), node("Expand", {"v", "n"}, {"y"})},
                           "y", {integers("one", {1}), floats("v", {7})})),
             "y[i0 in 0..p_size]"));
  // Limits that are known say how many there may be.
  CHECK(says(text_of(model({tensor("b", {1, 8, 4}), tensor("s", {1, 2, 8})},
                           {node("NonMaxSuppression", {"b", "s", "most"}, {"y"})}, "y",
                           {integers("most", {3})})),
             "non_max_suppression<center=0, limit=3>(b, s, most"));
  CHECK(says(text_of(model({tensor("x", {})}, {node("NonZero", {"x"}, {"y"})}, "y")),
             "NonZero `y`: its input has no dims"));
}

TEST_CASE("import: of a branch that is known the nodes stand in the graph") {
  onnx::Graph then, otherwise;
  then.nodes = {node("Relu", {"x"}, {"p"})};
  then.outputs = {tensor("p", {})};
  otherwise.nodes = {node("Multinomial", {"z"}, {"q"}), node("Neg", {"q"}, {"r"})};
  otherwise.outputs = {tensor("r", {})};
  onnx::Node branch = node("If", {"c"}, {"y"});
  for (const auto& [name, graph] : {std::pair{"then_branch", then}, {"else_branch", otherwise}}) {
    onnx::Attribute a;
    a.name = name;
    a.graphs = {graph};
    branch.attributes.push_back(a);
  }
  const auto told = [&](int64_t by) {
    return text_of(model({tensor("x", {3}), tensor("w", {3})},
                         {node("Exp", {"w"}, {"z"}), node("Less", {"one", "by"}, {"c"}), branch},
                         "y", {integers("one", {1}), integers("by", {by})}));
  };
  // What the other branch alone needs is not made.
  const std::string taken = told(2);
  CHECK(says(taken, "p[i0 in 0..3] = onnx_relu(x)"));
  CHECK(taken.find("onnx_exp") == std::string::npos);
  CHECK(says(told(0), "Multinomial `q`: there is no op for it"));
  const std::string open =
      text_of(model({tensor("x", {3}), tensor("c", {})}, {branch}, "y", {integers("z", {1})}));
  CHECK(says(open, "If `y`: its conditions are not known before a call"));
}

TEST_CASE("import: names of a branch end with it") {
  onnx::Graph then;
  then.initializers = {integers("k", {9})};
  then.nodes = {node("Add", {"k", "k"}, {"p"})};
  then.outputs = {tensor("p", {})};
  onnx::Node branch = node("If", {"c"}, {"q"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::Attribute a;
    a.name = name;
    a.graphs = {then};
    branch.attributes.push_back(a);
  }
  // Sizes are known, so text has what they are: 3 of the graph's k, 18 of the branch's.
  const std::string told =
      text_of(model({tensor("x", {1})},
                    {node("Less", {"one", "two"}, {"c"}), branch, node("Add", {"k", "q"}, {"n"}),
                     node("Expand", {"x", "n"}, {"y"})},
                    "y", {integers("k", {3}), integers("one", {1}), integers("two", {2})}));
  CHECK(says(told, "(y_out: f32[21])"));
}

TEST_CASE("import: windows end with the padding, and none begins behind the input") {
  const auto pooled = [](const char* op, std::vector<int64_t> pads, int64_t stride, int64_t n) {
    return text_of(model({tensor("x", {1, 1, n})},
                         {node(op, {"x"}, {"y"},
                               {{"kernel_shape", {2}},
                                {"strides", {stride}},
                                {"pads", pads},
                                {"ceil_mode", {1}},
                                {"count_include_pad", {1}}})},
                         "y"));
  };
  CHECK(says(pooled("AveragePool", {0, 0}, 2, 5), "/cast<f32>(min(2, (5 - (2*i2) + 0)/1))"));
  CHECK(says(pooled("AveragePool", {0, 0}, 2, 6), "/cast<f32>(2)"));
  CHECK(says(pooled("MaxPool", {0, 3}, 3, 2), "(y_out: f32[1,1,1])"));
  CHECK(says(pooled("MaxPool", {0, 1}, 2, 5), "(y_out: f32[1,1,3])"));
  const auto word = [](onnx::Node n, std::string_view name, std::string_view value) {
    return text_of(model({tensor("x", {1, 1, 5})}, {with_word(std::move(n), name, value)}, "y"));
  };
  CHECK(says(word(node("MaxPool", {"x"}, {"y"}, {{"kernel_shape", {2, 2}}}), "auto_pad", "SAME"),
             "MaxPool `y`"));
  CHECK(says(text_of(model({tensor("x", {2, 3})}, {node("GlobalMaxPool", {"x"}, {"y"})}, "y")),
             "GlobalMaxPool `y`: its input has no dims to go over"));
}

TEST_CASE("import: tensors may have names of indices") {
  const std::string told =
      text_of(model({tensor("i0", {2, 3})}, {node("Abs", {"i0"}, {"i1"})}, "i1"));
  CHECK(says(told, "graph onnx(i0_: f32[2,3]) -> (i1_out: f32[2,3])"));
}

TEST_CASE("import: borders of bools, ranges of large numbers, scales that do not fit") {
  const auto padded = [](const char* mode) {
    return text_of(model({typed(tensor("x", {3}), onnx::DataType::kBool)},
                         {with_word(node("Pad", {"x", "pads"}, {"y"}), "mode", mode)}, "y",
                         {integers("pads", {1, 1})}));
  };
  CHECK(says(padded("constant"), "Y[i0] = X[i0 - 1] else false"));
  CHECK(says(padded("edge"), "else false"));
  const int64_t large = int64_t{1} << 50;
  CHECK(says(
      text_of(model({tensor("x", {1})},
                    {node("Range", {"a", "b", "c"}, {"r"}), node("Expand", {"x", "r"}, {"y"})}, "y",
                    {integers("a", {large}), integers("b", {large + 3}), integers("c", {1})})),
      "Range `r`: a range of integers beyond 2^40"));
  CHECK(says(text_of(model({typed(tensor("x", {2, 5}), onnx::DataType::kUint8), tensor("s", {3})},
                           {node("DequantizeLinear", {"x", "s"}, {"y"}, {{"axis", {1}}})}, "y")),
             "DequantizeLinear `y`: 3 scales or zero points of 5 elements along axis 1"));
}

}  // namespace hone::tests::models
