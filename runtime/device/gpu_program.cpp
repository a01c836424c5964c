// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/device_limits.h"
#include "runtime/call/plan.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

// Function attributes by their numbers in the driver's ABI.
// Fixed by: the driver's ABI.
constexpr int kStaticShared = 1;
constexpr int kLocalBytes = 3;
constexpr int kRegisters = 4;
constexpr int kDynamicShared = 8;

/// 8-byte words of a kernel's parameters at most.
constexpr size_t kMostWords = jit::kParameterBytes / sizeof(int64_t);

/// A device that cannot hold one block of the launch.
Failure too_large(const GpuFacts& f, const std::string& name, int64_t threads, int64_t shared) {
  return Failure{
      ErrorCode::kSchedule,
      fmt::format("launch {} takes blocks of {} threads and {} bytes of shared memory; {} has "
                  "blocks of at most {} threads and {} bytes",
                  name, threads, shared, f.name, f.threads_per_block, f.shared_per_block)};
}

}  // namespace

Result<std::shared_ptr<const GpuProgram>> GpuProgram::load(std::shared_ptr<Gpu> gpu,
                                                           const ir::Nest& nest,
                                                           const jit::CudaSource& source,
                                                           const jit::CudaBinary& binary) {
  if (gpu->lost()) return gpu->why_lost();
  std::shared_ptr<GpuProgram> made(new GpuProgram(std::move(gpu)));
  Gpu& g = *made->gpu_;
  const UseGpu use(g);
  if (use.error() != 0) return g.failed(use.error(), "using the GPU's context");
  const bool ptx = binary.cubin.empty();
  const void* image = ptx ? static_cast<const void*>(binary.ptx.c_str()) : binary.cubin.data();
  if (const int error = g.driver().module_load(&made->module_, image, 0, nullptr, nullptr)) {
    return g.failed(
        error, fmt::format("loading {} for sm_{} with a driver for CUDA {}",
                           ptx ? "PTX" : "machine code", g.facts().sm, g.driver().version_text()));
  }
  made->slots_ = static_cast<size_t>(source.slots);
  const ir::ArgsLayout layout = ir::args_layout(nest);
  made->dims_ = layout.dim_slots.size();
  if (made->dims_ > 0) made->first_dim_ = static_cast<size_t>(layout.dim_slots[0]);
  made->report_.code_bytes = static_cast<int64_t>(ptx ? binary.ptx.size() : binary.cubin.size());
  for (const jit::CudaLaunch& l : source.launches) {
    if (auto f = made->take(l); !f) return f.failure();
    const auto spills = static_cast<int>(made->launches_.back().local_bytes / 4);
    made->report_.spills = std::max(made->report_.spills, spills);
  }
  return std::shared_ptr<const GpuProgram>(std::move(made));
}

Result<Done> GpuProgram::take(const jit::CudaLaunch& l) {
  Gpu& g = *gpu_;
  const jit::CudaDriver& driver = g.driver();
  GpuLaunch out;
  out.name = l.name;
  out.grid = l.grid;
  out.fixed = true;
  for (size_t axis = 0; axis < 3; ++axis) {
    out.fixed = ir::is_const(l.grid[axis], &out.blocks[axis]) && out.fixed;
    out.threads[axis] = static_cast<unsigned>(l.block[axis]);
  }
  out.dynamic_bytes = static_cast<unsigned>(l.dynamic_bytes);
  if (const int error = driver.module_function(&out.function, module_, l.symbol.c_str())) {
    return g.failed(error, "finding kernel " + l.symbol);
  }
  int of_static = 0, local = 0;
  int error = driver.function_attribute(&of_static, kStaticShared, out.function);
  if (error == 0) error = driver.function_attribute(&local, kLocalBytes, out.function);
  if (error == 0) error = driver.function_attribute(&out.registers, kRegisters, out.function);
  if (error != 0) return g.failed(error, "asking about kernel " + l.symbol);
  out.local_bytes = local;
  const int64_t threads = int64_t{l.block[0]} * l.block[1] * l.block[2];
  const int64_t shared = of_static + l.dynamic_bytes;
  if (threads > g.facts().threads_per_block || shared > g.facts().shared_per_block) {
    return too_large(g.facts(), l.name, threads, shared);
  }
  if (shared > ir::DeviceLimits::kStaticShared) {
    error = driver.function_set(out.function, kDynamicShared, static_cast<int>(l.dynamic_bytes));
    if (error != 0) return g.failed(error, "asking for shared memory for kernel " + l.symbol);
  }
  if (!l.maps.empty()) {
    if (!driver.tensor_map) {
      return Failure{
          ErrorCode::kUnsupported,
          fmt::format("launch {} takes tensor maps, which drivers for CUDA 12 make; this one is "
                      "for CUDA {}",
                      l.name, driver.version_text())};
    }
    out.maps = std::make_unique<TensorMaps>(l.name, l.maps);
  }
  launches_.push_back(std::move(out));
  return Done{};
}

GpuProgram::~GpuProgram() {
  if (!module_ || gpu_->lost()) return;
  const UseGpu use(*gpu_);
  if (use.error() == 0) gpu_->driver().module_unload(module_);
}

Result<Done> GpuProgram::run(size_t launch, const int64_t* slots, const jit::Part& part) const {
  return enqueue(launch, slots, {slots + first_dim_, dims_}, part.stream);
}

bool GpuProgram::blocks_of(size_t launch, std::span<const int64_t> dims,
                           std::array<int64_t, 3>* blocks) const {
  const GpuLaunch& l = launches_[launch];
  const std::array<int64_t, 3>& most = gpu_->facts().grid;
  for (size_t axis = 0; axis < 3; ++axis) {
    (*blocks)[axis] = l.fixed ? l.blocks[axis] : evaluate(l.grid[axis], dims);
  }
  return (*blocks)[0] <= most[0] && (*blocks)[1] <= most[1] && (*blocks)[2] <= most[2];
}

Failure GpuProgram::too_many(size_t launch, const std::array<int64_t, 3>& blocks) const {
  const GpuFacts& f = gpu_->facts();
  return Failure{
      ErrorCode::kUnsupported,
      fmt::format("launch {} takes a grid of {} x {} x {} blocks; {} has at most {} x {} x {}",
                  launches_[launch].name, blocks[0], blocks[1], blocks[2], f.name, f.grid[0],
                  f.grid[1], f.grid[2])};
}

Result<Done> GpuProgram::enqueue(size_t launch, const int64_t* slots, std::span<const int64_t> dims,
                                 void* stream) const {
  const GpuLaunch& l = launches_[launch];
  std::array<int64_t, 3> blocks;
  if (!blocks_of(launch, dims, &blocks)) return too_many(launch, blocks);
  if (blocks[0] <= 0 || blocks[1] <= 0 || blocks[2] <= 0) return Done{};
  alignas(64) int64_t words[kMostWords];
  void* parameters[] = {const_cast<int64_t*>(slots)};
  if (l.maps) {
    auto f = l.maps->fill(*gpu_, {slots, slots_}, dims, words);
    if (!f) return f.failure();
    parameters[0] = words;
  }
  const int error = gpu_->driver().launch(
      l.function, static_cast<unsigned>(blocks[0]), static_cast<unsigned>(blocks[1]),
      static_cast<unsigned>(blocks[2]), l.threads[0], l.threads[1], l.threads[2], l.dynamic_bytes,
      stream, parameters, nullptr);
  return error == 0 ? fine() : gpu_->failed(error, "launching " + l.name);
}

Result<std::vector<int64_t>> GpuProgram::parameters(size_t launch, const int64_t* slots,
                                                    std::span<const int64_t> dims) const {
  const GpuLaunch& l = launches_[launch];
  if (!l.maps) return std::vector<int64_t>(slots, slots + slots_);
  alignas(64) int64_t words[kMostWords];
  auto f = l.maps->fill(*gpu_, {slots, slots_}, dims, words);
  if (!f) return f.failure();
  return std::vector<int64_t>(words, words + l.maps->words(slots_));
}

}  // namespace hone::runtime
