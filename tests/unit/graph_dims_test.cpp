// SPDX-License-Identifier: Apache-2.0
// Dims of graphs whose names are those of dims of ops, of groups, and of indices.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "include/hone/model.h"
#include "ops/replaced_dims.h"

using hone::DType;
using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::TensorRef;

namespace {

/// What a graph of one input makes of counting numbers, fused and node by node.
std::vector<float> result_of(const std::string& text, const std::string& dims,
                             std::vector<int64_t> in, std::vector<int64_t> out, bool fuse) {
  Engine engine(hone::EngineOptions{.cache = ":memory:", .threads = 1});
  const auto count = [](const std::vector<int64_t>& shape) {
    int64_t n = 1;
    for (const int64_t e : shape) n *= e;
    return static_cast<size_t>(n);
  };
  std::vector<float> x(count(in)), y(count(out), -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const Model model = engine.load_graph(text, ModelOptions{.dims = dims, .fuse = fuse});
  model({{"x", TensorRef(x.data(), DType::kF32, in)}},
        {{"y", TensorRef(y.data(), DType::kF32, out)}});
  return y;
}

}  // namespace

TEST_CASE("graph dims: dims of an op are replaced all at once") {
  const auto turned = [](const std::string& name) {
    return name == "H" ? hone::ir::make_dim("W") : hone::ir::make_dim(name == "W" ? "H" : name);
  };
  // A product by 1 folds to a dim that the op has as well.
  const hone::ir::Expr h = hone::ir::make_dim("H"), w = hone::ir::make_dim("W");
  CHECK(hone::ir::print(hone::ops::replaced_dims(h * hone::ir::make_int(1), turned)) == "W");
  CHECK(hone::ir::print(hone::ops::replaced_dims(h * hone::ir::make_int(2) + w, turned)) ==
        hone::ir::print(w * hone::ir::make_int(2) + h));
  CHECK(!hone::ops::replaced_dims(h, [](const std::string&) { return hone::ir::Expr(); }));
}

TEST_CASE("graph dims: the user's names may be those of the op in another order") {
  const char* const text = "graph g(x: f32[N,C,W,H]) -> (y) { a = relu(x); y = max_pool2d(a) }";
  for (const bool fuse : {false, true}) {
    for (const char* dims : {"N=1 C=1 W=10 H=4", "N=1 C=1 W=2..10 H=2..8"}) {
      CHECK(result_of(text, dims, {1, 1, 10, 4}, {1, 1, 5, 2}, fuse) ==
            std::vector<float>{6, 8, 14, 16, 22, 24, 30, 32, 38, 40});
    }
    const char* const numbered =
        "graph g(x: f32[D1,D2,D3,D4]) -> (y) { a = relu(x); y = max_pool2d(a) }";
    CHECK(result_of(numbered, "D1=1 D2=1 D3=2..10 D4=4", {1, 1, 4, 4}, {1, 1, 2, 2}, fuse) ==
          std::vector<float>{6, 8, 14, 16});
  }
}

TEST_CASE("graph dims: a dim may have the name of an index of the group") {
  const char* const text =
      "op scaled(X: f32[N], a: f32) -> (Y: f32[N]) { Y[i] = a*X[i] }\n"
      "graph g(x: f32[i0,2]) -> (y) { a[k,l] = scaled(x, cast<f32>(k)); y = relu(a) }";
  for (const bool fuse : {false, true}) {
    for (const char* dims : {"i0=3", "i0=1..3"}) {
      CHECK(result_of(text, dims, {3, 2}, {3, 2}, fuse) == std::vector<float>{0, 0, 3, 4, 10, 12});
    }
  }
}

TEST_CASE("graph dims: ops repeated over further dims, some of one element") {
  // Windows that are not padded: extents fold to those of the input.
  const char* const text = "graph g(x: f32[2,1,4,9,8]) -> (y) { a = tanh(x); y = max_pool2d(a) }";
  const std::vector<float> apart = result_of(text, "", {2, 1, 4, 9, 8}, {2, 1, 4, 4, 4}, false);
  CHECK(result_of(text, "", {2, 1, 4, 9, 8}, {2, 1, 4, 4, 4}, true) == apart);
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  CHECK(engine.try_load_graph(
      "graph g(x: f32[2,2,4,9,8], w: f32[5,4,3,3], b: f32[5]) -> (y) { y = conv2d(x,w,b) }"));
}
