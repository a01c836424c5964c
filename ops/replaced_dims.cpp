// SPDX-License-Identifier: Apache-2.0
#include "ops/replaced_dims.h"

namespace hone::ops {
namespace {

/// Before a name that goes. Fixed by: no name of the language has it.
constexpr char kMark = '\'';

bool is_marked(const std::string& name) { return !name.empty() && name[0] == kMark; }

}  // namespace

ir::Expr replaced_dims(const ir::Expr& extent,
                       const std::function<ir::Expr(const std::string&)>& to) {
  // A sum that folds to one of its parts is looked at again, so what goes is marked before.
  const ir::Expr marked = ir::rewrite(extent, [](const ir::Expr& x) -> ir::Expr {
    if (x->op != ir::Op::kDim || is_marked(x->name)) return {};
    return ir::make_dim(kMark + x->name);
  });
  bool open = false;
  const ir::Expr out = ir::rewrite(marked, [&](const ir::Expr& x) -> ir::Expr {
    if (x->op != ir::Op::kDim || !is_marked(x->name)) return {};
    ir::Expr e = to(x->name.substr(1));
    open |= !e;
    return e;
  });
  return open ? ir::Expr() : out;
}

}  // namespace hone::ops
