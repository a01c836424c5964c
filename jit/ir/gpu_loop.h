// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::ir {

/// What a schedule says of a loop that a GPU runs. A new property is a field here and a line in
/// text_of(); lowering hands all of them on.
struct GpuLoop {
  int depth = 1;             ///< of a pipeline: what is kept at the loop in=shared comes depth-1
                             ///< iterations early
  bool specialized = false;  ///< of a pipeline: warps of their own fill it
  int cluster = 1;  ///< of a loop over blocks: neighbours that run together and share copies
};

/// `(3 stages)(specialized)`: what differs from a plain loop.
std::string text_of(const GpuLoop& loop);

/// The same of a lowered loop, with what passes find out.
struct GpuFor : GpuLoop {
  int lag = 0;    ///< of a pipeline: iterations for which wgmma goes on
  int into = -1;  ///< of a loop over threads that reduces: the buffer into which it does
};

}  // namespace hone::ir
