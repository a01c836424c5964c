// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/packing.h"

#include <fmt/format.h>

namespace hone::runtime {

std::string packing_text(const ir::Program& scheduled, const std::string& buffer) {
  const ir::Buffer& b = *scheduled.buffer(buffer);
  std::string text = std::string(name_of(b.type)) + "[";
  for (size_t i = 0; i < b.shape.size(); ++i) {
    text += (i > 0 ? "," : "") + ir::print(b.shape[i]);
  }
  text += "] as ";
  for (const ir::Axis& axis : b.axes) {
    text += fmt::format("[{}{}{}]", axis.dim, axis.div > 1 ? fmt::format("/{}", axis.div) : "",
                        axis.mod > 0 ? fmt::format("%{}", axis.mod) : "");
  }
  if (b.axes.empty()) text += "rows";
  const ir::Stage* s = scheduled.producer(buffer);
  if (!s) return text;
  text += " of " + ir::print(s->value);
  if (s->where) text += " where " + ir::print(s->where);
  for (const ir::Expr& index : s->out_index) text += " " + ir::print(index);
  ir::visit(s->value, [&](const ir::Expr& e) {
    const bool made = e->op == ir::Op::kLoad && scheduled.producer(e->name) && e->name != buffer;
    if (made) text += "; " + e->name + " " + packing_text(scheduled, e->name);
  });
  return text;
}

}  // namespace hone::runtime
