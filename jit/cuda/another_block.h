// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "jit/cuda/source.h"

namespace hone::jit {

/// `source` with kernels held to the registers with which another block of theirs fits a
/// multiprocessor of compute capability `sm`. Those are held that take a few more by the compiler's
/// `log`, where blocks are few. Nothing where there are none.
std::optional<CudaSource> with_another_block(const CudaSource& source, std::string_view log,
                                             int sm);

/// Whether kernels that were held to fewer registers keep no more of them in memory, by the
/// compiler's logs before and after.
bool spills_no_more(std::string_view before, std::string_view after);

}  // namespace hone::jit
