// SPDX-License-Identifier: Apache-2.0
// The C interface: kernels and calls.
#include <cstddef>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>

#include "runtime/c/handles.h"

using namespace hone;
using namespace hone::runtime;

hone_kernel::hone_kernel(std::shared_ptr<hone::ThreadPool> p, hone::Kernel k,
                         std::optional<hone::Bound> b)
    : pool(std::move(p)), kernel(std::move(k)), bound(std::move(b)) {
  for (const Param& param : kernel.params()) {
    Shape& shape = shapes.emplace_back();
    for (const Extent& e : param.shape) {
      shape.extents.push_back(e.value);
      shape.dims.push_back(e.text.c_str());
    }
    shape.strides = param.strides;
    params.push_back({param.name.c_str(), static_cast<hone_role>(param.role),
                      static_cast<hone_dtype>(param.type), static_cast<int32_t>(param.shape.size()),
                      param.constant, shape.extents.data(), shape.dims.data(), shape.strides.data(),
                      param.align, param.cold});
  }
}

namespace hone::runtime {
namespace {

Failure missing_of_kernel(const char* what) {
  return Failure{ErrorCode::kArgument, std::string(what) + " is null"};
}

/// A container of the tensor's number of elements; a container makes a tensor flat.
template <class T>
TensorRef flat(const hone_tensor& t) {
  const auto count = static_cast<size_t>(t.shape[0]);
  if (t.read_only) return TensorRef(std::span<const T>(static_cast<const T*>(t.data), count));
  return TensorRef(std::span<T>(static_cast<T*>(t.data), count));
}

TensorRef flat_tensor(const hone_tensor& t) {
  switch (t.type) {
    case HONE_F64:
      return flat<double>(t);
    case HONE_F32:
      return flat<float>(t);
    case HONE_F16:
      return flat<f16>(t);
    case HONE_BF16:
      return flat<bf16>(t);
    case HONE_I64:
      return flat<int64_t>(t);
    case HONE_I32:
      return flat<int32_t>(t);
    case HONE_I16:
      return flat<int16_t>(t);
    case HONE_I8:
      return flat<int8_t>(t);
    case HONE_U8:
      return flat<uint8_t>(t);
    case HONE_BOOL:
      return flat<bool>(t);
    case HONE_F8E4M3:
      return flat<f8e4m3>(t);
    case HONE_F8E5M2:
      return flat<f8e5m2>(t);
    default:
      break;
  }
  return flat<std::byte>(t);
}

/// The caller's tensor; what is wrong with the struct itself otherwise.
Result<TensorRef> tensor_of(const hone_tensor& t) {
  const auto wrong = [](std::string why) { return Failure{ErrorCode::kArgument, std::move(why)}; };
  if (t.type < HONE_F64 || t.type > HONE_U1) {
    return wrong("a hone_tensor has type " + std::to_string(t.type) + ", which is no hone_dtype");
  }
  if (t.rank < HONE_FLAT || t.rank > TensorRef::kMaxRank) {
    return wrong("a hone_tensor has rank " + std::to_string(t.rank) +
                 "; 0 to 12, or HONE_FLAT, are taken");
  }
  if (t.rank != 0 && !t.shape) return wrong("the shape of a hone_tensor is null");
  if (t.rank == HONE_FLAT) {
    if (t.shape[0] < 0) return wrong("a flat hone_tensor has a negative number of elements");
    if (is_packed(static_cast<DType>(t.type))) {
      return wrong(
          "a flat hone_tensor of less than a byte an element is given as its bytes, of "
          "type HONE_U8");
    }
    return flat_tensor(t);
  }
  const auto rank = static_cast<size_t>(t.rank);
  const std::span<const int64_t> shape(t.shape, rank);
  const std::span<const int64_t> strides(t.strides, t.strides ? rank : 0);
  const auto type = static_cast<DType>(t.type);
  if (t.read_only) return TensorRef(static_cast<const void*>(t.data), type, shape, strides);
  return TensorRef(t.data, type, shape, strides);
}

/// The arguments of a call. Up to 16 lie on its stack, so that calls allocate nothing.
class Args {
 public:
  Args() = default;
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;
  Result<Done> take(const hone_arg* args, size_t count) {
    if (!args && count > 0) return missing_of_kernel("args");
    args_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      if (auto f = take(args[i]); !f) {
        return Failure{f.failure().code,
                       "argument " + std::to_string(i) + ": " + f.failure().message};
      }
    }
    return Done{};
  }
  std::span<const Arg> span() const { return args_; }

 private:
  Result<Done> take(const hone_arg& arg) {
    switch (arg.kind) {
      case HONE_ARG_TENSOR: {
        auto tensor = tensor_of(arg.tensor);
        if (!tensor) return tensor.failure();
        args_.emplace_back(*tensor);
        break;
      }
      case HONE_ARG_REAL:
        args_.emplace_back(ScalarArg(arg.real));
        break;
      case HONE_ARG_INTEGER:
        args_.emplace_back(ScalarArg(arg.integer));
        break;
      default:
        return Failure{ErrorCode::kArgument, "its kind is no hone_arg_kind"};
    }
    return Done{};
  }

  alignas(Arg) std::byte memory_[16 * sizeof(Arg)];
  std::pmr::monotonic_buffer_resource resource_{memory_, sizeof memory_};
  std::pmr::vector<Arg> args_{&resource_};
};

}  // namespace
}  // namespace hone::runtime

hone_status hone_engine_compile(hone_engine* engine, const char* problem, const char* schedule,
                                hone_kernel** kernel, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !problem || !kernel) {
      return missing_of_kernel(!engine ? "engine" : !problem ? "problem" : "kernel");
    }
    *kernel = nullptr;
    auto made = engine->engine.try_compile(problem, {.schedule = schedule ? schedule : ""});
    if (!made) return made.failure();
    *kernel = new hone_kernel(engine->pool, *std::move(made));
    return Done{};
  });
}

void hone_kernel_destroy(hone_kernel* kernel) { delete kernel; }

size_t hone_kernel_param_count(const hone_kernel* kernel) {
  return kernel ? kernel->params.size() : 0;
}

const hone_param* hone_kernel_param(const hone_kernel* kernel, size_t index) {
  return index < hone_kernel_param_count(kernel) ? &kernel->params[index] : nullptr;
}

const char* hone_kernel_problem(const hone_kernel* kernel) {
  return kernel ? kernel->kernel.problem().c_str() : "";
}

const char* hone_kernel_target(const hone_kernel* kernel) {
  return kernel ? kernel->kernel.target().c_str() : "";
}

const char* hone_kernel_schedule(const hone_kernel* kernel) {
  return kernel ? kernel->kernel.schedule().c_str() : "";
}

const char* hone_kernel_source(const hone_kernel* kernel) {
  return kernel ? name_of(kernel->kernel.source()).data() : "";
}

int64_t hone_kernel_workspace_size(const hone_kernel* kernel) {
  return kernel ? kernel->kernel.workspace_size() : 0;
}

void hone_kernel_memory(const hone_kernel* kernel, hone_memory* memory) {
  KernelMemory m;
  if (kernel) m = kernel->bound ? kernel->bound->memory() : kernel->kernel.memory();
  c_result(memory, {0, m.code, m.constants, m.workspace, m.worker, m.call});
}

hone_status hone_kernel_call(const hone_kernel* kernel, const hone_arg* args, size_t count,
                             const hone_call_options* options, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel) return missing_of_kernel("kernel");
    Args all;
    if (auto f = all.take(args, count); !f) return f.failure();
    const hone_call_options c = c_options(options);
    CallOptions o;
    o.workspace = {static_cast<std::byte*>(c.workspace), c.workspace ? c.workspace_bytes : 0};
    o.serial = c.serial != 0;
    return kernel->bound ? kernel->bound->try_run(all.span(), o)
                         : kernel->kernel.try_run(all.span(), o);
  });
}

hone_status hone_kernel_bind(const hone_kernel* kernel, const char* name, const hone_tensor* tensor,
                             hone_kernel** bound, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel || !name || !tensor || !bound) {
      return missing_of_kernel(!kernel ? "kernel" : !name ? "name" : !tensor ? "tensor" : "bound");
    }
    *bound = nullptr;
    const auto given = tensor_of(*tensor);
    if (!given) return given.failure();
    auto made = kernel->bound ? kernel->bound->try_bind(name, *given)
                              : kernel->kernel.try_bind(name, *given);
    if (!made) return made.failure();
    *bound = new hone_kernel(kernel->pool, kernel->kernel, *std::move(made));
    return Done{};
  });
}

hone_status hone_kernel_enqueue(const hone_kernel* kernel, const hone_arg* args, size_t count,
                                void* stream, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel) return missing_of_kernel("kernel");
    Args all;
    if (auto f = all.take(args, count); !f) return f.failure();
    const EnqueueOptions o{.stream = stream};
    return kernel->bound ? kernel->bound->try_enqueue_list(all.span(), o)
                         : kernel->kernel.try_enqueue_list(all.span(), o);
  });
}

hone_status hone_kernel_wait(const hone_kernel* kernel, void* stream, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel) return missing_of_kernel("kernel");
    return kernel->kernel.try_wait(stream);
  });
}
