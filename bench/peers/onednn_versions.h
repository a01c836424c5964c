// SPDX-License-Identifier: Apache-2.0
// What differs between the interfaces of oneDNN 2 and 3: how a primitive is described.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace hone::bench {

#if DNNL_VERSION_MAJOR == 2

using DnnlPooling = dnnl::pooling_v2_forward;
using DnnlSoftmax = dnnl::softmax_v2_forward;

/// A primitive as the library would run it.
template <class Primitive, class... Args>
typename Primitive::primitive_desc described(const dnnl::engine& engine,
                                             const dnnl::primitive_attr& attributes,
                                             const Args&... args) {
  return {typename Primitive::desc(args...), attributes, engine};
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& d) { return d.dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& d) { return d.data_type(); }

inline void append_function(dnnl::post_ops& ops, dnnl::algorithm f, float alpha, float beta) {
  ops.append_eltwise(1.0f, f, alpha, beta);
}

inline dnnl::eltwise_forward::primitive_desc described_function(const dnnl::engine& engine,
                                                                dnnl::algorithm f,
                                                                const dnnl::memory::desc& x,
                                                                float alpha, float beta) {
  return {{dnnl::prop_kind::forward_inference, f, x, alpha, beta}, engine};
}

inline dnnl::layer_normalization_forward::primitive_desc described_layernorm(
    const dnnl::engine& engine, const dnnl::memory::desc& x, float epsilon,
    dnnl::normalization_flags flags) {
  return {{dnnl::prop_kind::forward_inference, x, epsilon, flags}, engine};
}

#else

using DnnlPooling = dnnl::pooling_forward;
using DnnlSoftmax = dnnl::softmax_forward;

template <class Primitive, class... Args>
typename Primitive::primitive_desc described(const dnnl::engine& engine,
                                             const dnnl::primitive_attr& attributes,
                                             const Args&... args) {
  return {engine, args..., attributes};
}

inline dnnl::memory::dims dims_of(const dnnl::memory::desc& d) { return d.get_dims(); }
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& d) { return d.get_data_type(); }

inline void append_function(dnnl::post_ops& ops, dnnl::algorithm f, float alpha, float beta) {
  ops.append_eltwise(f, alpha, beta);
}

inline dnnl::eltwise_forward::primitive_desc described_function(const dnnl::engine& engine,
                                                                dnnl::algorithm f,
                                                                const dnnl::memory::desc& x,
                                                                float alpha, float beta) {
  return {engine, dnnl::prop_kind::forward_inference, f, x, x, alpha, beta};
}

inline dnnl::layer_normalization_forward::primitive_desc described_layernorm(
    const dnnl::engine& engine, const dnnl::memory::desc& x, float epsilon,
    dnnl::normalization_flags flags) {
  return {engine, dnnl::prop_kind::forward_inference, x, x, epsilon, flags};
}

#endif

}  // namespace hone::bench
