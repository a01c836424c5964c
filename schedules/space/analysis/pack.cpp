// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/pack.h"

#include <algorithm>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/crossing.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

size_t rank_of(const ir::Expr& load) { return load->args.size() - (load->guarded ? 1 : 0); }

/// The dim of a load that `var` is the index of; the number of dims where it is none.
size_t dim_of_pack(const ir::Expr& load, const std::string& var) {
  size_t d = 0;
  while (d < rank_of(load) && plain_var(load->args[d]) != var) ++d;
  return d;
}

/// The load of `tensor` that `var` is an index of; null where there is none.
ir::Expr load_along(const ir::Stage& s, const std::string& tensor, const std::string& var) {
  for (const ir::Expr& load : loads_of(s, tensor)) {
    if (dim_of_pack(load, var) < rank_of(load)) return load;
  }
  return {};
}

/// True where `stage` reduces a variable of `index`, or is computed for each term of a stage that
/// reduces what the index is.
bool is_summed(const Plan& plan, const ir::Stage& stage, const ir::Expr& index) {
  if (ir::mentions_any(index, stage.rvars)) return true;
  const std::string var = plain_var(index);
  if (stage.at.root() || var.empty()) return false;
  const ir::Stage& around = plan.stage(stage.at.stage);
  const auto follows = alignment(stage, around);
  return follows.contains(var) && around.is_reduction_var(follows.at(var));
}

/// Schedules a copy, whose loops in front are named, by squares that are transposed in registers.
/// False, with nothing changed, where registers cannot.
bool transpose_copy(Plan& plan, const std::string& copy, const std::vector<std::string>& front,
                    const std::string& var, const std::string& lanes) {
  const std::optional<Crossing> crossing = crossing_of(plan, copy, var);
  if (!crossing) return false;
  std::vector<std::string> outer = front;
  for (const ir::Loop& l : plan.stage(copy).loops) {
    const bool inside = l.name == lanes || l.name == crossing->read;
    const bool named = std::find(front.begin(), front.end(), l.name) != front.end();
    if (!inside && !named) outer.push_back(l.name);
  }
  Plan::Mark before = plan.mark();
  if (transpose_in_registers(plan, copy, *crossing, outer)) return true;
  plan.rewind(std::move(before));
  return false;
}

/// Schedules a copy: the loops named in front, then the others, then `lanes` and inside it the
/// elements of a group. Where the tensor has groups together already, they are the lanes.
bool shape_copy(Plan& plan, const std::string& copy, const std::vector<std::string>& front,
                const std::string& lanes, size_t grouped, int group) {
  std::vector<std::string> order = front;
  std::string inner;
  if (group > 1) {
    const auto h = plan.split(copy, dim_name(grouped), group, ir::Tail::kPeel);
    if (h.outer.empty()) return false;
    inner = h.inner;
  }
  for (const ir::Loop& l : plan.stage(copy).loops) {
    const bool ours = l.name == lanes || l.name == inner ||
                      std::find(order.begin(), order.end(), l.name) != order.end();
    if (!ours) order.push_back(l.name);
  }
  order.push_back(lanes);
  if (!inner.empty()) order.push_back(inner);
  if (!order_loops(plan, copy, order)) return false;
  const bool together = !inner.empty() && plan.facts(copy).loads[0].stride(dim_name(grouped)) == 1;
  if (!inner.empty() && !together && !plan.add(step::unroll({copy, inner}))) return false;
  if (!plan.add(step::vectorize({copy, together ? inner : lanes}))) return false;
  plan.finish(copy);
  return true;
}

}  // namespace

bool pays_to_pack(const Plan& plan, const std::string& stage, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  if (is_bound(plan.program(), b)) return true;
  // A tensor that a near cache holds is read as fast where it lies.
  if (bytes_of(plan.program(), b) <= plan.machine().l2 / 4) return false;
  int64_t step = 0;
  for (const auto& [var, stride] : a.strides) {
    if (plan.stage(stage).is_reduction_var(var)) step = std::max(step, stride);
  }
  constexpr int64_t kFar = 2048;  // bytes. Tuned on: Zen 5 (AVX-512).
  return step * size_of(b.type) >= kFar;
}

bool pack(Plan& plan, const std::string& stage, const std::string& tensor, const std::string& var,
          const Number& width, const Groups& groups, const ir::Place& at) {
  const ir::Stage s = plan.stage(stage);
  const ir::Expr load = load_along(s, tensor, var);
  if (!load)
    return plan.declines("no dim of " + tensor + " is " + var + " alone, to pack along it");
  const size_t dim = dim_of_pack(load, var), grouped = dim_of_pack(load, groups.var);
  const size_t rank = rank_of(load);
  if (!groups.var.empty() && grouped == rank) {
    return plan.declines("no dim of " + tensor + " is " + groups.var + " alone, to group it");
  }
  std::vector<LayoutAxis> layout, reduced;
  for (size_t d = 0; d < rank; ++d) {
    if (d == dim) continue;
    const bool cut = !groups.var.empty() && d == grouped;
    (is_summed(plan, s, load->args[d]) ? reduced : layout)
        .push_back({dim_name(d), cut ? groups.size : 1, {}});
  }
  const std::string copy = plan.fresh_stage(tensor + ".p"), d = dim_name(dim);
  layout.push_back({d, width, {}});
  layout.insert(layout.end(), reduced.begin(), reduced.end());
  layout.push_back({d, 1, width});
  if (!groups.var.empty()) layout.push_back({dim_name(grouped), 1, groups.size});
  if (!plan.add(step::stage(tensor, at, copy, {.layout = std::move(layout)}))) return false;
  const auto h = plan.split(copy, d, width, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  if (groups.size == 1 && transpose_copy(plan, copy, {h.outer}, d, h.inner)) return true;
  return shape_copy(plan, copy, {h.outer}, h.inner, grouped, groups.size);
}

bool pack_panel(Plan& plan, const std::string& stage, const std::string& tensor,
                const std::string& var, const std::string& root, const std::string& loop) {
  const ir::Expr load = load_along(plan.stage(stage), tensor, var);
  if (!load) return plan.declines("no dim of " + tensor + " is " + var + " alone, to pack panels");
  const size_t dim = dim_of_pack(load, var);
  const std::string copy = plan.fresh_stage(tensor + ".p");
  std::vector<LayoutAxis> layout;
  for (size_t d = 0; d < rank_of(load); ++d) {
    if (d != dim) layout.push_back({dim_name(d)});
  }
  layout.push_back({dim_name(dim)});
  return plan.add(step::stage(tensor, {root, loop}, copy, {.layout = std::move(layout)})) &&
         shape_copy(plan, copy, {}, dim_name(dim), rank_of(load), 1);
}

bool pack_groups(Plan& plan, const std::string& stage, const std::string& tensor,
                 const Groups& groups) {
  const std::vector<ir::Expr> loads = loads_of(plan.stage(stage), tensor);
  const ir::Buffer& b = *plan.program().buffer(tensor);
  if (loads.empty()) return plan.declines("stage " + stage + " does not load " + tensor);
  const size_t grouped = dim_of_pack(loads[0], groups.var);
  if (grouped == rank_of(loads[0]) || b.shape.size() < 2) {
    return plan.declines("no dim of two of " + tensor + " is " + groups.var +
                         " alone, to group it");
  }
  std::vector<size_t> dims;  // in the order of memory
  for (const ir::Axis& a : b.axes) {
    if (a.div != 1 || a.mod != 0) return plan.declines(tensor + " lies by tiles already");
    dims.push_back(static_cast<size_t>(a.dim));
  }
  for (size_t d = 0; b.axes.empty() && d < b.shape.size(); ++d) dims.push_back(d);
  std::vector<LayoutAxis> layout;
  std::string lanes;
  for (size_t d : dims) {
    layout.push_back({dim_name(d), d == grouped ? groups.size : 1, {}});
    if (d != grouped) lanes = dim_name(d);
  }
  layout.push_back({dim_name(grouped), 1, groups.size});
  const std::string copy = plan.fresh_stage(tensor + ".p");
  if (!plan.add(step::stage(tensor, {}, copy, {.layout = std::move(layout)}))) return false;
  return shape_copy(plan, copy, {}, lanes, grouped, groups.size);
}

}  // namespace hone::schedules
