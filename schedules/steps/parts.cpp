// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/parts.h"

#include <set>

#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Parts of a value that are numbered.
/// Chosen: time that a value full of shared parts may take (not measured).
constexpr size_t kMostNumbered = 256;

void add(const ir::Expr& e, int parent, bool summand, std::vector<Part>& out) {
  if (out.size() >= kMostNumbered) return;
  const int self = static_cast<int>(out.size());
  out.push_back({e, parent, summand});
  // Of a load, what stands for an element that is not there.
  const size_t first = e->op != ir::Op::kLoad ? 0 : e->args.size() - (e->guarded ? 1 : 0);
  const bool adds = e->op == ir::Op::kAdd || e->op == ir::Op::kSub;
  const bool passes = adds || (summand && e->op == ir::Op::kNeg);
  for (size_t i = first; i < e->args.size(); ++i) add(e->args[i], self, passes, out);
}

bool is_product(const ir::Expr& e) {
  return e->op == ir::Op::kMul || (e->op == ir::Op::kNeg && is_product(e->args[0]));
}

}  // namespace

std::vector<Part> parts_of(const ir::Stage& stage) {
  std::vector<Part> out;
  add(stage.value, -1, stage.reduce == ir::Reduce::kSum, out);
  return out;
}

std::vector<ir::IndexVar> variables_in(const ir::Stage& stage, const ir::Expr& e) {
  std::set<std::string> mentioned;
  ir::visit(e, [&](const ir::Expr& n) {
    if (n->op == ir::Op::kVar) mentioned.insert(n->name);
  });
  std::vector<ir::IndexVar> out;
  for (const auto* list : {&stage.vars, &stage.rvars}) {
    for (const ir::IndexVar& v : *list) {
      if (mentioned.contains(v.name)) out.push_back(v);
    }
  }
  return out;
}

size_t place_of(const std::vector<Part>& parts, const ir::Expr& value) {
  size_t place = 0;
  while (place < parts.size() && !equal(parts[place].value, value)) ++place;
  return place;
}

std::string unpartable(const ir::Stage& stage, const std::vector<Part>& parts, int64_t place) {
  if (place < 0 || place >= static_cast<int64_t>(parts.size())) {
    return "the value of " + stage.name + " has parts 1 to " + std::to_string(parts.size());
  }
  const Part& part = parts[static_cast<size_t>(place)];
  const std::string text = "part " + std::to_string(place + 1) + " of " + stage.name;
  if (part.value->args.empty()) return text + " is computed from nothing";
  if (part.summand && is_product(part.value) && is_float(part.value->type)) {
    return text + " is a product that is added before it is rounded; take one of its factors";
  }
  std::string wrong;
  ir::visit(part.value, [&](const ir::Expr& n) {
    if (n->op != ir::Op::kLoad || n->name != stage.output) return;
    wrong = text + " reads " + stage.output + ", which " + stage.name + " writes";
  });
  for (const ir::IndexVar& v : variables_in(stage, part.value)) {
    if (!wrong.empty()) break;
    if (v.lo || !is_size(v.hi)) {
      wrong = "the range of " + v.name + " does not start at 0, or depends on data or an index";
    }
  }
  return wrong;
}

}  // namespace hone::schedules
