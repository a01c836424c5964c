// SPDX-License-Identifier: Apache-2.0
// The C interface: kernels and calls.
#include <cstddef>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>

#include "runtime/c/handles.h"
#include "runtime/c/tensor.h"

using namespace hone;
using namespace hone::runtime;

hone_kernel::hone_kernel(std::shared_ptr<hone::ThreadPool> p, hone::Kernel k,
                         std::optional<hone::Bound> b)
    : pool(std::move(p)), kernel(std::move(k)), bound(std::move(b)), params(kernel.params()) {}

namespace hone::runtime {
namespace {

/// The arguments of a call. Up to 16 lie on its stack, so that calls allocate nothing.
class Args {
 public:
  Args() = default;
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;
  Result<Done> take(const hone_arg* args, size_t count) {
    if (!args && count > 0) return c_missing("args");
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
        auto tensor = c_tensor(arg.tensor);
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
      return c_missing(!engine ? "engine" : !problem ? "problem" : "kernel");
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
  return kernel ? kernel->params.at(index) : nullptr;
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
    if (!kernel) return c_missing("kernel");
    Args all;
    if (auto f = all.take(args, count); !f) return f.failure();
    const CallOptions o = c_call(options);
    return kernel->bound ? kernel->bound->try_run(all.span(), o)
                         : kernel->kernel.try_run(all.span(), o);
  });
}

hone_status hone_kernel_bind(const hone_kernel* kernel, const char* name, const hone_tensor* tensor,
                             hone_kernel** bound, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel || !name || !tensor || !bound) {
      return c_missing(!kernel ? "kernel" : !name ? "name" : !tensor ? "tensor" : "bound");
    }
    *bound = nullptr;
    const auto given = c_tensor(*tensor);
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
    if (!kernel) return c_missing("kernel");
    Args all;
    if (auto f = all.take(args, count); !f) return f.failure();
    const EnqueueOptions o{.stream = stream};
    return kernel->bound ? kernel->bound->try_enqueue_list(all.span(), o)
                         : kernel->kernel.try_enqueue_list(all.span(), o);
  });
}

hone_status hone_kernel_wait(const hone_kernel* kernel, void* stream, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!kernel) return c_missing("kernel");
    return kernel->kernel.try_wait(stream);
  });
}
