// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/padding.h"
#include "schedules/steps/stage_copy.h"

namespace hone::schedules {
namespace {

/// The stages that read `tensor` inside the spot, by index.
std::vector<size_t> readers_inside(const ir::Program& p, const std::string& tensor,
                                   const CopySpot& spot) {
  std::vector<size_t> out;
  ir::Place here;
  if (!spot.root) here = {p.stages[spot.owner].name, p.stages[spot.owner].loops[spot.loop].name};
  for (size_t i = 0; i < p.stages.size(); ++i) {
    const bool inside = spot.root || i == spot.owner || is_inside(p, p.stages[i].at, here);
    if (inside && reads(p.stages[i], tensor)) out.push_back(i);
  }
  return out;
}

/// For each dim, the variable by which every reader indexes it, else "".
std::vector<std::string> index_names(const ir::Program& p, const std::vector<size_t>& readers,
                                     const ir::Buffer& tensor) {
  std::vector<std::string> names(tensor.shape.size());
  std::vector<bool> mixed(names.size(), false);
  for (size_t r : readers) {
    ir::visit(p.stages[r].value, [&](const ir::Expr& n) {
      if (n->op != ir::Op::kLoad || n->name != tensor.name) return;
      for (size_t d = 0; d < names.size(); ++d) {
        const ir::Expr& e = n->args[d];
        const std::string name = e->op == ir::Op::kVar ? e->name : "";
        if (names[d].empty()) names[d] = name;
        if (names[d] != name) mixed[d] = true;
      }
    });
  }
  for (size_t d = 0; d < names.size(); ++d) {
    const bool twice = std::count(names.begin(), names.end(), names[d]) > 1;
    if (mixed[d] || twice || names[d].empty()) names[d] = "d" + std::to_string(d);
  }
  return names;
}

/// Copies `from`, with what lies around it where there is padding.
ir::Stage copying(const ir::Buffer& from, const ir::Buffer& to,
                  const std::optional<Padding>& padding) {
  ir::Stage s;
  s.name = s.output = to.name;
  s.accumulate = from.type;
  std::vector<ir::Expr> read;
  for (size_t d = 0; d < from.shape.size(); ++d) {
    const std::string v = "d" + std::to_string(d);
    s.vars.push_back({v, {}, to.shape[d]});
    s.loops.push_back({v, ir::Mark::kSerial, false});
    s.out_index.push_back(ir::make_var(v));
    const int64_t before = padding ? padding->before[d] : 0;
    ir::Expr index = make_binary(ir::Op::kSub, ir::make_var(v), ir::make_int(before));
    if (padding && padding->wraps[d]) index = make_binary(ir::Op::kMod, index, from.shape[d]);
    read.push_back(std::move(index));
  }
  s.value = ir::make_load(from.name, from.type, read, padding ? padding->fill : ir::Expr());
  return s;
}

}  // namespace

Applied copy_read(ir::Program p, const Step& step, const CopySpot& spot) {
  const ir::Buffer tensor = p.buffers[*find_buffer(p, step.name("tensor"))];
  const std::vector<size_t> readers = readers_inside(p, tensor.name, spot);
  const std::string place = step.name("place");
  if (readers.empty()) {
    return ir::Reject{"nothing inside " + place + " reads " + tensor.name +
                      "; place the stages that read it there first"};
  }
  for (size_t i = readers.front(); i < p.stages.size(); ++i) {
    if (p.stages[i].output == tensor.name) {
      return ir::Reject{tensor.name + " is written after it is read, so a copy would go stale"};
    }
  }
  auto axes = layout_axes(step, tensor.name, index_names(p, readers, tensor));
  if (!axes) return axes.failure();

  ir::Buffer copy;
  copy.name = step.name("copy");
  copy.type = tensor.type;
  copy.shape = tensor.shape;
  const std::optional<Padding> padding = padding_for(p, readers, tensor, spot.root);
  for (size_t d = 0; padding && d < copy.shape.size(); ++d) {
    copy.shape[d] = copy.shape[d] + ir::make_int(padding->before[d] + padding->after[d]);
  }
  copy.axes = *std::move(axes);
  copy.constant = spot.root && tensor.constant;
  copy.cold = copy.constant && tensor.cold;
  if (!spot.root) copy.space = space_named(step.name("in"));
  copy.pad = step.number("pad");
  copy.swizzle = step.name("swizzle") == "on";
  ir::Stage stage = copying(tensor, copy, padding);
  if (!spot.root) {
    stage.at = {p.stages[spot.owner].name, p.stages[spot.owner].loops[spot.loop].name};
  }
  for (size_t r : readers) {
    ir::Stage& reader = p.stages.edit(r);
    for_each_expr(reader, [&](ir::Expr& e) {
      e = padding ? read_padded(e, tensor.name, copy.name, *padding)
                  : rename_loads(e, tensor.name, copy.name);
    });
    for (ir::Prefetch& f : reader.prefetches) {
      if (f.tensor == tensor.name) f.tensor = copy.name;
    }
  }
  p.buffers.push_back(std::move(copy));
  p.stages.insert(readers.front(), std::move(stage));
  return p;
}

}  // namespace hone::schedules
