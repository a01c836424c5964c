// SPDX-License-Identifier: Apache-2.0
#include "ops/inside.h"

#include "ops/bounds.h"

namespace hone::ops {

bool reads_inside(const ir::Program& program, const ir::Expr& e,
                  const std::vector<ir::IndexVar>& vars) {
  Prover prover(program.dims);
  for (const ir::IndexVar& v : vars) {
    prover.add_variable({v.name, v.lo ? v.lo : ir::make_int(0), v.hi});
  }
  bool inside = true;
  ir::visit(e, [&](const ir::Expr& x) {
    if (x->op != ir::Op::kLoad || !inside || x->guarded) return;
    const ir::Buffer* b = program.buffer(x->name);
    inside = b != nullptr;
    for (size_t d = 0; inside && d < b->shape.size(); ++d) {
      inside = !reads_data(x->args[d]) && prover.non_negative(x->args[d]) == Proof::kYes &&
               prover.non_negative(b->shape[d] - ir::make_int(1) - x->args[d]) == Proof::kYes;
    }
  });
  return inside;
}

}  // namespace hone::ops
