// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::tests {

/// What compiling a source gives.
struct Compiled {
  bool ok = false;
  std::string image;  ///< bytes of a shared object with the kernels
  std::string path;   ///< where it is kept
  std::string log;    ///< as the device's compiler words it
};

/// Compiles CUDA C++ of the project for this machine, against tests/cuda/emulation.h. What was
/// compiled before is taken from a folder of the temporary folder.
Compiled compile_for_host(const std::string& source, const std::string& file_name, int sm);

}  // namespace hone::tests
