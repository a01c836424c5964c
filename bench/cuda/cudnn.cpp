// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/outside.h"
#include "bench/cuda/peer.h"

namespace hone::bench {
namespace {

/// What its search says of an algorithm.
struct DnnChoice {
  int algorithm;
  int status;
  float time;
  size_t memory;
  int determinism;
  int math;
  int reserved[3];
};

/// The part of cuDNN that is used, with its interface's numbers.
struct Cudnn {
  OutsideLibrary library{"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"};
  void* handle = nullptr;
  int (*create)(void**) = nullptr;
  int (*set_stream)(void*, void*) = nullptr;
  int (*tensor)(void**) = nullptr;
  int (*tensor_set)(void* desc, int format, int type, int n, int c, int h, int w) = nullptr;
  int (*softmax)(void* handle, int algorithm, int mode, const void* alpha, void* x_desc,
                 const void* x, const void* beta, void* y_desc, void* y) = nullptr;
  int (*filter)(void**) = nullptr;
  int (*filter_set)(void* desc, int type, int format, int k, int c, int h, int w) = nullptr;
  int (*convolution)(void**) = nullptr;
  int (*convolution_set)(void* desc, int pad_h, int pad_w, int stride_h, int stride_w, int dilate_h,
                         int dilate_w, int mode, int type) = nullptr;
  int (*convolution_math)(void* desc, int math) = nullptr;
  int (*search)(void* handle, void* x, void* f, void* convolution, void* y, int wanted, int* found,
                DnnChoice* choices) = nullptr;
  int (*convolve)(void* handle, const void* alpha, void* x_desc, const void* x, void* f_desc,
                  const void* f, void* convolution, int algorithm, void* workspace, size_t bytes,
                  const void* beta, void* y_desc, void* y) = nullptr;

  bool open(void* stream) {
    return library.find("cudnnCreate", create) && library.find("cudnnSetStream", set_stream) &&
           library.find("cudnnCreateTensorDescriptor", tensor) &&
           library.find("cudnnSetTensor4dDescriptor", tensor_set) &&
           library.find("cudnnSoftmaxForward", softmax) &&
           library.find("cudnnCreateFilterDescriptor", filter) &&
           library.find("cudnnSetFilter4dDescriptor", filter_set) &&
           library.find("cudnnCreateConvolutionDescriptor", convolution) &&
           library.find("cudnnSetConvolution2dDescriptor", convolution_set) &&
           library.find("cudnnSetConvolutionMathType", convolution_math) &&
           library.find("cudnnFindConvolutionForwardAlgorithm", search) &&
           library.find("cudnnConvolutionForward", convolve) && create(&handle) == 0 &&
           set_stream(handle, stream) == 0;
  }
};

constexpr float kOne = 1, kZero = 0;

int dnn_type(DType type) {
  return type == DType::kF32 ? 0 : type == DType::kF16 ? 2 : type == DType::kBF16 ? 9 : -1;
}

void describe(const Cudnn& dnn, OutsideCalls& call, void** out, DType type,
              const std::vector<int64_t>& shape) {
  int d[4] = {1, 1, 1, 1};
  for (size_t i = 0; i < shape.size(); ++i) d[i] = static_cast<int>(shape[i]);
  call(dnn.tensor, out);
  call(dnn.tensor_set, *out, 0, dnn_type(type), d[0], d[1], d[2], d[3]);
}

std::function<int(size_t)> softmax(const std::shared_ptr<Cudnn>& dnn,
                                   const std::shared_ptr<GpuOperands>& o) {
  const int algorithm = o->op() == "log_softmax" ? 2 : 1;  // with the row's maximum taken off
  void* desc = nullptr;
  OutsideCalls call;
  describe(*dnn, call, &desc, o->view(0, 0).type, o->view(0, 0).shape);
  if (!call.fine()) return {};
  return [=](size_t set) {
    return dnn->softmax(dnn->handle, algorithm, 0, &kOne, desc, o->data(set, 0), &kZero, desc,
                        o->data(set, 1));
  };
}

/// The convolution without its bias: the peer does a little less than hone.
std::function<int(size_t)> convolution(const std::shared_ptr<Cudnn>& dnn,
                                       const std::shared_ptr<GpuOperands>& o) {
  const jit::TensorView x = o->view(0, 0), f = o->view(0, 1), y = o->view(0, 3);
  const int stride = static_cast<int>(o->parameter("S", 1));
  const int pad = static_cast<int>(o->parameter("P", 0));
  const int dilate = static_cast<int>(o->parameter("D", 1));
  void *xd = nullptr, *fd = nullptr, *yd = nullptr, *cd = nullptr;
  OutsideCalls call;
  describe(*dnn, call, &xd, x.type, x.shape);
  describe(*dnn, call, &yd, y.type, y.shape);
  call(dnn->filter, &fd);
  call(dnn->filter_set, fd, dnn_type(f.type), 0, f.shape[0], f.shape[1], f.shape[2], f.shape[3]);
  call(dnn->convolution, &cd);
  call(dnn->convolution_set, cd, pad, pad, stride, stride, dilate, dilate, 1, 0);
  // In f32 nothing is rounded to tf32; narrow types take the tensor cores.
  call(dnn->convolution_math, cd, x.type == DType::kF32 ? 3 : 1);
  DnnChoice best{};
  int found = 0;
  call(dnn->search, dnn->handle, xd, fd, cd, yd, 1, &found, &best);
  if (!call.fine() || found == 0 || best.status != 0) return {};
  const auto workspace = std::make_shared<PeerWorkspace>(o, best.memory);
  if (workspace->missing()) return {};
  return [=](size_t set) {
    return dnn->convolve(dnn->handle, &kOne, xd, o->data(set, 0), fd, o->data(set, 1), cd,
                         best.algorithm, workspace->data(), best.memory, &kZero, yd,
                         o->data(set, 3));
  };
}

}  // namespace

GpuPeer open_cudnn(void* stream) {
  auto dnn = std::make_shared<Cudnn>();
  GpuPeer peer{"cuDNN", {}};
  if (!dnn->open(stream)) return peer;
  peer.prepare = [dnn](std::shared_ptr<GpuOperands> o) -> std::function<int(size_t)> {
    if (dnn_type(o->view(0, 0).type) < 0) return {};
    const runtime::UseGpu use(o->gpu());
    if (o->op() == "softmax" || o->op() == "log_softmax") return softmax(dnn, o);
    return o->op() == "conv2d" ? convolution(dnn, o) : std::function<int(size_t)>{};
  };
  return peer;
}

}  // namespace hone::bench
