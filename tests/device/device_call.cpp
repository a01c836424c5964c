// SPDX-License-Identifier: Apache-2.0
#include "tests/device/device_call.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdlib>

#include "runtime/measure/bound.h"
#include "tests/device/raw_driver.h"

namespace hone::tests {
namespace {

/// Bytes of memory for a tensor, which may have no elements.
size_t room_for(const jit::TensorView& v) {
  return static_cast<size_t>(std::max<int64_t>(size_of(v.type), jit::bytes_of(v)));
}

}  // namespace

DeviceCall::DeviceCall(std::shared_ptr<const runtime::KernelState> kernel,
                       runtime::Fixture& fixture)
    : kernel_(std::move(kernel)), fixture_(fixture), gpu_(*kernel_->services->gpu()) {
  const runtime::UseGpu use(gpu_);
  for (const jit::TensorView& v : fixture_.params()) {
    uint64_t at = 0;
    REQUIRE(gpu_.driver().allocate(&at, room_for(v)) == 0);
    memory_.push_back(at);
  }
}

DeviceCall::~DeviceCall() {
  if (gpu_.lost()) return;
  const runtime::UseGpu use(gpu_);
  for (const uint64_t at : memory_) gpu_.driver().free(at);
}

Result<Done> DeviceCall::copy(bool there) {
  const runtime::UseGpu use(gpu_);
  for (size_t p = 0; p < memory_.size(); ++p) {
    const jit::TensorView& v = fixture_.params()[p];
    if (jit::span_of(v) <= 0) continue;
    const auto bytes = static_cast<size_t>(jit::bytes_of(v));
    const int error = there ? gpu_.driver().to_device(memory_[p], v.data, bytes)
                            : gpu_.driver().to_host(v.data, memory_[p], bytes);
    if (error) return gpu_.failed(error, "copying tensors");
  }
  return Done{};
}

Result<Done> DeviceCall::run(void* stream, bool enqueue) {
  if (auto f = copy(true); !f) return f.failure();
  std::vector<TensorRef> tensors;
  std::vector<ScalarArg> scalars;
  std::shared_ptr<const runtime::BoundState> bound = std::make_shared<runtime::BoundState>();
  size_t p = 0;
  for (const ir::Buffer& b : fixture_.problem().program.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const jit::TensorView& v = fixture_.params()[p];
    const TensorRef ref(reinterpret_cast<void*>(memory_[p++]), v.type, v.shape, v.strides);
    if (!b.constant) {
      tensors.push_back(ref);
      continue;
    }
    auto more = runtime::bind_constant(kernel_, *bound, b.name, ref);
    if (!more) return more.failure();
    bound = *more;
  }
  for (const double s : fixture_.scalars()) scalars.emplace_back(s);
  std::vector<ArgRef> refs(tensors.begin(), tensors.end());
  refs.insert(refs.end(), scalars.begin(), scalars.end());
  Result<Done> said = Done{};
  if (enqueue) {
    EnqueueOptions options;
    options.stream = stream;
    said = kernel_->enqueue(refs, options, bound.get());
    if (said) said = kernel_->wait(stream);
  } else {
    said = kernel_->call(refs, CallOptions{}, bound.get());
  }
  if (!said && said.failure().code != ErrorCode::kBounds) return said;
  if (auto f = copy(false); !f) return f.failure();
  return said;
}

std::string check_on_device(const std::shared_ptr<const runtime::KernelState>& kernel,
                            const ops::Problem& problem, const std::vector<int64_t>& dims,
                            jit::DataSet set, bool enqueue) {
  auto fixture = runtime::Fixture::create(problem, dims, set, runtime::Guard::kAfter, 1);
  if (!fixture) return fixture.failure().message;
  if (auto referred = fixture->refer(); !referred) return referred.failure().message;
  fixture->reset();
  const auto said = DeviceCall(kernel, *fixture).run(nullptr, enqueue);
  const bool bad = fixture->reference().bad.has_value();
  if (!said && said.failure().code == ErrorCode::kBounds) {
    return bad ? "" : "good data is refused: " + said.failure().message;
  }
  if (!said) return said.failure().message;
  if (bad) return "bad data is not reported";
  auto found = fixture->compare({});
  if (!found) return found.failure().message;
  return found->ok() ? "" : found->text();
}

bool real_device() {
  const char* asked = std::getenv("HONE_TEST_DEVICE");
  return asked && std::string(asked) == "real";
}

bool choose_device() {
  if (!real_device()) {
    setenv("HONE_CUDA", emulated_library("cuda").c_str(), 1);
    setenv("HONE_NVRTC", emulated_library("nvrtc").c_str(), 1);
    return true;
  }
  if (auto opened = runtime::Gpu::open(0, 0); !opened) {
    MESSAGE("skipped, no GPU: " << opened.failure().message);
    return false;
  }
  return true;
}

std::shared_ptr<runtime::EngineState> gpu_state() {
  EngineOptions options;
  options.target = "cuda";
  options.cache = ":memory:";
  auto made = runtime::EngineState::create(options);
  REQUIRE_MESSAGE(static_cast<bool>(made), made.failure().message);
  return *std::move(made);
}

std::vector<std::vector<int64_t>> dims_to_check(const ir::Program& program) {
  std::vector<std::vector<int64_t>> out{runtime::timing_dims(program)};
  std::vector<int64_t> least;
  for (const ir::Dim& d : runtime::dims_to_try(program)) least.push_back(d.lo);
  if (least != out[0]) out.push_back(least);
  return out;
}

}  // namespace hone::tests
