// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// A reduced index that is cut into parts of some terms each, and the part as an index.
struct Parts {
  std::string var;      ///< the reduced index; inside a part it counts its terms
  std::string part;     ///< the index of the part
  int64_t factor = 1;   ///< terms of a part
  ir::Expr count = {};  ///< parts
};

/// The parts of `factor` terms of a reduction of `s` over `var`.
Parts parts_of(const ir::Stage& s, const std::string& var, int64_t factor);

/// Why the reduction of `s` over `var` cannot be cut into parts; empty when it can.
std::string objection_parts(const ir::Program& p, const ir::Stage& s, const Parts& parts);

/// The stage `name` that reduces each part. The part is the first index of its output.
ir::Stage reducing_parts(const ir::Stage& s, const Parts& parts, const std::string& name);

/// The tensor that such a stage writes.
ir::Buffer partial_buffer(const ir::Program& p, const ir::Stage& s, const Parts& parts,
                          const std::string& name);

/// Turns `s` into the reduction of the parts' results in the tensor `partial`.
void become_combine(ir::Stage& s, const Parts& parts, const ir::Buffer& partial);

}  // namespace hone::schedules
