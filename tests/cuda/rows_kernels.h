// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/cuda/source.h"
#include "tests/cuda/tensor_map.h"

namespace hone::tests {

/// Bytes that a kernel reads, and those that it must have written.
using Bytes = std::vector<uint8_t>;

/// A kernel with a known answer: the same source for the emulation and for a device.
struct RowKernel {
  std::string name;
  std::string text;  ///< defines `kernel(Args)`: x in slot 2, y in slot 3, tensor maps in `map`
  int threads = 128;
  int blocks = 1;
  int cluster = 1;
  int64_t dynamic_bytes = 0;
  Bytes x;                                       ///< read
  Bytes answer;                                  ///< of y, which is 0xff before
  std::array<emulation::TensorFacts, 3> maps{};  ///< addresses are offsets into x; rank 0: none
  int map_of_y = -1;                             ///< the map whose address is an offset into y
};

/// `body` as a kernel over `threads`: `t` is the thread, X and Y are `type`s and `result`s, as many
/// as x and the answer have.
RowKernel kernel_of(std::string name, const std::string& type, const std::string& body, int threads,
                    Bytes x, Bytes answer, const std::string& result = "i32");

/// Barriers, copies, warp specialization, clusters: at least a kernel for each row.
std::vector<RowKernel> row_kernels();
/// wgmma: every shape and type, and every layout.
std::vector<RowKernel> wgmma_kernels();
/// A whole matrix product, as generated code should look: a warpgroup starts TMA copies, two
/// multiply.
RowKernel matmul_kernel();
/// The same by clusters of two blocks, which load half of what they share each, for both; results
/// go through shared memory.
RowKernel cluster_matmul_kernel();

/// A source with this one kernel.
jit::CudaSource source_of(const RowKernel& kernel);
/// The kernel's text with another name for it.
std::string renamed(const std::string& text, const std::string& name);

/// Arguments of a kernel.
struct RowArgs {
  struct alignas(64) Map {
    unsigned long long words[16] = {};
  };
  int64_t slot[8] = {};
  Map map[3];
};

/// Where y is not the answer, or "".
std::string difference(const uint8_t* y, const Bytes& answer);

/// What a kernel works on, in memory of this machine.
class RowData {
 public:
  explicit RowData(const RowKernel& kernel);
  const int64_t* args() const { return reinterpret_cast<const int64_t*>(&args_); }
  std::string difference() const;

 private:
  struct alignas(128) Line {
    uint8_t bytes[128];
  };
  std::vector<Line> x_, y_;
  Bytes answer_;
  RowArgs args_;
};

/// Values as bytes.
template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return Bytes(begin, begin + values.size() * sizeof(T));
}

}  // namespace hone::tests
