// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps, as the emulation of tensor copies reads them.
#include "tests/cuda/gpu/calls.h"
#include "tests/cuda/gpu/context.h"
#include "tests/cuda/tensor_map.h"

namespace hone::tests {
namespace {

/// Bytes of CU_TENSOR_MAP_DATA_TYPE number `type`.
constexpr uint32_t kTypeBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
/// Bytes of CU_TENSOR_MAP_SWIZZLE number `swizzle`.
constexpr uint32_t kSwizzleBytes[] = {0, 32, 64, 128};

const char* objection(const emulation::TensorFacts& f, const uint32_t* element_strides) {
  if (f.address % 16 != 0) return "the address is no multiple of 16";
  if (f.box[0] * f.element % 16 != 0) return "the box's rows are no multiple of 16 bytes";
  if (f.swizzle && f.box[0] * f.element > f.swizzle) return "the box's rows pass the swizzle";
  for (uint32_t d = 0; d < f.rank; ++d) {
    if (f.size[d] == 0 || f.size[d] > uint64_t{1} << 32) return "a size is out of range";
    if (f.box[d] == 0 || f.box[d] > 256) return "a box is longer than 256 elements, or empty";
    if (element_strides[d] != 1) return "element strides other than 1 are not emulated";
    if (d > 0 && (f.stride[d] % 16 != 0 || f.stride[d] >= uint64_t{1} << 40)) {
      return "a stride is no multiple of 16 bytes, or out of range";
    }
  }
  return nullptr;
}

}  // namespace
}  // namespace hone::tests

using namespace hone::tests;

int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* sizes,
                           const uint64_t* strides, const uint32_t* box,
                           const uint32_t* element_strides, int interleave, int swizzle, int,
                           int fill) {
  return in_context(Call::tensor_map, [&](Context&, auto&) -> int {
    const auto refuse = [](const char* why) {
      tell(std::string("cuTensorMapEncodeTiled: ") + why);
      return kInvalidValue;
    };
    if (!map || type < 0 || type > 12 || rank < 1 || rank > 5) return refuse("type or rank");
    if (reinterpret_cast<uint64_t>(map) % 64 != 0) return refuse("the map is not 64-byte aligned");
    if (interleave != 0 || fill != 0) return refuse("interleaving and fills are not emulated");
    if (swizzle < 0 || swizzle > 3) return refuse("the swizzle");
    emulation::TensorFacts f;
    f.address = reinterpret_cast<uint64_t>(address);
    f.rank = rank;
    f.element = kTypeBytes[type];
    f.swizzle = kSwizzleBytes[swizzle];
    for (uint32_t d = 0; d < rank; ++d) {
      f.size[d] = sizes[d];
      f.stride[d] = d == 0 ? 0 : strides[d - 1];
      f.box[d] = box[d];
    }
    if (const char* why = objection(f, element_strides)) return refuse(why);
    emulation::write_map(f, static_cast<unsigned long long*>(map));
    return kSuccess;
  });
}
