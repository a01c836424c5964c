// SPDX-License-Identifier: Apache-2.0
//
// Modules, their functions and launches.
#include "tests/cuda/gpu/calls.h"
#include "tests/cuda/gpu/launch.h"

using namespace hone::tests;

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int*, void**) {
  return in_context(Call::module_load, [&](Context& c, auto&) -> int {
    if (!module || !image || count > 32) return kInvalidValue;
    auto made = std::make_unique<Module>();
    std::string why;
    if (const int wrong = load(image, c.model->sm, gpus().settings.driver, *made, &why)) {
      tell("cuModuleLoadDataEx: " + why);
      return wrong;
    }
    *module = made.get();
    c.modules.insert(std::move(made));
    return kSuccess;
  });
}

int cuModuleUnload(void* module) {
  return in_context(Call::module_unload, [&](Context& c, auto& lock) {
    if (!member(c.modules, module)) return kInvalidHandle;
    c.queue.finish(lock, nullptr);
    discard(c.modules, module);
    return kSuccess;
  });
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  return in_context(Call::module_function, [&](Context& c, auto&) {
    Module* const m = member(c.modules, module);
    if (!m) return kInvalidHandle;
    for (Kernel& k : m->kernels) {
      if (k.name != name) continue;
      *function = &k;
      return kSuccess;
    }
    return kNotFound;
  });
}

// Numbers of CU_FUNC_ATTRIBUTE, from the driver's reference.
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  return in_context(Call::function_attribute, [&](Context& c, auto&) {
    const Kernel* const k = c.kernel(function);
    if (!k) return kInvalidHandle;
    switch (attribute) {
      case 0:
        *value = k->threads;
        return kSuccess;
      case 1:
        *value = k->static_shared;
        return kSuccess;
      case 2:
      case 3:
        *value = 0;
        return kSuccess;  // constants; local memory: nothing spills
      case 4:
        *value = 32;
        return kSuccess;  // registers
      case 5:
      case 6:
        *value = c.model->sm;
        return kSuccess;
      case 8:
        *value = k->dynamic_shared;
        return kSuccess;
      case 9:
        *value = -1;
        return kSuccess;  // share of the cache: as the driver likes
      default:
        return kInvalidValue;
    }
  });
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  return in_context(Call::function_set, [&](Context& c, auto&) {
    Kernel* const k = c.kernel(function);
    if (!k) return kInvalidHandle;
    if (attribute == 9) return value >= -1 && value <= 100 ? kSuccess : kInvalidValue;
    if (attribute != 8) return kInvalidValue;
    if (value < 0 || value + k->static_shared > c.model->block_shared_bytes) {
      tell(k->name + ": " + std::to_string(value) + " bytes of dynamic shared memory");
      return kInvalidValue;
    }
    k->dynamic_shared = value;
    return kSuccess;
  });
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) {
  return in_context(Call::launch, [&](Context& c, auto&) -> int {
    Stream* const s = c.stream(stream);
    LaunchRequest request;
    request.kernel = c.kernel(function);
    if (!s || !request.kernel) return kInvalidHandle;
    const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
    std::copy_n(grid, 3, request.grid);
    std::copy_n(block, 3, request.block);
    request.shared_bytes = shared_bytes;
    if (const int wrong = check(c, parameters, extra, request)) return wrong;
    if (gpus().settings.idle) return ++gpus().launches, kSuccess;
    s->tail = launch(c, std::move(request), c.front(*s));
    return kSuccess;
  });
}
