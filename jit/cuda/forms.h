// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "include/hone/error.h"

namespace hone::jit {

/// Alternative forms of printed code, to compare on a device. By estimate each is slower; all of
/// them mean the same.
struct CudaForms {
  bool fenced_arrive = false;     ///< warps free memory of another block with a fence of the GPU
  bool fenced_cluster = false;    ///< blocks of a cluster meet with one
  bool plain_stores = false;      ///< stores of several elements are the compiler's to put together
  bool ascending_blocks = false;  ///< blocks start by their index, whatever their work
  bool status_always = false;     ///< every launch asks whether bad data was found
  bool operator==(const CudaForms&) const = default;
};

/// A form by its name.
struct CudaForm {
  const char* name;
  bool CudaForms::*member;
  const char* what;  ///< that is different, in words
};

/// All of them.
std::span<const CudaForm> all_cuda_forms();

/// Forms by their names, `fenced-arrive,plain-stores`; an error names those that there are.
Result<CudaForms> parse_cuda_forms(std::string_view text);

}  // namespace hone::jit
