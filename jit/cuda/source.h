// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/code.h"
#include "jit/cuda/forms.h"
#include "jit/ir/nest.h"
#include "jit/ir/reject.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// Description of a tensor for TMA: cuTensorMapEncodeTiled makes a tensor map of it. See
/// ir::TensorMap.
struct CudaMap {
  int slot = -1;                  ///< of the args struct: the tensor's address
  int64_t offset = 0;             ///< bytes behind that
  DType type = DType::kF32;       ///< of elements
  std::vector<ir::Expr> sizes;    ///< elements per dimension, in constants and dims
  std::vector<ir::Expr> strides;  ///< bytes per dimension
  std::vector<int64_t> box;       ///< boxDim: elements of a copy per dimension
  int64_t swizzle = 0;            ///< bytes: 0, 32, 64 or 128
};

/// Bytes of a kernel's parameters at most: of the args struct and tensor maps.
/// Fixed by: CUDA.
inline constexpr size_t kParameterBytes = 4096;

/// Byte offset of the tensor maps behind an args struct of `slots` slots.
constexpr size_t maps_at(size_t slots) { return (8 * slots + 63) / 64 * 64; }

/// Bytes of a tensor map.
/// Fixed by: the driver's ABI.
inline constexpr size_t kMapBytes = 128;

/// One kernel of a CudaSource: `symbol(Args)` over a grid of blocks of threads. Args is the args
/// struct that ir::args_layout describes, by value. A launch's tensor maps follow it, 128 bytes
/// each, from the next multiple of 64.
struct CudaLaunch {
  std::string name;                   ///< of the stage
  std::string symbol;                 ///< of the kernel in the source
  std::array<ir::Expr, 3> grid;       ///< blocks along x, y, z, in constants and dims
  std::array<int, 3> block{1, 1, 1};  ///< threads along x, y, z
  int producer_axis = 0;  ///< along which the last row of threads starts copies only; 0: none
  std::array<int, 3> cluster{1, 1, 1};  ///< blocks that run together and share memory; sm_90
  int64_t shared_bytes = 0;             ///< static shared memory
  int64_t dynamic_bytes = 0;            ///< shared memory that the launch must ask for, on top
  std::vector<CudaMap> maps;            ///< that follow the args struct
  bool at_bind = false;
};

/// CUDA C++ for a lowered program. Includes no header.
struct CudaSource {
  std::string kernels;  ///< what the program became
  std::vector<CudaLaunch> launches;
  int slots = 0;                    ///< of the args struct
  std::vector<int64_t> slot_align;  ///< per slot of the args struct: bytes that the address in it
                                    ///< is a multiple of, as the kernels count on; 1: any
};

/// Blocks along x, y, z for the values of Nest::dims.
std::array<int64_t, 3> grid_of(const CudaLaunch& launch, std::span<const int64_t> dims);

/// Whether this build has code for GPUs (Meson option `cuda`); without, all sources are refused.
bool has_cuda();

/// Readable CUDA C++ of every launch of `nest`, which has its barriers. Refuses, with the reason,
/// what a GPU cannot run: a barrier that only some threads would reach, registers that threads
/// index by their own number. `forms` are printed in place of the default ones.
Result<CudaSource, ir::Reject> print_cuda(const ir::Nest& nest, const ir::Target& target,
                                          const CudaForms& forms = {});

/// The functions that the kernels call, for the device. `print_cuda` makes sources that follow it.
std::string cuda_prelude();

/// The same functions where the kernels are compiled as C++ for this machine: device intrinsics by
/// their meaning. Whoever includes it gives threadIdx, blockIdx, the barrier and the shuffle.
std::string cuda_prelude_on_host();

}  // namespace hone::jit
