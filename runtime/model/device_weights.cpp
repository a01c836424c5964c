// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/device_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/integers.h"
#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/gpu_stream.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// Fixed by: the alignment of device memory.
constexpr int64_t kDeviceLine = 256;

/// A copy on the device of a tensor that a parameter takes.
class WeightCopy {
 public:
  WeightCopy(Gpu& gpu, const ParamPlan& param)
      : gpu_(gpu),
        first_(ir::round_up(-param.sizes.begin, std::max(param.align, kDeviceLine))),
        begin_(param.sizes.begin),
        end_(param.sizes.end) {}
  ~WeightCopy() {
    if (block_) gpu_.memory().release(block_, bytes());
  }
  WeightCopy(const WeightCopy&) = delete;
  WeightCopy& operator=(const WeightCopy&) = delete;

  /// The address of the copy's first element; 0 where there is none.
  Result<uint64_t> make(const TensorRef& tensor) {
    if (!tensor.data() || end_ <= begin_) return uint64_t{0};
    auto block = gpu_.memory().hold(bytes());
    if (!block) return block.failure();
    block_ = *block;
    const uint64_t at = block_ + static_cast<uint64_t>(first_);
    const UseGpu use(gpu_);
    if (auto f = ready(gpu_, use); !f) return f.failure();
    int error = gpu_.driver().to_device(at + static_cast<uint64_t>(begin_),
                                        static_cast<const std::byte*>(tensor.data()) + begin_,
                                        static_cast<size_t>(end_ - begin_));
    // Of pageable memory the driver only has a copy by now, which streams may overtake.
    if (error == 0) error = gpu_.driver().stream_synchronize(nullptr);
    if (error != 0) return gpu_.failed(error, "copying a weight to the device");
    return at;
  }

 private:
  int64_t bytes() const { return first_ + end_; }

  Gpu& gpu_;
  int64_t first_, begin_, end_;
  uint64_t block_ = 0;
};

/// The tensor of a parameter at an address.
TensorRef tensor_at(const ParamPlan& p, uint64_t address) {
  const auto rank = static_cast<size_t>(p.sizes.rank);
  return TensorRef(reinterpret_cast<const void*>(address), p.type,
                   std::span<const int64_t>(p.sizes.extents, rank),
                   std::span<const int64_t>(p.sizes.strides, rank));
}

}  // namespace

Result<Done> check_in_host(Gpu* gpu, std::span<const NamedTensor> weights) {
  if (!gpu) return fine();
  const UseGpu use(*gpu);
  if (auto f = ready(*gpu, use); !f) return f.failure();
  for (const NamedTensor& w : weights) {
    if (!w.tensor.data() || !is_device_memory(*gpu, w.tensor.data())) continue;
    return Failure{ErrorCode::kArgument,
                   fmt::format("weight `{}`: the pointer {} is to the device's memory; loading "
                               "takes weights in the host's, and copies or packs them there",
                               w.name, w.tensor.data())};
  }
  return fine();
}

Result<std::shared_ptr<const BoundState>> bind_weight(const std::shared_ptr<const KernelState>& k,
                                                      const BoundState& base, std::string_view name,
                                                      const TensorRef& tensor) {
  const auto& params = k->plan.params;
  const auto at = std::find_if(params.begin(), params.end(),
                               [&](const ParamPlan& p) { return p.name == name; });
  if (!k->gpu || at == params.end()) return bind_constant(k, base, name, tensor);
  if (auto f = check_constant(*at, tensor); !f) return f.failure();
  WeightCopy copy(k->gpu->gpu(), *at);
  const auto there = copy.make(tensor);
  if (!there) return there.failure();
  return bind_constant(k, base, name, tensor_at(*at, *there));
}

}  // namespace hone::runtime
