// SPDX-License-Identifier: Apache-2.0
// Models of ONNX as graphs: what becomes of nodes, what is known before a call, what is told.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/import_models.h"

namespace hone::tests::models {

TEST_CASE("import: elements broadcast, and equal nodes are one op") {
  const std::string text =
      text_of(model({tensor("a", {-1, 3, 4}), tensor("b", {3, 1})},
                    {node("Add", {"a", "b"}, {"c"}), node("Add", {"c", "b"}, {"d"})}, "d"));
  CHECK(says(text,
             "op onnx_add(A: f32[D0,D1,D2], B: f32[D1,1]) -> (Y: f32[D0,D1,D2]) { "
             "Y[i0,i1,i2] = A[i0,i1,i2] + B[i1,0] }"));
  CHECK(!says(text.substr(0, text.find("onnx_output")), "onnx_add_2"));
  CHECK(says(text, "graph onnx(a: f32[batch,3,4], b: f32[3,1]) -> (d_out: f32[batch,3,4])"));
}

TEST_CASE("import: what is computed of shapes is known before a call") {
  const std::string text = text_of(model(
      {tensor("a", {2, 3, 4})},
      {node("Shape", {"a"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
       node("Concat", {"n", "rest"}, {"t"}, {{"axis", {0}}}), node("Reshape", {"a", "t"}, {"y"})},
      "y", {integers("zero", {0}), integers("rest", {-1})}));
  CHECK(says(text, "-> (y_out: f32[2,12])"));
  CHECK(!says(text.substr(text.find("graph")), "const"));
}

TEST_CASE("import: what is computed of sizes that calls tell are sizes") {
  const auto with = [](std::vector<onnx::Node> nodes) {
    return text_of(model({tensor("a", {-1, 6, 8}), tensor("p", {1, 512, 8})}, std::move(nodes), "y",
                         {integers("zero", {0}), integers("two", {2}), integers("four", {4}),
                          integers("all", {-1}), integers("one", {1})}));
  };
  const onnx::Node shape = node("Shape", {"a"}, {"s"}),
                   first = node("Gather", {"s", "zero"}, {"b"});
  // (2*batch, -1, 4) of (batch, 6, 8).
  CHECK(says(with({shape, first, node("Mul", {"b", "two"}, {"m"}),
                   node("Concat", {"m", "all", "four"}, {"t"}, {{"axis", {0}}}),
                   node("Reshape", {"a", "t"}, {"y"})}),
             "a dim that calls tell is taken apart"));
  CHECK(says(with({shape, first, node("Concat", {"b", "all", "four"}, {"t"}, {{"axis", {0}}}),
                   node("Reshape", {"a", "t"}, {"y"})}),
             "-> (y_out: f32[batch,12,4])"));
  // As many places as there are rows.
  CHECK(says(with({shape, first, node("Slice", {"p", "zero", "b", "one"}, {"y"})}),
             "y[i0 in 0..1,i1 in 0..batch,i2 in 0..8] = onnx_slice(p)"));
  CHECK(says(with({shape, first, node("Sub", {"b", "one"}, {"m"}),
                   node("Concat", {"m", "one", "one"}, {"t"}, {{"axis", {0}}}),
                   node("Expand", {"zero", "t"}, {"y"})}),
             "[i0 in 0..batch - 1,i1 in 0..1,i2 in 0..1]"));
  CHECK(says(with({shape, node("Add", {"s", "s"}, {"y"})}), "no op here is for"));
}

TEST_CASE("import: windows and groups of channels") {
  const std::string text =
      text_of(model({tensor("x", {1, 4, 8, 8}), tensor("w", {6, 2, 3, 3})},
                    {node("Conv", {"x", "w"}, {"y"},
                          {{"group", {2}}, {"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}})},
                    "y"));
  CHECK(says(text,
             "sum[c in 0..2,r0,r1]((X[i0,2*(i1/3) + c,2*i2 + r0 - 1,2*i3 + r1 - 1] else 0) * "
             "W[i1,c,r0,r1])"));
  CHECK(says(text, "(y_out: f32[1,6,4,4])"));
}

TEST_CASE("import: sizes that calls tell are halved, cut, padded and put together") {
  // Where both ways come to one size, their results are added.
  const std::string text = text_of(
      model({tensor("x", {1, 4, -1, 8}), tensor("w", {4, 4, 3, 3}), tensor("v", {4, 4, 1, 1}),
             tensor("z", {1, 4, -1, 5})},
            {node("Conv", {"x", "w"}, {"a"}, {{"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}}),
             node("Conv", {"x", "v"}, {"b"}, {{"strides", {2, 2}}}), node("Add", {"a", "b"}, {"c"}),
             node("MaxPool", {"c"}, {"d"}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}),
             node("ConvTranspose", {"d", "w"}, {"e"}, {{"strides", {2, 2}}}),
             node("Concat", {"e", "z", "e"}, {"f"}, {{"axis", {2}}}),
             node("Unsqueeze", {"f", "zero"}, {"y"})},
            "y", {integers("zero", {0})}));
  CHECK(says(text, "i2 in 0..((batch + 1)/2),i3 in 0..4]"));
  CHECK(says(text, "i2 in 0..(((batch + 1)/2)/2),i3 in 0..2]"));
  CHECK(says(text, "2*(((batch + 1)/2)/2) + 1"));
  CHECK(says(text, "select(i2 < (L0 + L1), X1[i0,i1,i2 - L0,i3], X2[i0,i1,i2 - (L0 + L1),i3])"));
  const std::string cut =
      text_of(model({tensor("x", {6, -1})},
                    {node("Slice", {"x", "from", "to", "axes"}, {"a"}),
                     node("Pad", {"a", "pads", "fill"}, {"y"})},
                    "y",
                    {integers("from", {1}), integers("to", {-2}), integers("axes", {1}),
                     integers("pads", {0, 1, 0, 0}), floats("fill", {0})}));
  CHECK(says(cut, "i1 in 0..batch - 3]"));
  CHECK(says(cut, "i1 in 0..batch - 2]"));
}

TEST_CASE("import: all that has no op is told, what follows from it is not") {
  onnx::Model m = model(
      {tensor("x", {2, 3})},
      {node("Multinomial", {"x"}, {"p"}), node("Relu", {"p"}, {"q"}), node("Loop", {"x"}, {"r"}),
       node("Reshape", {"x", "x"}, {"y"}), node("Scan", {"x"}, {"unused"})},
      "y");
  m.graph.outputs.push_back(tensor("q", {}));
  m.graph.outputs.push_back(tensor("r", {}));
  const std::string told = text_of(m);
  CHECK(says(told, "Multinomial `p`: there is no op for it"));
  CHECK(told.find("Scan") == std::string::npos);
  CHECK(says(told, "Loop `r`: there is no op for it"));
  CHECK(says(told, "Reshape `y`: its dims are not known before a call"));
  CHECK(told.find("Relu") == std::string::npos);
  onnx::Model other =
      model({tensor("x", {2, 3}), tensor("z", {4, 3})},
            {node("Add", {"x", "z"}, {"y"}), node("Softmax", {"x"}, {"s"}, {{"axis", {7}}})}, "y");
  other.graph.outputs.push_back(tensor("s", {}));
  const std::string shapes = text_of(other);
  CHECK(says(shapes, "Add `y`: extents 2 and 4 do not broadcast"));
  CHECK(says(shapes, "Softmax `s`: there is no axis 7 of 2"));
}

TEST_CASE("import: images of other sizes, some of which calls tell") {
  const auto resized = [](const std::vector<int64_t>& dims, const std::vector<float>& scales) {
    onnx::ValueInfo x = tensor("x", dims);
    return text_of(model({x}, {with_word(node("Resize", {"x", "", "s"}, {"y"}), "mode", "nearest")},
                         "y", {floats("s", scales)}));
  };
  // Places are fractions: of a scale of 0.6, `(10*p + 2)/6`, and the nearest by halves downwards.
  CHECK(says(resized({-1, 3, 4, 5}, {1, 1, 0.6F, 1}),
             "op onnx_resize(X: f32[D0,D1,4,D3]) -> (Y: f32[D0,D1,2,D3]) { Y[i0,i1,i2,i3] = "
             "X[i0,i1,max(0, min(3, (20*i2 + 9)/12)),i3] }"));
  // A size that calls tell has a whole scale.
  const std::string open = resized({1, 3, -1, 5}, {1, 1, 2, 1});
  CHECK(says(open, "(X: f32[D0,D1,D2,D3]) -> (Y: f32[D0,D1,2*D2,D3])"));
  CHECK(says(open, "(y_out: f32[1,3,2*batch,5])"));
  CHECK(says(resized({1, 3, -1, 5}, {1, 1, 1.5F, 1}),
             "Resize `y`: the size batch is not known before a call"));
  CHECK(says(resized({1, 3, 4, 5}, {1, 1, 2, 1, 1}), "its scales or sizes are of another rank"));
  CHECK(says(text_of(model({tensor("x", {1, 1, 2, 2}), tensor("s", {4})},
                           {node("Resize", {"x", "", "s"}, {"y"})}, "y")),
             "Resize `y`: its scales are not known before a call"));
}

TEST_CASE("import: what a row does not have is told") {
  const auto told = [](const onnx::Node& n) {
    return text_of(
        model({tensor("x", {2, 3, 4, 4}), tensor("z", {2, 3, 4, 2}), tensor("w", {1, 2, 3, 4, 4})},
              {n}, "y", {integers("ids", {0, 1}), integers("many", {9})}));
  };
  CHECK(says(told(with_word(node("GridSample", {"x", "z"}, {"y"}), "mode", "sinc")),
             "samples of mode sinc"));
  CHECK(says(told(node("TopK", {"x", "many"}, {"y", "p"})), "the 9 greatest of 4"));
  CHECK(says(told(node("Det", {"x"}, {"y"})), "determinants of 4 rows"));
  CHECK(says(told(with_word(node("ScatterElements", {"x", "x", "x"}, {"y"}), "reduction", "xor")),
             "updates that are combined by xor"));
  CHECK(says(told(node("RoiAlign", {"x", "z", "ids"}, {"y"})), "regions of other than images"));
  CHECK(says(told(with_word(node("Einsum", {"x", "z"}, {"y"}), "equation", "abcd,abce->abdf")),
             "a letter that no operand has"));
  CHECK(says(told(node("GroupNormalization", {"x", "z", "z"}, {"y"}, {{"num_groups", {2}}})),
             "2 groups of 3 channels"));
  CHECK(says(told(node("LayerNormalization", {"x", "w"}, {"y"})),
             "an input of 5 dims does not broadcast to a result of 4"));
}

TEST_CASE("import: recurrent networks are statements for each direction") {
  onnx::Model m = model(
      {tensor("x", {5, -1, 4}), tensor("w", {2, 6, 4}), tensor("r", {2, 6, 6})},
      {with_word(node("RNN", {"x", "w", "r"}, {"", "y"}), "direction", "bidirectional")}, "y");
  const std::string text = text_of(m);
  CHECK(says(text,
             "h0: f32[t in 0..5,b in 0..N,j in 0..6] = tanh((x0_0[t,b,j] + sum[k in 0..6]("
             "R[0,j,k]*(h0[t - 1,b,k] else 0.0))))"));
  CHECK(says(text, "sum[k in 0..6](R[1,j,k]*(h1[t + 1,b,k] else 0.0))"));
  CHECK(says(text, "YH[w,b,j] = select(w == 0, (h0[4,b,j] else 0.0), (h1[0,b,j] else 0.0))"));
  m.graph.nodes[0].op_type = "LSTM";
  CHECK(says(text_of(m), "LSTM `y`: its weights are of other sizes than its gates"));
}

TEST_CASE("import: floats that are known are computed with") {
  const std::string text = text_of(model(
      {tensor("a", {3})}, {node("Mul", {"one", "half"}, {"m"}), node("Add", {"a", "m"}, {"y"})},
      "y", {floats("one", {1.5F}), floats("half", {0.5F})}));
  CHECK(says(text, "Y[i0] = A[i0] + 0.75"));
  CHECK(text.find("const") == std::string::npos);
}

TEST_CASE("import: rows of ONNX's set for training") {
  onnx::Node step = node("Momentum", {"r", "t", "x", "g", "v"}, {"y", "w"});
  step.domain = "ai.onnx.preview.training";
  onnx::Model m = model(
      {tensor("r", {}), tensor("t", {}), tensor("x", {3}), tensor("g", {3}), tensor("v", {3})},
      {with_word(step, "mode", "standard")}, "y");
  CHECK(
      says(text_of(m), "op onnx_momentum(X: f32[D0], G: f32[D0], R: f32[], T: f32[], V: f32[D0])"));
  m.graph.nodes[0].domain = "";
  CHECK(says(text_of(m), "Momentum `y`: there is no op for it"));
  m.graph.nodes[0].domain = "com.example";
  CHECK(says(text_of(m), "Momentum `y`: its domain is com.example"));
}

TEST_CASE("import: axes that are named are padded or cut") {
  const std::string text =
      text_of(model({tensor("x", {-1, 5, 4})},
                    {node("Pad", {"x", "pads", "", "axes"}, {"p"}),
                     node("CenterCropPad", {"p", "size"}, {"y"}, {{"axes", {-1}}})},
                    "y", {integers("pads", {1, 2}), integers("axes", {1}), integers("size", {7})}));
  CHECK(says(text,
             "(X: f32[D0,5,D2]) -> (Y: f32[D0,8,D2]) { Y[i0,i1,i2] = X[i0,i1 - 1,i2] else 0 }"));
  CHECK(says(text,
             "(X: f32[D0,D1,4]) -> (Y: f32[D0,D1,7]) { Y[i0,i1,i2] = X[i0,i1,i2 - 1] else 0 }"));
}

TEST_CASE("import: a node of several results is one op") {
  onnx::Model m = model({tensor("x", {4, 9})}, {node("TopK", {"x", "k"}, {"y", "p"})}, "y",
                        {integers("k", {3})});
  const std::string one = text_of(m);
  CHECK(says(one, "-> (Y: f32[D0,3])"));
  m.graph.outputs.push_back(tensor("p", {}));
  const std::string both = text_of(m);
  CHECK(says(both, "-> (Y: f32[D0,3], P: i64[D0,3])"));
  CHECK(says(both, "y[i0 in 0..4,i1 in 0..3], p[i0 in 0..4,i1 in 0..3] = onnx_topk(x)"));
}

}  // namespace hone::tests::models
