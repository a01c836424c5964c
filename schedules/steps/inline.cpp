// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/integers.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/inline_reduction.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Why the value of `s` cannot stand for loads of it; empty when it can.
std::string objection_inline(const ir::Program& p, const ir::Stage& s) {
  if (p.buffer(s.output)->role != ir::Role::kTemp) {
    return s.name + " writes " + s.output + ", which the caller keeps; it has to be stored";
  }
  if (reads(s, s.output)) return s.name + " reads its own output";
  for (const ir::Check& c : p.checks) {
    bool checked = false;
    ir::visit(c.value,
              [&](const ir::Expr& n) { checked |= n->op == ir::Op::kLoad && n->name == s.output; });
    if (checked) return s.output + " is checked before it is read, so it has to be stored";
  }
  std::vector<std::string> seen;
  for (const ir::Expr& e : s.out_index) {
    bool again = e->op != ir::Op::kVar;
    for (const std::string& name : seen) again |= !again && name == e->name;
    if (again) return s.name + " is not indexed by one variable a dim; use compute";
    seen.push_back(e->name);
  }
  if (seen.size() != s.vars.size()) return s.name + " has variables that index nothing";
  for (const ir::Stage& other : p.stages) {
    if (other.at.stage == s.name || other.store.stage == s.name) {
      return "stage " + other.name + " is computed in a loop of " + s.name + "; inline " + s.name +
             " before placing it";
    }
  }
  return {};
}

/// `value` with every load made safe at any index: outside its tensor it gives 0.
ir::Expr guarded(const ir::Expr& value) {
  return ir::rewrite(value, [](const ir::Expr& n) -> ir::Expr {
    if (n->op != ir::Op::kLoad || n->guarded) return {};
    const ir::Expr zero = is_float(n->type) ? ir::make_float(0, n->type) : ir::make_int(0, n->type);
    return ir::make_load(n->name, n->type, n->args, zero);
  });
}

/// The value of a load of the stage's output at `load`'s indices.
ir::Expr value_at(const ir::Program& p, const ir::Stage& s, const ir::Expr& load) {
  std::map<std::string, ir::Expr> by_name;
  const ir::Buffer& b = *p.buffer(s.output);
  for (size_t i = 0; i < s.out_index.size(); ++i) {
    by_name[s.out_index[i]->name] = load->args[i];
  }
  const ir::Expr inside = in_range(load, b.shape);
  ir::Expr value = substitute(load->guarded ? guarded(s.value) : s.value, by_name);
  if (value->type != b.type) value = ir::make_cast(b.type, value);
  // A tensor without dims has no index that could leave it.
  const bool may_leave = load->guarded && inside;
  return may_leave ? ir::make_select(inside, value, load->args.back()) : value;
}

/// Limit on the parts of a value, written out, up to which a stage may be inlined although that
/// repeats it. A chain of stages that are read twice would grow by powers of two.
/// Chosen: time that a hostile schedule may take (not measured).
constexpr uint64_t kMostParts = 256;
/// What an index put in place of a variable may add, of each load.
/// Chosen: time that a hostile schedule may take (not measured).
constexpr uint64_t kMostOfIndices = 64;

/// Why a reader of `before` parts may not have `after`; empty when it may.
std::string growth_objection(const ir::Stage& s, const ir::Stage& reader, uint64_t before,
                             uint64_t after) {
  if (after <= kMostParts || after <= before + ir::tree_size(s.value)) return {};
  return fmt::format(
      "the value of {} would have more than {} parts with {} in it as often as it is "
      "read there; leave it a stage, or use compute",
      reader.name, kMostParts, s.name);
}

uint64_t loads_in(const ir::Stage& reader, const std::string& buffer) {
  uint64_t loads = 0;
  ir::visit(reader.value,
            [&](const ir::Expr& n) { loads += n->op == ir::Op::kLoad && n->name == buffer; });
  return loads;
}

/// Puts the value in place of loads in `e`. What only widens integers goes where few bytes of them
/// are taken.
ir::Expr inlined(const ir::Program& p, const ir::Stage& s, const ir::Expr& e) {
  const bool widens = s.value->op == ir::Op::kCast && is_int(s.value->type);
  return ir::rewrite(e, [&](const ir::Expr& n) -> ir::Expr {
    if (n->op == ir::Op::kLoad && n->name == s.output) return value_at(p, s, n);
    const bool takes_few = widens && n->op == ir::Op::kCast && is_int(n->type) &&
                           n->args[0]->type == s.value->type &&
                           size_of(n->type) < size_of(s.value->type);
    return takes_few ? ir::low_bytes(n->args[0], n->type) : ir::Expr();
  });
}

/// Why a reader may not take the value of a stage that has a domain; empty when it may.
std::string domain_objection(const ir::Stage& s, const ir::Expr& domain, const ir::Stage& reader) {
  std::string wrong;
  ir::visit(reader.value, [&](const ir::Expr& n) {
    if (n->op != ir::Op::kLoad || n->name != s.output) return;
    std::map<std::string, ir::Expr> by_name;
    for (size_t i = 0; i < s.out_index.size(); ++i) by_name[s.out_index[i]->name] = n->args[i];
    if (n->guarded || !implied(substitute(domain, by_name), reader.where)) {
      wrong = s.name + " is defined where " + print(domain) + " and " + reader.name +
              " is not confined to that; use compute";
    }
  });
  return wrong;
}

Applied apply_inline(ir::Program p, const Step& step) {
  for (const std::string& name : step.names("stages")) {
    auto found = find_stage(p, name);
    if (!found) return found.failure();
    ir::Stage s = p.stages[*found];
    if (s.reduces_nothing()) s.value = identity(s.reduce, s.accumulate);
    std::string wrong = objection_inline(p, s);
    if (!wrong.empty()) return ir::Reject{std::move(wrong)};
    for (size_t i = 0; i < p.stages.size(); ++i) {
      if (i == *found || !reads(p.stages[i], s.output)) continue;
      wrong = stale_by(p, *found, i);
      if (!wrong.empty()) return ir::Reject{std::move(wrong)};
      ir::Stage& reader = p.stages.edit(i);
      if (s.reduce != ir::Reduce::kNone && !s.reduces_nothing()) {
        wrong = reduction_objection(p, s, reader);
        const ir::Expr domain = without(s.where, s.rvars);
        if (wrong.empty() && domain) wrong = domain_objection(s, domain, reader);
        if (!wrong.empty()) return ir::Reject{std::move(wrong)};
        inline_reduction(p, s, i);
        continue;
      }
      if (s.where) wrong = domain_objection(s, s.where, reader);
      const uint64_t before = ir::tree_size(reader.value);
      const uint64_t loads = loads_in(reader, s.output);
      if (wrong.empty() && loads > 1) {
        wrong = growth_objection(s, reader, before, before + loads * (ir::tree_size(s.value) - 1));
      }
      if (!wrong.empty()) return ir::Reject{std::move(wrong)};
      for_each_expr(reader, [&](ir::Expr& e) { e = inlined(p, s, e); });
      wrong = growth_objection(s, reader, before, ir::tree_size(reader.value));
      const uint64_t most = before + loads * (ir::tree_size(s.value) + kMostOfIndices);
      if (ir::tree_size(reader.value) > std::max(most, kMostParts)) {
        wrong = "the indices of what " + s.name + " reads would repeat those of " + reader.name +
                " too often; leave it a stage, or use compute";
      }
      if (!wrong.empty()) return ir::Reject{std::move(wrong)};
      std::erase_if(reader.prefetches, [&](const ir::Prefetch& f) { return f.tensor == s.output; });
    }
    p.stages.erase(*found);
    p.buffers.erase(*find_buffer(p, s.output));
  }
  return p;
}

}  // namespace

const StepRow kInline = {
    "inline",
    {{Arg::kStages, "stages"}},
    "Puts a stage's value wherever it is read; the stage and its tensor go. A reduction goes into\n"
    "stages that load it and do no more, as step precompute makes them.\n"
    "e[i] = exp(x[i]); y[i] = e[i]*2  =>  inline e  =>  y[i] = exp(x[i])*2",
    apply_inline,
};

}  // namespace hone::schedules
