// SPDX-License-Identifier: Apache-2.0
// Problems as primitives of oneDNN 2 or 3, by the names of the library's ops.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <unordered_map>

#include "bench/peer.h"
#include "bench/peers/onednn_versions.h"

namespace hone::bench {
namespace {

using dnnl::memory;
using DnnlDesc = memory::desc;
using DnnlDims = memory::dims;
constexpr auto kDnnlInference = dnnl::prop_kind::forward_inference;

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine kEngine(dnnl::engine::kind::cpu, 0);
  return kEngine;
}
dnnl::stream& dnnl_stream() {
  static dnnl::stream kStream(dnnl_engine());
  return kStream;
}

/// An argument of a primitive: a parameter of the problem, perhaps stored anew.
struct DnnlArgument {
  int id;              ///< oneDNN's, DNNL_ARG_SRC
  size_t param;        ///< of the fixture
  DnnlDesc given;      ///< how it lies in the fixture
  DnnlDesc wanted;     ///< how the primitive takes it
  bool again = false;  ///< stored anew at each call, not once
};

/// A primitive and what it is called with.
struct DnnlPlan {
  dnnl::primitive primitive;
  std::string kernel;
  std::vector<DnnlArgument> arguments;  ///< the result is the last
};

/// What plans are made of.
struct DnnlTask {
  const OperandSet& set;
  bool packed;  ///< weights are constant
  bool free;    ///< tensors may be stored in any order

  const jit::TensorView& view(size_t i) const { return set.params()[i]; }
  size_t last() const { return set.params().size() - 1; }
  DnnlDesc given(size_t i) const { return given(i, DnnlDims(view(i).shape)); }
  /// The parameter as a tensor of other dims in the same memory.
  DnnlDesc given(size_t i, const DnnlDims& dims) const;
  /// The same, or any order in its place.
  DnnlDesc any_if(bool any, const DnnlDesc& d) const {
    return any ? DnnlDesc(dims_of(d), type_of(d), memory::format_tag::any) : d;
  }
  int64_t number(const char* name, int64_t otherwise) const {
    return number_of(set.problem(), name, otherwise);
  }
};

/// The library's name of a type; throws where it has none.
memory::data_type dnnl_type_of(DType type) {
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
      throw dnnl::error(dnnl_unimplemented, "no such type");
  }
}

DnnlDesc DnnlTask::given(size_t i, const DnnlDims& dims) const {
  const jit::TensorView& v = view(i);
  if (dims == v.shape) return {dims, dnnl_type_of(v.type), DnnlDims(v.strides)};
  DnnlDims strides(dims.size(), 1);
  for (size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  return {dims, dnnl_type_of(v.type), strides};
}

/// A product, with what follows it: nothing, a bias, a bias and a function of the sum.
DnnlPlan plan_product(const DnnlTask& t, dnnl::algorithm after) {
  const bool bias = t.last() == 3;
  const DnnlDesc x = t.given(0), w = t.given(1), y = t.given(t.last());
  dnnl::primitive_attr attributes;
  if (after != dnnl::algorithm::undef) {
    dnnl::post_ops ops;
    append_function(ops, after, 0, 0);
    attributes.set_post_ops(ops);
  }
  const DnnlDesc any = t.any_if(t.packed, w);
  const DnnlDesc b = bias ? t.given(2, {1, t.view(2).shape[0]}) : DnnlDesc();
  const auto pd = bias ? described<dnnl::matmul>(dnnl_engine(), attributes, x, any, b, y)
                       : described<dnnl::matmul>(dnnl_engine(), attributes, x, any, y);
  DnnlPlan plan{dnnl::matmul(pd),
                pd.impl_info_str(),
                {{DNNL_ARG_SRC, 0, x, x}, {DNNL_ARG_WEIGHTS, 1, w, pd.weights_desc()}}};
  if (bias) plan.arguments.push_back({DNNL_ARG_BIAS, 2, b, b});
  plan.arguments.push_back({DNNL_ARG_DST, t.last(), y, y});
  return plan;
}

/// A convolution; of a channel each where the filters have three dims.
DnnlPlan plan_convolution(const DnnlTask& t) {
  const std::vector<int64_t>& f = t.view(1).shape;
  const bool depthwise = f.size() == 3;
  const DnnlDesc x = t.given(0), b = t.given(2), y = t.given(3);
  const DnnlDesc w = depthwise ? t.given(1, {f[0], 1, 1, f[1], f[2]}) : t.given(1);
  const int64_t s = t.number("S", 1), p = t.number("P", 0), dilation = t.number("D", 1) - 1;
  const DnnlDims strides{s, s}, dilations{dilation, dilation}, padding{p, p};
  const auto pd = described<dnnl::convolution_forward>(
      dnnl_engine(), {}, kDnnlInference, dnnl::algorithm::convolution_auto, t.any_if(t.free, x),
      t.any_if(true, w), b, t.any_if(t.free, y), strides, dilations, padding, padding);
  return {dnnl::convolution_forward(pd),
          pd.impl_info_str(),
          {{DNNL_ARG_SRC, 0, x, pd.src_desc()},
           {DNNL_ARG_WEIGHTS, 1, w, pd.weights_desc()},
           {DNNL_ARG_BIAS, 2, b, b},
           {DNNL_ARG_DST, 3, y, pd.dst_desc()}}};
}

/// A primitive that takes the first parameter to the last, each as it lies.
template <class Primitive>
DnnlPlan plan_one_to_one(const DnnlTask& t, const typename Primitive::primitive_desc& pd,
                         const DnnlDesc& y) {
  const DnnlDesc x = t.given(0);
  return {
      Primitive(pd), pd.impl_info_str(), {{DNNL_ARG_SRC, 0, x, x}, {DNNL_ARG_DST, t.last(), y, y}}};
}

DnnlPlan plan_pooling(const DnnlTask& t, dnnl::algorithm algorithm, bool whole) {
  const DnnlDesc x = t.given(0);
  const DnnlDims in = dims_of(x);
  const DnnlDesc y = whole ? t.given(1, {in[0], in[1], 1, 1}) : t.given(1);
  const DnnlDims windows =
      whole ? DnnlDims{in[2], in[3]} : DnnlDims{t.number("A", 2), t.number("B", 2)};
  const int64_t s = whole ? 1 : t.number("S", 2), p = whole ? 0 : t.number("P", 0);
  const DnnlDims strides{s, s}, padding{p, p}, dilation{0, 0};
  return plan_one_to_one<DnnlPooling>(
      t,
      described<DnnlPooling>(dnnl_engine(), {}, kDnnlInference, algorithm, x, y, strides, windows,
                             dilation, padding, padding),
      y);
}

DnnlPlan plan_elementwise(const DnnlTask& t, dnnl::algorithm algorithm) {
  return plan_one_to_one<dnnl::eltwise_forward>(
      t, described_function(dnnl_engine(), algorithm, t.given(0), 1, 0), t.given(1));
}

DnnlPlan plan_soft_maximum(const DnnlTask& t, dnnl::algorithm algorithm) {
  const DnnlDesc x = t.given(0), y = t.given(1);
  return plan_one_to_one<DnnlSoftmax>(
      t, described<DnnlSoftmax>(dnnl_engine(), {}, kDnnlInference, algorithm, x, y, 1), y);
}

DnnlPlan plan_layernorm(const DnnlTask& t) {
  using dnnl::normalization_flags;
  const DnnlDesc x = t.given(0), g = t.given(1), b = t.given(2);
  const auto eps = static_cast<float>(t.set.scalars()[0]);
  const auto pd = described_layernorm(
      dnnl_engine(), x, eps, normalization_flags::use_scale | normalization_flags::use_shift);
  return {dnnl::layer_normalization_forward(pd),
          pd.impl_info_str(),
          {{DNNL_ARG_SRC, 0, x, x},
           {DNNL_ARG_SCALE, 1, g, g},
           {DNNL_ARG_SHIFT, 2, b, b},
           {DNNL_ARG_DST, 3, x, x}}};
}

/// A reduction of the dim `axis` of a matrix.
DnnlPlan plan_reduction(const DnnlTask& t, dnnl::algorithm algorithm, size_t axis) {
  DnnlDims left = t.view(0).shape;
  left[axis] = 1;
  const DnnlDesc y = t.given(1, left);
  return plan_one_to_one<dnnl::reduction>(
      t, described<dnnl::reduction>(dnnl_engine(), {}, algorithm, t.given(0), y, 0.0f, 0.0f), y);
}

/// The same elements in another order: dim i of the result is dim `order[i]` of the operand.
DnnlPlan plan_permutation(const DnnlTask& t, const std::vector<size_t>& order) {
  const DnnlDesc x = t.given(0);
  DnnlDims strides(order.size());
  for (size_t i = 0; i < order.size(); ++i) strides[order[i]] = t.view(1).strides[i];
  const DnnlDesc y(dims_of(x), type_of(x), strides);
  const dnnl::reorder::primitive_desc pd(dnnl_engine(), x, dnnl_engine(), y);
  return {
      dnnl::reorder(pd), pd.impl_info_str(), {{DNNL_ARG_FROM, 0, x, x}, {DNNL_ARG_TO, 1, y, y}}};
}

using DnnlPlanner = std::function<DnnlPlan(const DnnlTask&)>;

const std::map<std::string, DnnlPlanner>& dnnl_planners() {
  using A = dnnl::algorithm;
  const auto bare = [](const DnnlTask& t) { return plan_product(t, A::undef); };
  const auto each = [](A a) { return [a](const DnnlTask& t) { return plan_elementwise(t, a); }; };
  const auto reduce = [](A a, size_t axis) {
    return [a, axis](const DnnlTask& t) { return plan_reduction(t, a, axis); };
  };
  const auto pool = [](A a, bool whole) {
    return [a, whole](const DnnlTask& t) { return plan_pooling(t, a, whole); };
  };
  const auto soft = [](A a) { return [a](const DnnlTask& t) { return plan_soft_maximum(t, a); }; };
  const auto permute = [](std::vector<size_t> order) {
    return [order](const DnnlTask& t) { return plan_permutation(t, order); };
  };
  static const std::map<std::string, DnnlPlanner> kPlanners = {
      {"matmul", bare},
      {"matmul_i8", bare},
      {"matmul_u8i8", bare},
      {"batched_matmul", bare},
      {"fc", bare},
      {"fc_gelu", [](const DnnlTask& t) { return plan_product(t, A::eltwise_gelu_erf); }},
      {"fc_relu", [](const DnnlTask& t) { return plan_product(t, A::eltwise_relu); }},
      {"conv2d", plan_convolution},
      {"depthwise_conv2d", plan_convolution},
      {"max_pool2d", pool(A::pooling_max, false)},
      {"avg_pool2d", pool(A::pooling_avg_include_padding, false)},
      {"global_avg_pool", pool(A::pooling_avg_include_padding, true)},
      {"relu", each(A::eltwise_relu)},
      {"gelu", each(A::eltwise_gelu_erf)},
      {"gelu_tanh", each(A::eltwise_gelu_tanh)},
      {"tanh", each(A::eltwise_tanh)},
      {"silu", each(A::eltwise_swish)},
      {"sigmoid", each(A::eltwise_logistic)},
      {"exp", each(A::eltwise_exp)},
      {"log", each(A::eltwise_log)},
      {"softmax", soft(A::softmax_accurate)},
      {"log_softmax", soft(A::softmax_log)},
      {"layernorm", plan_layernorm},
      {"row_sum", reduce(A::reduction_sum, 1)},
      {"row_max", reduce(A::reduction_max, 1)},
      {"row_mean", reduce(A::reduction_mean, 1)},
      {"column_sum", reduce(A::reduction_sum, 0)},
      {"column_max", reduce(A::reduction_max, 0)},
      {"transpose", permute({1, 0})},
      {"nchw_to_nhwc", permute({0, 2, 3, 1})},
      {"nhwc_to_nchw", permute({0, 3, 1, 2})},
      {"split_heads", permute({0, 2, 1, 3})},
      {"swap_outer", permute({1, 0, 2})},
      {"rotate_dims", permute({2, 0, 1})},
      {"reverse_dims", permute({3, 2, 1, 0})},
  };
  return kPlanners;
}

void dnnl_copy(memory from, memory to) {
  dnnl::reorder(from, to).execute(dnnl_stream(), from, to);
  dnnl_stream().wait();
}

/// Primitives on one set of operands, one after the other.
struct DnnlCall {
  using Arguments = std::vector<std::pair<int, memory>>;
  struct Step {
    dnnl::primitive primitive;
    std::vector<memory> memories;  ///< that the arguments name
    std::vector<dnnl_exec_arg_t> arguments;
  };
  std::vector<Step> steps;
  memory result, outside;  ///< where the result is, and where the fixture has it

  void add(const dnnl::primitive& primitive, const Arguments& arguments) {
    Step& step = steps.emplace_back(Step{primitive, {}, {}});
    for (const auto& [id, m] : arguments) {
      step.memories.push_back(m);
      step.arguments.push_back({id, m.get()});
    }
  }
  void add_reorder(const memory& from, const memory& to) {
    add(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }

  void operator()() const {
    for (const Step& s : steps) {
      dnnl_primitive_execute(s.primitive.get(), dnnl_stream().get(),
                             static_cast<int>(s.arguments.size()), s.arguments.data());
    }
  }
};

/// A plan on one set of operands. With `reorders` each call stores operand and result anew, else
/// operands are there already.
DnnlCall call_of(const DnnlPlan& plan, const OperandSet& set, bool reorders) {
  DnnlCall call;
  DnnlCall::Arguments arguments;
  for (const DnnlArgument& a : plan.arguments) {
    call.outside = memory(a.given, dnnl_engine(), set.params()[a.param].data);
    call.result = call.outside;
    if (a.given != a.wanted) {
      call.result = memory(a.wanted, dnnl_engine());
      dnnl_copy(call.outside, call.result);
      if (reorders && a.id == DNNL_ARG_SRC) call.add_reorder(call.outside, call.result);
    }
    arguments.emplace_back(a.id, call.result);
  }
  call.add(plan.primitive, arguments);
  if (reorders && call.result.get() != call.outside.get()) {
    call.add_reorder(call.result, call.outside);
    call.result = call.outside;
  }
  return call;
}

Prepared prepare_plan(const PeerTask& task, const DnnlPlan& plan, bool reorders) {
  std::vector<DnnlCall> calls;
  for (const OperandSet& set : task.sets) calls.push_back(call_of(plan, set, reorders));
  const memory result = calls[0].result, outside = calls[0].outside;
  Prepared p{.run = in_turns(std::move(calls))};
  if (result.get() != outside.get()) {
    p.deliver = [result, outside] { dnnl_copy(result, outside); };
  }
  p.kernel = plan.kernel + (reorders ? " and reorders" : "");
  return p;
}

/// Attention head by head: a product, softmax and a product, through scores that all heads share.
Prepared prepare_attention(const PeerTask& task) {
  const OperandSet& first = task.sets[0];
  const auto& p = first.params();
  const int64_t rows = p[0].shape[2], columns = p[1].shape[2];
  const auto head = [&](size_t i, bool turned) {
    const jit::TensorView& v = p[i];
    const DnnlDims shape{v.shape[2], v.shape[3]}, strides{v.strides[2], v.strides[3]};
    if (!turned) return DnnlDesc(shape, dnnl_type_of(v.type), strides);
    return DnnlDesc({shape[1], shape[0]}, dnnl_type_of(v.type), {strides[1], strides[0]});
  };
  const DnnlDesc q = head(0, false), k = head(1, true), v = head(2, false), o = head(3, false);
  const DnnlDesc s({rows, columns}, type_of(q), memory::format_tag::ab);
  dnnl::post_ops scale;
  append_function(scale, dnnl::algorithm::eltwise_linear, static_cast<float>(first.scalars()[0]),
                  0);
  dnnl::primitive_attr scaled;
  scaled.set_post_ops(scale);
  const auto scores = described<dnnl::matmul>(dnnl_engine(), scaled, q, k, s);
  const auto mix = described<dnnl::matmul>(dnnl_engine(), {}, s, v, o);
  const dnnl::matmul first_product(scores), second_product(mix);
  const DnnlSoftmax softmax(described<DnnlSoftmax>(dnnl_engine(), {}, kDnnlInference,
                                                   dnnl::algorithm::softmax_accurate, s, s, 1));
  const memory between(s, dnnl_engine());
  std::vector<DnnlCall> calls;
  for (const OperandSet& set : task.sets) {
    DnnlCall& call = calls.emplace_back();
    const auto at = [&](size_t i, const DnnlDesc& d, int64_t b, int64_t h) {
      const jit::TensorView& view = set.params()[i];
      float* const data = static_cast<float*>(view.data);
      return memory(d, dnnl_engine(), data + b * view.strides[0] + h * view.strides[1]);
    };
    for (int64_t b = 0; b < p[0].shape[0]; ++b) {
      for (int64_t h = 0; h < p[0].shape[1]; ++h) {
        call.add(first_product, {{DNNL_ARG_SRC, at(0, q, b, h)},
                                 {DNNL_ARG_WEIGHTS, at(1, k, b, h)},
                                 {DNNL_ARG_DST, between}});
        call.add(softmax, {{DNNL_ARG_SRC, between}, {DNNL_ARG_DST, between}});
        call.add(second_product, {{DNNL_ARG_SRC, between},
                                  {DNNL_ARG_WEIGHTS, at(2, v, b, h)},
                                  {DNNL_ARG_DST, at(3, o, b, h)}});
      }
    }
  }
  return {.run = in_turns(std::move(calls)), .kernel = scores.impl_info_str()};
}

/// Seconds of the fastest of a few runs.
double seconds_of(Prepared& p) {
  using Clock = std::chrono::steady_clock;
  p.run(1);
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = Clock::now();
    p.run(1);
    least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return least;
}

Prepared prepare_onednn(const PeerTask& task) {
  const OperandSet& first = task.sets[0];
  const std::string& name = first.problem().op.name();
  const auto planner = dnnl_planners().find(name);
  if (planner == dnnl_planners().end() && name != "attention") return {};
  bool constant = false;
  for (const ir::Buffer& b : first.problem().program.buffers) constant |= b.constant;
  try {
    if (name == "attention") return prepare_attention(task);
    const DnnlTask as_is{first, constant, task.free_layout};
    Prepared p = prepare_plan(task, planner->second(as_is), false);
    if (task.free_layout || !name.ends_with("conv2d")) return p;
    // Its kernels for blocked channels are often worth two reorders.
    Prepared q = prepare_plan(task, planner->second({first, constant, true}), true);
    return seconds_of(q) < seconds_of(p) ? q : p;
  } catch (const dnnl::error&) {
    return {};
  }
}

const char* dnnl_name_of(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return "of other instructions";
  }
}

std::string about_onednn() {
  const dnnl_version_t& v = *dnnl_version();
  return fmt::format("{}.{}.{}, kernels {}", v.major, v.minor, v.patch,
                     dnnl_name_of(dnnl::get_effective_cpu_isa()));
}

}  // namespace

extern const Peer kOneDnn;
const Peer kOneDnn = {"oneDNN", prepare_onednn, about_onednn};

}  // namespace hone::bench
