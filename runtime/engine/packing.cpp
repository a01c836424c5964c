// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/packing.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::runtime {
namespace {

/// ` for k in 0..20`, of each variable.
std::string ranges_text(const std::vector<ir::IndexVar>& vars) {
  std::string text;
  for (const ir::IndexVar& v : vars) {
    text += fmt::format(" for {} in {}..{}", v.name, v.lo ? ir::print(v.lo) : "0",
                        v.hi ? ir::print(v.hi) : "");
  }
  return text;
}

/// All that decides what a stage writes, followed by the same of the tensors it reads that are made
/// at bind too.
std::string definition_text(const ir::Program& scheduled, const ir::Stage& s) {
  std::string text;
  if (s.reduce != ir::Reduce::kNone) {
    text += fmt::format("{}<{}> ", ir::name_of(s.reduce), name_of(s.accumulate));
  }
  text += ir::print(s.value);
  if (s.where) text += " where " + ir::print(s.where);
  if (!s.out_index.empty()) text += " at";
  for (const ir::Expr& index : s.out_index) text += " " + ir::print(index);
  text += ranges_text(s.vars) + ranges_text(s.rvars);
  std::vector<std::string> followed = {s.output};
  const auto follow = [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad || !scheduled.producer(e->name)) return;
    if (std::find(followed.begin(), followed.end(), e->name) != followed.end()) return;
    followed.push_back(e->name);
    text += "; " + e->name + " " + packing_text(scheduled, e->name);
  };
  ir::visit(s.value, follow);
  if (s.where) ir::visit(s.where, follow);
  for (const ir::Expr& index : s.out_index) ir::visit(index, follow);
  return text;
}

}  // namespace

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
  return s ? text + " of " + definition_text(scheduled, *s) : text;
}

}  // namespace hone::runtime
