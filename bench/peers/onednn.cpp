// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/peer.h"

namespace hone::bench {
namespace {

using dnnl::memory;
using Args = std::unordered_map<int, memory>;

/// Runs one primitive on fixed memory.
Prepared repeat(dnnl::primitive primitive, Args args, dnnl::engine engine) {
  auto stream = std::make_shared<dnnl::stream>(engine);
  return {[primitive, args, stream](int64_t n) {
    for (int64_t i = 0; i < n; ++i) primitive.execute(*stream, args);
    stream->wait();
  }};
}

memory::desc dense_onednn(std::initializer_list<int64_t> shape,
                          memory::data_type type = memory::data_type::f32) {
  memory::dims strides(shape.size(), 1);
  const std::vector<int64_t> s(shape);
  for (size_t d = s.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * s[d + 1];
  return {memory::dims(s), type, strides};
}

/// The library's name of a type; undef where it has none.
memory::data_type type_of(DType type) {
  switch (type) {
    case DType::kF32:
      return memory::data_type::f32;
    case DType::kBF16:
      return memory::data_type::bf16;
    case DType::kI32:
      return memory::data_type::s32;
    case DType::kI8:
      return memory::data_type::s8;
    case DType::kU8:
      return memory::data_type::u8;
    default:
      return memory::data_type::undef;
  }
}

bool is_dense(const jit::TensorView& v) {
  return v.shape.size() == 2 && v.strides[1] == 1 && v.strides[0] == v.shape[1];
}

/// A plain product of narrow types.
Prepared narrow_product(const runtime::Fixture& fixture, bool packed) {
  const auto& p = fixture.params();
  if (p.size() != 3 || !is_dense(p[0]) || !is_dense(p[1]) || !is_dense(p[2])) return {};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto shaped = [](const jit::TensorView& v) {
    return dense_onednn({v.shape[0], v.shape[1]}, type_of(v.type));
  };
  const memory::desc x = shaped(p[0]), w = shaped(p[1]), y = shaped(p[2]);
  const memory::desc any(w.dims(), type_of(p[1].type), memory::format_tag::any);
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, packed ? any : w, y), engine);
  memory source(w, engine, p[1].data);
  memory used = source;
  if (pd.weights_desc() != w) {
    used = memory(pd.weights_desc(), engine);
    dnnl::stream stream(engine);
    dnnl::reorder(source, used).execute(stream, source, used);
    stream.wait();
  }
  Args args{{DNNL_ARG_SRC, memory(x, engine, p[0].data)},
            {DNNL_ARG_WEIGHTS, used},
            {DNNL_ARG_DST, memory(y, engine, p[2].data)}};
  return repeat(dnnl::matmul(pd), args, engine);
}

/// The weights may be packed ahead, as hone packs constants at bind.
Prepared product(const Product& p, bool packed) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc x = dense_onednn({p.m, p.k}), w = dense_onednn({p.k, p.n}),
                     y = dense_onednn({p.m, p.n});
  const memory::desc bias = dense_onednn({1, p.n});
  const memory::desc any({p.k, p.n}, memory::data_type::f32, memory::format_tag::any);
  dnnl::primitive_attr attributes;
  if (p.gelu) {
    dnnl::post_ops ops;
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    attributes.set_post_ops(ops);
  }
  const memory::desc& weights = packed ? any : w;
  const auto d =
      p.bias ? dnnl::matmul::desc(x, weights, bias, y) : dnnl::matmul::desc(x, weights, y);
  const dnnl::matmul::primitive_desc pd(d, attributes, engine);
  memory source(w, engine, const_cast<float*>(p.w));
  memory used = source;
  if (pd.weights_desc() != w) {
    used = memory(pd.weights_desc(), engine);
    dnnl::stream stream(engine);
    dnnl::reorder(source, used).execute(stream, source, used);
    stream.wait();
  }
  Args args{{DNNL_ARG_SRC, memory(x, engine, const_cast<float*>(p.x))},
            {DNNL_ARG_WEIGHTS, used},
            {DNNL_ARG_DST, memory(y, engine, p.y)}};
  if (p.bias) args[DNNL_ARG_BIAS] = memory(bias, engine, const_cast<float*>(p.bias));
  return repeat(dnnl::matmul(pd), args, engine);
}

Prepared softmax_onednn(const runtime::Fixture& fixture) {
  const auto& p = fixture.params();
  if (p.size() != 2 || p[0].type != DType::kF32 || p[0].shape.size() != 2) return {};
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc x = dense_onednn({p[0].shape[0], p[0].shape[1]});
  const dnnl::softmax_forward::desc d(dnnl::prop_kind::forward_inference, x, 1);
  const dnnl::softmax_forward::primitive_desc pd(d, engine);
  Args args{{DNNL_ARG_SRC, memory(x, engine, p[0].data)},
            {DNNL_ARG_DST, memory(x, engine, p[1].data)}};
  return repeat(dnnl::softmax_forward(pd), args, engine);
}

Prepared prepare_onednn(const runtime::Fixture& fixture) {
  try {
    Product p;
    bool constant = false;
    for (const ir::Buffer& b : fixture.problem().program.buffers) constant |= b.constant;
    if (as_product(fixture, &p)) return product(p, constant);
    const std::string& name = fixture.problem().op.name();
    if (name == "matmul" || name == "matmul_i8" || name == "matmul_u8i8") {
      return narrow_product(fixture, constant);
    }
    if (fixture.problem().op.name() == "softmax") return softmax_onednn(fixture);
  } catch (const dnnl::error&) {
    return {};
  }
  return {};
}

}  // namespace

extern const Peer kOneDnn;
const Peer kOneDnn = {"oneDNN", prepare_onednn};

}  // namespace hone::bench
