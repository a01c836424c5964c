// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/tensor.h"

namespace hone::runtime {

/// Where tensors of the program begin in memory, in bytes.
/// Fixed by: a cache line.
inline constexpr size_t kTensorAlignment = 64;

/// Memory that begins at a multiple of kTensorAlignment.
class TensorMemory {
 public:
  TensorMemory() = default;
  explicit TensorMemory(size_t bytes);
  std::byte* data() const { return data_; }

 private:
  std::unique_ptr<std::byte[]> owned_;
  std::byte* data_ = nullptr;
};

/// A tensor as .npy files have it. NumPy lacks some of hone's types. Of bf16 and 8-bit floats they
/// hold the bits, as u16 and u8. Of elements that share a byte they hold the bytes of the rows.
struct NpyArray {
  std::vector<int64_t> shape;  ///< in elements of NumPy's type
  TensorMemory memory;         ///< row-major
};

/// NumPy's name for what a file holds of tensors of a type: `<f4`.
std::string npy_type_of(DType type);

/// The shape of the array that holds a tensor of `type` and `shape`.
std::vector<int64_t> npy_shape_of(DType type, std::vector<int64_t> shape);

/// Reads a .npy file of version 1, 2 or 3, whose elements must be what tensors of `type` are kept
/// as. Those in Fortran's order are put in order. Takes memory once the file is known to be as long
/// as its header says. Fails with the file, the place, and what would be accepted.
Result<NpyArray> read_npy(const std::string& path, DType type);

/// Writes a dense tensor as version 1, in C's order.
Result<Done> write_npy(const std::string& path, const TensorRef& tensor);

}  // namespace hone::runtime
