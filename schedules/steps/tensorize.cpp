// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// True when every value of `from` is one of `to`.
bool widens(DType from, DType to) {
  if (is_float(from) != is_float(to)) return false;
  if (is_float(from)) return size_of(to) > size_of(from);
  const bool gains_sign = from != DType::kU8 || size_of(to) > 1;
  return size_of(to) >= size_of(from) && gains_sign && to != DType::kU8;
}

/// The load that `e` is, perhaps converted; null where it is something else.
ir::Expr load_in(const ir::Expr& e, bool padded) {
  ir::Expr at = e;
  while (at->op == ir::Op::kCast && widens(at->args[0]->type, at->type)) at = at->args[0];
  return at->op == ir::Op::kLoad && (padded || !at->guarded) ? at : ir::Expr();
}

std::string instruction_names() {
  std::vector<std::string> names;
  for (const ir::Instruction& row : ir::instructions()) names.emplace_back(row.name);
  return list_text(names);
}

std::string types_text(const ir::Instruction& row) {
  return std::string(name_of(row.accumulate)) + " sums of " + std::string(name_of(row.a)) + " * " +
         std::string(name_of(row.b));
}

/// The split that made `loop` its inner loop, or null.
const ir::Relation* split_of(const ir::Stage& s, const std::string& loop) {
  for (const ir::Relation& r : s.relations) {
    if (r.kind == ir::Relation::kSplit && r.inner == loop) return &r;
  }
  return nullptr;
}

Applied apply_tensorize(ir::Program p, const Step& step) {
  auto found = find_loops(p, step.names("loops"));
  if (!found) return found.failure();
  const ir::Instruction* row = ir::instruction_named(step.name("instruction"));
  if (!row) {
    return ir::Reject{"there is no instruction " + step.name("instruction") +
                      "; the ones known are " + instruction_names()};
  }
  ir::Stage& s = p.stages.edit(found->front().stage);
  std::vector<std::string> names;
  for (const LoopRef& at : *found) {
    const ir::Loop& loop = s.loops[at.loop];
    names.push_back(loop.name);
    if (loop.mark != ir::Mark::kSerial) {
      return ir::Reject{"loop " + loop.name + " is marked " + std::string(name_of(loop.mark)) +
                        " already; a loop takes one mark"};
    }
  }
  const size_t wanted = row->lanes ? 3 : 1;
  if (names.size() != wanted) {
    return ir::Reject{
        std::string(row->name) + " takes " +
        (wanted == 1 ? "one loop" : "three loops: rows, columns and the reduced one") + ", not " +
        std::to_string(names.size())};
  }
  // A tile in registers is computed whole, and of it is read what is in the domain.
  const bool tile = row->lanes && p.buffer(s.output)->space == ir::Space::kWarp;
  if (tile && s.where && !ir::mentions_any(s.where, s.rvars)) s.where = {};
  std::string wrong =
      row->lanes ? tile_objection(s, names, *row) : tensor_objection(s, names[0], *row);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  for (const LoopRef& at : *found) {
    s.loops[at.loop].mark = ir::Mark::kTensor;
    s.loops[at.loop].instruction = row;
  }
  return p;
}

}  // namespace

Factors factors_of(const ir::Stage& s, bool padded) {
  if (s.reduce != ir::Reduce::kSum || s.value->op != ir::Op::kMul) return {};
  if (s.value->type != s.accumulate) return {};
  Factors out{load_in(s.value->args[0], padded), load_in(s.value->args[1], padded)};
  return out.a && out.b ? out : Factors{};
}

bool sums_products_of(const ir::Stage& s, const ir::Instruction& row, bool padded) {
  const Factors f = factors_of(s, padded);
  if (!f || s.accumulate != row.accumulate) return false;
  return (f.a->type == row.a && f.b->type == row.b) || (f.a->type == row.b && f.b->type == row.a);
}

const ir::Instruction* wgmma_instruction_for(const ir::Stage& s, const ir::Target& target,
                                             bool padded) {
  for (const ir::Instruction& row : ir::instructions()) {
    if (row.most_columns == 0 || row.narrows || !available(row, target)) continue;
    if (sums_products_of(s, row, padded)) return &row;
  }
  return nullptr;
}

const ir::Instruction* instruction_for(const ir::Stage& s, const ir::Target& target, bool padded) {
  for (const ir::Instruction& row : ir::instructions()) {
    if (row.most_columns > 0 || row.narrows || !available(row, target)) continue;
    if (sums_products_of(s, row, padded)) return &row;
  }
  return nullptr;
}

std::string tensor_objection(const ir::Stage& s, const std::string& loop,
                             const ir::Instruction& row) {
  const std::string group = std::to_string(row.group);
  if (!sums_products_of(s, row)) {
    return std::string(row.name) + " takes " + types_text(row) + ", two loads without `else`; " +
           s.name + " is another value";
  }
  const bool kept = std::find(s.factored.begin(), s.factored.end(), loop) != s.factored.end();
  if (kept || !is_reduction(s, loop)) {
    return "loop " + loop + " is not reduced; name a loop that derives from a reduced index";
  }
  int64_t extent = 0;
  if (!ir::is_const(extent_of(s, loop), &extent) || extent != row.group) {
    return std::string(row.name) + " takes " + group + " iterations; split the reduced loop by " +
           group + " and name the inner one";
  }
  const ir::Relation* split = split_of(s, loop);
  int64_t whole = 0;
  if (split && split->tail == ir::Tail::kMask &&
      !(ir::is_const(extent_of(s, split->parent), &whole) && whole % row.group == 0)) {
    return "loop " + loop + " may have fewer than " + group + " iterations each time; split " +
           split->parent + " with tail=peel";
  }
  return {};
}

const StepRow kTensorize = {
    "tensorize",
    {{Arg::kLoops, "loops"}, {Arg::kRow, "instruction"}},
    "Makes one instruction of all iterations of a reduced loop, which stands innermost and has as "
    "many of them as the instruction takes; the rest of a peeled split is done by part of one. In "
    "memory a factor is the same in all lanes of the vector loop around it, or its groups lie one "
    "after the other. An instruction on tiles takes three loops, over rows, columns and what is "
    "reduced; factors and results are kept in=warp.\n"
    "for k.i in 0..4: Y[n] += A[k]*B[k,n]  =>  tensorize k.i vnni.u8i8  =>  Y[n] += dot(A[k:k+4], "
    "B[k:k+4,n])",
    apply_tensorize,
};

}  // namespace hone::schedules
